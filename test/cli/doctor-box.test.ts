import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Settings } from '#config/index.ts';
import { diskCheck, memoryCheck, temperatureCheck } from '../../src/cli/doctor/box.ts';
import type { Scene } from '../../src/cli/doctor/scene.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'siteward-box-'));
});
afterEach(() => rmSync(root, { recursive: true }));

/** Files of /proc and /sys as kernels write them. */
function box(files: Readonly<Record<string, string>>): Scene {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  }
  return {
    ...{ file: 'siteward.yaml', root, config: { problems: [], warnings: [] } },
    settings: { store: { dir: root } } as Settings,
    daemon: { pid: 42, status: undefined, control: undefined, why: 'it is not asked' },
  };
}
const never = new AbortController().signal;
const looked = async (check: typeof diskCheck, scene: Scene) =>
  (await check.look(scene, never)).map(({ state, subject, seen }) => [subject ?? '', state, seen]);

/** The number of the disk under the folder, as the kernel names it. */
function block(): string {
  const { dev } = statSync(root);
  return `sys/dev/block/${(dev >> 8) & 0xfff}:${dev & 0xff}`;
}

describe('The temperature of the board', () => {
  it.each([
    ['54000', 'ok'],
    ['76000', 'warning'],
    ['91000', 'failed'],
  ])('%s thousandths of a degree: %s', async (text, state) => {
    const scene = box({
      'sys/class/thermal/thermal_zone0/temp': '31000',
      'sys/class/thermal/thermal_zone1/temp': text,
    });
    expect(await looked(temperatureCheck, scene)).toEqual([['', state, `${Math.round(Number(text) / 1000)} °C`]]);
  });

  it('is skipped where none is told', async () => {
    expect((await looked(temperatureCheck, box({})))[0]?.[1]).toBe('skipped');
  });
});

describe('The memory', () => {
  it.each([
    ['204800', 'ok'],
    ['40960', 'warning'],
  ])('%s kB to be had: %s', async (kib, state) => {
    const scene = box({
      'proc/meminfo': `MemTotal: 512000 kB\nMemAvailable:   ${kib} kB`,
      'proc/42/status': 'Name: node\nVmRSS:\t  92160 kB',
    });
    const [found] = await looked(memoryCheck, scene);
    expect(found).toEqual(['', state, expect.stringContaining('siteward takes 90.0 MiB')]);
  });
});

describe('The disk', () => {
  it.each([
    ['0x03 0x02', 'ok', '20 to 30 % of its life is used'],
    ['0x01 0x09', 'warning', '80 to 90 % of its life is used'],
    ['0x0b 0x01', 'failed', 'its rated life is used up'],
    ['0x00 0x00', 'skipped', 'this disk does not tell it'],
  ])('tells its wear: %s is %s', async (life, state, words) => {
    const scene = box({ [`${block()}/device/life_time`]: life });
    expect(await looked(diskCheck, scene)).toContainEqual(['wear', state, words]);
  });

  it.each([
    ['0', 'ok'],
    ['3', 'failed'],
  ])('remembers %s errors: %s', async (count, state) => {
    const scene = box({ [`${block()}/uevent`]: 'MAJOR=8\nDEVNAME=sdx1', 'sys/fs/ext4/sdx1/errors_count': count });
    expect(await looked(diskCheck, scene)).toContainEqual(['errors', state, expect.any(String)]);
  });

  it('is wanted: a state directory that is not there is a failure', async () => {
    const scene = box({});
    const settings = { store: { dir: join(root, 'none') } } as Settings;
    expect((await looked(diskCheck, { ...scene, settings }))[0]?.[1]).toBe('failed');
  });
});
