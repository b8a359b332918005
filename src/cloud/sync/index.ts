export { type ArmingSync, type ArmingSyncOptions, createArmingSync, type SyncPort } from './arming-sync.ts';
export {
  type AudioCatalogue,
  type AudioCatalogueOptions,
  audioClient,
  createAudioCatalogue,
} from './audio-catalogue.ts';
export type { KnownSpeaker } from './audio-play.ts';
export {
  createDeviceSync,
  type DeviceCalls,
  type DevicePlan,
  type DeviceSync,
  type DeviceSyncDone,
  type DeviceSyncOptions,
  type DeviceSyncShown,
  type HeldDevice,
  numbersOf,
  oneRowEach,
  type SyncWish,
  type Wanted,
  type WantedDevice,
  type WantedNvr,
  withoutZones,
} from './devices/index.ts';
export * from './mirror/index.ts';
export type { ArmingSyncShown } from './shown.ts';
export {
  createSiteSettings,
  type SettingsShown,
  type SiteSettings,
  type SiteSettingsOptions,
} from './site-settings.ts';
export {
  type CloudSite,
  createSiteStanding,
  lostText,
  type SiteStanding,
  type SiteStandingOptions,
  type StandingPort,
  type StandingShown,
} from './site-standing.ts';
