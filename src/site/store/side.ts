import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** `epoch.json`: says that a store exists, which one, and under which epoch, even when `site.db` is gone. */
export interface SideFile {
  readonly epoch: number;
  /** See `Recovery.storeId`; absent where the file could not be read. */
  readonly id?: string;
  /** Wall clock milliseconds. */
  readonly created: number;
}

const dayMs = 86_400_000;

/**
 * Undefined only when there is no side file. One that cannot be read still proves that a store existed; its epoch is
 * then the day number, which is above every epoch that was counted up from 1.
 */
export function readSide(dir: string): SideFile | undefined {
  let text: string;
  try {
    text = readFileSync(join(dir, 'epoch.json'), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    return unreadable();
  }
  const epoch = Number(/"epoch"\s*:\s*(\d{1,15})/.exec(text)?.[1] ?? Number.NaN);
  const created = Number(/"created"\s*:\s*(\d{1,15})/.exec(text)?.[1] ?? 0);
  if (!Number.isSafeInteger(epoch) || epoch <= 0) return unreadable();
  const id = /"id"\s*:\s*"([0-9a-f-]{36})"/.exec(text)?.[1];
  return { epoch, created, ...(id !== undefined && { id }) };
}

const unreadable = (): SideFile => ({ epoch: Math.max(1, Math.floor(Date.now() / dayMs)), created: 0 });

/** File, rename and directory are each synced: a power cut leaves the old file or the new one. */
export function writeSide(dir: string, side: SideFile): void {
  const path = join(dir, 'epoch.json');
  const part = `${path}.part`;
  const fd = openSync(part, 'w', 0o600);
  try {
    writeSync(fd, `${JSON.stringify(side)}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(part, path);
  syncDirectory(dir);
}

export function syncDirectory(dir: string): void {
  const fd = openSync(dir, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
