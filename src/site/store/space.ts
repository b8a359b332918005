import { closeSync, openSync, rmSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { BulkFile } from './bulk-file.ts';
import { isReadOnly } from './quiet.ts';
import type { SiteFile } from './site-file.ts';

export const pageBytes = 4096;
export const mib = 1024 ** 2;

export interface Space {
  readonly free: number;
  readonly total: number;
}

export type SpaceLevel = 'ok' | 'soft' | 'hard' | 'full';
const spaceLevels: readonly SpaceLevel[] = ['full', 'hard', 'soft'];

/**
 * Below these bytes a level begins. On a large disk a share of it would be absurdly much and on a small one a fixed
 * amount would be all of it, so that each is bounded by both.
 */
export function thresholds(total: number): Readonly<Record<'soft' | 'hard' | 'full', number>> {
  return {
    soft: Math.min(Math.max(0.15 * total, 512 * mib), 2048 * mib, 0.25 * total),
    hard: Math.min(Math.max(0.05 * total, 128 * mib), 512 * mib, 0.1 * total),
    full: Math.min(8 * mib, total / 32),
  };
}

/** A level ends a tenth above where it begins, so that it does not flap. */
export function spaceLevel({ free, total }: Space, before: SpaceLevel): SpaceLevel {
  const limits = thresholds(total);
  for (const level of spaceLevels) {
    if (level === 'ok') break;
    const isHeld = before !== 'ok' && spaceLevels.indexOf(before) <= spaceLevels.indexOf(level);
    if (free < limits[level] * (isHeld ? 1.1 : 1)) return level;
  }
  return 'ok';
}

export function spaceOf(dir: string): Space | undefined {
  try {
    const { bavail, blocks, bsize } = statfsSync(dir);
    return { free: bavail * bsize, total: blocks * bsize };
  } catch {
    return undefined;
  }
}

/** Only a new file tells: a file system that met an error refuses it and still calls itself writable. */
export function isDirReadOnly(dir: string): boolean {
  const path = join(dir, 'probe');
  try {
    closeSync(openSync(path, 'w', 0o600));
    rmSync(path, { force: true });
    return false;
  } catch (error) {
    return isReadOnly(error);
  }
}

export const pages = (file: SiteFile | BulkFile): number => Number(file.db.pragma('page_count', { simple: true }));
export const unmovedPages = (file: SiteFile | BulkFile): number =>
  pages(file) - (statSync(file.db.name, { throwIfNoEntry: false })?.size ?? 0) / pageBytes;
export const freePages = (file: SiteFile | BulkFile): number =>
  Number(file.db.pragma('freelist_count', { simple: true }));

/** Pages below its largest size at which a file counts as being there: more than one group of writes adds. */
const nearBoundPages = 2048;

export const isNearBound = (file: SiteFile | BulkFile): boolean =>
  Number(file.db.pragma('max_page_count', { simple: true })) - pages(file) <= nearBoundPages;
