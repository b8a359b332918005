import type { KnownCameras } from '#box/known-cameras.ts';
import { loadConfig } from '#config/index.ts';
import { SitewardError } from '#errors.ts';

/** Cameras and recorders of the configuration; a box without one has none of them. */
export function configuredIn(file: string): KnownCameras['configured'] {
  try {
    const { cameras, nvrs } = loadConfig(file, { unreadableSecrets: 'degrade' }).settings;
    return [...cameras, ...nvrs];
  } catch (error) {
    if (error instanceof SitewardError) return [];
    throw error;
  }
}
