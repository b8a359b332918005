export type {
  Camera,
  CameraState,
  CameraStatus,
  CameraWarning,
  CameraWarningCode,
  MemoryPort,
  Snapshot,
  UnknownTopic,
} from './camera.ts';
export { type Cameras, createCameras } from './cameras.ts';
export { type CameraOptions, type ChannelOptions, cameraOptions, type NvrOptions, nvrOptions } from './options.ts';
export type { RecentMessage, RecentMessages } from './recent.ts';
export { fieldTiming, type Timing } from './timing.ts';
