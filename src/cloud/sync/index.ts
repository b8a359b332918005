export { type ArmingSync, type ArmingSyncOptions, createArmingSync, type SyncPort } from './arming-sync.ts';
export {
  type AudioCatalogue,
  type AudioCatalogueOptions,
  audioClient,
  createAudioCatalogue,
} from './audio-catalogue.ts';
export type { KnownSpeaker } from './audio-play.ts';
export type { ArmingSyncShown } from './shown.ts';
export {
  createSiteSettings,
  type SettingsShown,
  type SiteSettings,
  type SiteSettingsOptions,
} from './site-settings.ts';
