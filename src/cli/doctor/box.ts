import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from '#errors.ts';
import { inspectFiles, type SpaceLevel, spaceLevel, spaceOf } from '#site/store/index.ts';
import { formatBytes } from '../table.ts';
import { type Check, type Finding, failed, good, silent, skipped, warning } from './finding.ts';
import type { Scene } from './scene.ts';

/** What the box itself is like. Read from /proc and /sys, so that it takes no tool, and no daemon. */

/** The first line of a file of the kernel; undefined where it is not there. */
function line(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Undefined for everything that is no number. */
function number(path: string): number | undefined {
  const text = line(path);
  return text === undefined || !/^-?\d+$/.test(text) ? undefined : Number(text);
}

function entries(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

const lowRoom: Readonly<Record<SpaceLevel, 'ok' | 'warning' | 'failed'>> = {
  ok: 'ok',
  soft: 'warning',
  hard: 'failed',
  full: 'failed',
};

/** Room on the disk of the state directory, its wear, and the errors it has met. */
export const diskCheck: Check = {
  id: 'disk',
  title: 'disk',
  look({ settings, root }): readonly Finding[] {
    if (settings === undefined) return [skipped('the configuration has errors')];
    const { dir } = settings.store;
    const space = spaceOf(dir);
    if (space === undefined)
      return [
        failed({
          seen: `the state directory ${dir} is not there, or cannot be read`,
          means: 'without it siteward keeps no event over a power cut',
          advice: ['run this as root', 'make it: "systemctl restart siteward" does, by StateDirectory'],
        }),
      ];
    return [roomFinding(dir, space), ...deviceFindings(dir, root)];
  },
};

function roomFinding(dir: string, space: NonNullable<ReturnType<typeof spaceOf>>): Finding {
  const seen = `${formatBytes(space.free)} of ${formatBytes(space.total)} free under ${dir}`;
  const state = lowRoom[spaceLevel(space, 'ok')];
  if (state === 'ok') return good(seen, 'room');
  const what = {
    subject: 'room',
    seen,
    means: 'older events, then pictures, give way to new ones; alarms last',
    advice: 'make room, or take a larger disk; media.budget is what pictures may take',
  };
  return state === 'failed' ? failed(what) : warning(what);
}

/** Of the disk behind a directory. */
function deviceFindings(dir: string, root: string): readonly Finding[] {
  const id = blockDevice(dir);
  if (id === undefined) return [skipped('the disk behind the directory is not known', 'wear')];
  const block = join(root, 'sys/dev/block', id);
  return [wearFinding(block), errorsFinding(block, root)].filter((one) => one !== undefined);
}

/** Its number, as "8:1". */
function blockDevice(dir: string): string | undefined {
  const device = statSync(dir, { throwIfNoEntry: false })?.dev;
  // The kernel's number as Linux packs it into 64 bits.
  return device === undefined ? undefined : `${(device >> 8) & 0xfff}:${(device & 0xff) | ((device >> 12) & 0xfff00)}`;
}

/** Flash that tells how much of its life is used: eMMC, in steps of a tenth. */
function wearFinding(block: string): Finding {
  // Of a partition the disk is one folder above.
  const folders = [join(block, 'device'), join(block, '../device')];
  const said = folders.map((folder) => line(join(folder, 'life_time'))).find((one) => one !== undefined);
  if (said === undefined) return skipped('this disk does not tell it', 'wear');
  const used = Math.max(...said.split(/\s+/).map((part) => Number(part)));
  if (!Number.isFinite(used) || used === 0) return skipped('this disk does not tell it', 'wear');
  const seen = used > 10 ? 'its rated life is used up' : `${(used - 1) * 10} to ${used * 10} % of its life is used`;
  if (used < 9) return good(seen, 'wear');
  return (used > 10 ? failed : warning)({
    subject: 'wear',
    seen,
    means: 'it may stop taking writes at any time: events would be held in memory alone',
    advice: ['make a backup: "siteward backup"', 'replace the disk or the card'],
  });
}

/** What ext4 has met and remembers. */
function errorsFinding(block: string, root: string): Finding | undefined {
  const name = line(join(block, 'uevent'))?.match(/^DEVNAME=(.+)$/m)?.[1];
  const count = name === undefined ? undefined : number(join(root, 'sys/fs/ext4', name, 'errors_count'));
  if (count === undefined) return undefined;
  if (count === 0) return good('the file system has met none', 'errors');
  return failed({
    subject: 'errors',
    seen: `the file system has met ${count}`,
    means: 'the disk or its cable fails, or power was cut in a write; data may be damaged',
    advice: ['make a backup: "siteward backup"', '"dmesg" says which; check the disk ("e2fsck") or replace it'],
  });
}

/** The databases: by the daemon, which has them open, or by copies of them. */
export const databaseCheck: Check = {
  id: 'database',
  title: 'database',
  look({ settings, daemon: { status, pid } }): readonly Finding[] {
    const part = status?.parts.find(({ name }) => name === 'store');
    if (part !== undefined) return [part.state === 'ok' ? good('the store works') : storeFinding(part)];
    if (settings === undefined) return [skipped('the configuration has errors')];
    if (pid !== undefined) return [skipped(`siteward has it open, and ${silent}`)];
    try {
      const files = inspectFiles(settings.store.dir);
      return files.length === 0 ? [good('there is none yet')] : files.map(fileFinding);
    } catch (error) {
      return [skipped(`it cannot be read: ${describe(error)}; run this as root`)];
    }
  },
};

const storeFinding = ({ state, reason = '' }: { state: string; reason?: string | undefined }): Finding =>
  failed({
    seen: `the store is ${state}: ${reason}`,
    means: 'events are held in memory and are lost with the power',
    advice: 'look at "disk", then "systemctl restart siteward"',
  });

function fileFinding({ file, bytes, fault, unread, waiting = 0 }: ReturnType<typeof inspectFiles>[number]): Finding {
  if (unread !== undefined) return skipped(`it was not read: ${unread}`, file);
  if (fault !== undefined)
    return failed({
      subject: file,
      seen: fault,
      means: 'at its start siteward sets the file aside, saves what can be read and goes on with a new one',
      advice: ['make a copy of the state directory first', 'look at "disk": this comes from a disk that fails'],
    });
  return good(`sound, ${formatBytes(bytes)}; ${waiting} events wait for the cloud`, file);
}

const lowMemoryBytes = 64 * 1024 ** 2;

/** Memory of the box and of siteward. */
export const memoryCheck: Check = {
  id: 'memory',
  title: 'memory',
  look({ root, daemon: { pid } }): readonly Finding[] {
    const bytesOf = (text: string | undefined, field: string): number | undefined => {
      const kib = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text ?? '')?.[1];
      return kib === undefined ? undefined : Number(kib) * 1024;
    };
    const free = bytesOf(line(join(root, 'proc/meminfo')), 'MemAvailable');
    if (free === undefined) return [skipped('this system does not tell it')];
    const own = pid === undefined ? undefined : bytesOf(line(join(root, 'proc', `${pid}`, 'status')), 'VmRSS');
    const seen = `${formatBytes(free)} can be had${own === undefined ? '' : `; siteward takes ${formatBytes(own)}`}`;
    if (free >= lowMemoryBytes) return [good(seen)];
    return [
      warning({
        seen,
        means: 'the kernel may end programs; siteward would be back within seconds, and its events are on disk',
        advice: 'see who takes it: "ps -eo rss,comm --sort -rss | head"; take other programs off this box',
      }),
    ];
  },
};

/** Milli-degrees; boards slow down at about 80 to 85 °C. */
const warmAt = 75_000;
const hotAt = 85_000;

/** The hottest place that the board tells. */
export const temperatureCheck: Check = {
  id: 'temperature',
  title: 'temperature',
  look({ root }: Scene): readonly Finding[] {
    const folder = join(root, 'sys/class/thermal');
    const zones = entries(folder).filter((name) => name.startsWith('thermal_zone'));
    const degrees = zones.flatMap((zone) => number(join(folder, zone, 'temp')) ?? []);
    if (degrees.length === 0) return [skipped('this board does not tell it')];
    const hottest = Math.max(...degrees);
    const seen = `${Math.round(hottest / 1000)} °C`;
    if (hottest < warmAt) return [good(seen)];
    const what = {
      seen,
      means: 'the board slows down, and ages sooner',
      advice: 'give the box air, take it off the heater, or out of the sun',
    };
    return [hottest < hotAt ? warning(what) : failed(what)];
  },
};
