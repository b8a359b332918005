export {
  createDeviceSync,
  type DeviceSync,
  type DeviceSyncOptions,
} from './device-sync.ts';
export { oneRowEach } from './match.ts';
export type * from './types.ts';
export { numbersOf, withoutZones } from './zones.ts';
