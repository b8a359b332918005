export type { Camera, CameraState, CameraStatus, MemoryPort, Snapshot, UnknownTopic } from './camera.ts';
export { type Cameras, type CamerasOptions, createCameras } from './cameras.ts';
export { type CameraEntry, type CameraOptions, cameraOptions } from './options.ts';
export { fieldTiming, type Timing } from './timing.ts';
