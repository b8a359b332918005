export { type AccountGuard, createAccountGuard } from './account-guard.ts';
export type {
  Camera,
  CameraState,
  CameraStatus,
  CameraWarning,
  CameraWarningCode,
  ChannelStatus,
  MemoryPort,
  Snapshot,
  UnknownTopic,
} from './camera.ts';
export { type Cameras, createCameras } from './cameras.ts';
export { type Discovery, discover, type Progress, serviceAt } from './discovery/discover.ts';
export { type Examined, examine } from './discovery/examine.ts';
export type { FoundDevice } from './discovery/found.ts';
export { interfaceNames, outlets } from './discovery/outlets.ts';
export type { Step } from './discovery/step.ts';
export { readTargets, type Target } from './discovery/targets.ts';
export { type Inspected, inspectDevice } from './inspect.ts';
export { deviceName } from './occupant.ts';
export { type CameraOptions, type ChannelOptions, cameraOptions, type NvrOptions, nvrOptions } from './options.ts';
export type { RecentMessage, RecentMessages } from './recent.ts';
export { type Registration, registrationOf } from './registration.ts';
export { isOwnSerial } from './serial.ts';
export { fieldTiming, type Timing } from './timing.ts';
