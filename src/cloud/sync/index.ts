export { type ArmingSync, createArmingSync, type SyncPort } from './arming-sync.ts';
export {
  type AudioCatalogue,
  type AudioCatalogueOptions,
  audioClient,
  createAudioCatalogue,
} from './audio-catalogue.ts';
export type { KnownSpeaker } from './audio-play.ts';
export {
  createDeviceSync,
  type DevicePlan,
  type DeviceSync,
  type DeviceSyncOptions,
  type DeviceSyncShown,
  type HeldDevice,
  numbersOf,
  oneRowEach,
  type SyncWish,
  type Wanted,
  type WantedDevice,
  withoutZones,
} from './devices/index.ts';
export * from './mirror/index.ts';
export type { ArmingSyncShown } from './shown.ts';
export { createSiteSettings, type SiteSettings, type SiteSettingsOptions } from './site-settings.ts';
export {
  createSiteStanding,
  lostText,
  type SiteStanding,
  type StandingPort,
  type StandingShown,
} from './site-standing.ts';
