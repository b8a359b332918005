import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crashPoint } from '#lib/crash-point.ts';
import { isMissing } from '#lib/system-code.ts';
import type { FileName } from './lanes.ts';

/** Events of a lane that the cloud did not have, refused ones among them, when the side file was written. */
export interface WaitingMark {
  readonly count: number;
  /** Lowest seq of them. */
  readonly from: number;
}

/** Starts that no clean stop followed, to see a crash loop by. */
export interface StartMarks {
  readonly boot: string;
  /** Seconds since the machine booted, oldest first. */
  readonly uptimes: readonly number[];
}

/**
 * `epoch.json`: says that a store exists, which one, and under which epoch, even when `site.db` is gone. What it says
 * of seqs is as of its last writing (at start, at stop, every 1,000 events); with it a file that is empty, that lost its log or
 * was put back from an older copy is told from a healthy one.
 */
export interface SideFile {
  readonly epoch: number;
  /** See `Recovery.storeId`; absent where the file could not be read. */
  readonly id?: string;
  /** Wall clock milliseconds. */
  readonly created: number;
  /** Highest committed seq by file. */
  readonly last?: Readonly<Record<FileName, number>>;
  /** No seq above this one was ever handed out; see `reservedAhead`. */
  readonly reserved?: number;
  /** Numbers that were jumped over after unclean stops, so that they do not count as lost. */
  readonly skipped?: number;
  /** By lane index. */
  readonly waiting?: readonly WaitingMark[];
  readonly starts?: StartMarks;
}

const dayMs = 86_400_000;

/**
 * Undefined only when there is no side file. One that cannot be read still proves that a store existed; its epoch is
 * then the day number, which is above every epoch that was counted up from 1.
 */
export function readSide(dir: string, wall: () => number): SideFile | undefined {
  let text: string;
  try {
    text = readFileSync(join(dir, 'epoch.json'), 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    return unreadable(wall());
  }
  const epoch = Number(/"epoch"\s*:\s*(\d{1,15})/.exec(text)?.[1] ?? Number.NaN);
  const created = Number(/"created"\s*:\s*(\d{1,15})/.exec(text)?.[1] ?? 0);
  if (!Number.isSafeInteger(epoch) || epoch <= 0) return unreadable(wall());
  const id = /"id"\s*:\s*"([0-9a-f-]{36})"/.exec(text)?.[1];
  return { ...marks(text), epoch, created, ...(id !== undefined && { id }) };
}

const unreadable = (wall: number): SideFile => ({ epoch: Math.max(1, Math.floor(wall / dayMs)), created: 0 });

/** The parts that help but are not needed; taken only as a whole. */
function marks(text: string): Pick<SideFile, 'last' | 'reserved' | 'skipped' | 'waiting' | 'starts'> {
  try {
    const { last, reserved, skipped = 0, waiting = [], starts } = JSON.parse(text) as Partial<SideFile>;
    const boot = typeof starts?.boot === 'string' ? starts.boot : '';
    const uptimes = (starts?.uptimes ?? []).filter((one) => Number.isFinite(one));
    const numbers = [last?.site, last?.bulk, reserved, skipped, ...waiting.flatMap(({ count, from }) => [count, from])];
    if (last === undefined || reserved === undefined || !numbers.every(isCount)) return { starts: { boot, uptimes } };
    return { last, reserved, skipped, waiting, starts: { boot, uptimes } };
  } catch {
    return {};
  }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

/** File, rename and directory are each synced: a power cut leaves the old file or the new one. */
export function writeSide(dir: string, side: SideFile): void {
  replaceFile(dir, 'epoch.json', `${JSON.stringify(side)}\n`);
}

/** Writes `name.part`, syncs it, renames it and syncs the directory. */
export function replaceFile(dir: string, name: string, text: string): void {
  const path = join(dir, name);
  const part = `${path}.part`;
  const fd = openSync(part, 'w', 0o600);
  try {
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  crashPoint('side.part');
  renameSync(part, path);
  crashPoint('side.renamed');
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
