import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');

/** One import that each room must not make, and one that it may. */
const rooms: readonly (readonly [file: string, forbidden: string, allowed: string])[] = [
  ['src/lib/planted.ts', '#site/model/index.ts', '#errors.ts'],
  ['src/lib/contract/planted.ts', '#cloud/contract/index.ts', '#errors.ts'],
  ['src/site/model/planted.ts', '#lib/clock.ts', './ids.ts'],
  ['src/site/core/planted.ts', '#lib/clock.ts', '#site/model/index.ts'],
  ['src/site/store/planted.ts', '#site/core/index.ts', '#site/model/index.ts'],
  ['src/site/users/planted.ts', '#site/store/index.ts', '#site/model/index.ts'],
  ['src/site/verification/planted.ts', '#site/core/index.ts', '#site/store/index.ts'],
  ['src/site/planted.ts', '#cloud/client/index.ts', './core/index.ts'],
  ['src/devices/onvif/planted.ts', '#devices/media/index.ts', '#site/model/index.ts'],
  ['src/devices/onvif/discovery/planted.ts', '../../media/index.ts', '../device.ts'],
  ['src/devices/panels/planted.ts', '#site/store/index.ts', '#site/model/index.ts'],
  ['src/devices/audio/planted.ts', '#lan/mqtt/index.ts', '#site/model/index.ts'],
  ['src/devices/audio/library/planted.ts', '../../media/index.ts', '../driver.ts'],
  ['src/devices/media/planted.ts', '#devices/onvif/index.ts', '#site/model/index.ts'],
  ['src/cloud/contract/planted.ts', '#cloud/client/index.ts', '#site/model/index.ts'],
  ['src/cloud/client/planted.ts', '#site/model/index.ts', '#cloud/contract/index.ts'],
  ['src/cloud/delivery/planted.ts', '#site/core/index.ts', '#site/store/index.ts'],
  ['src/cloud/sync/planted.ts', '#lan/mqtt/index.ts', '#cloud/client/index.ts'],
  ['src/cloud/verification/planted.ts', '#cloud/delivery/index.ts', '#cloud/client/index.ts'],
  ['src/lan/mqtt/planted.ts', '#cloud/contract/index.ts', '#site/model/index.ts'],
  ['src/lan/access/planted.ts', '#lan/http/index.ts', '#site/model/index.ts'],
  ['src/lan/http/planted.ts', '#lan/mqtt/index.ts', '#lan/access/index.ts'],
  ['src/lan/page/planted.ts', '#site/model/index.ts', '#lan/http/index.ts'],
  ['src/config/planted.ts', '#devices/onvif/index.ts', '#devices/onvif/options.ts'],
  ['src/box/planted.ts', '#lan/mqtt/index.ts', '#config/index.ts'],
  ['src/cli/planted.ts', '#daemon/house.ts', '#daemon.ts'],
  ['src/cli/doctor/planted.ts', '../../daemon/house.ts', '#box/lock.ts'],
  ['src/sandbox/planted.ts', '#devices/onvif/index.ts', '#cloud/contract/index.ts'],
  ['src/sandbox/demo/planted.ts', '#site/model/index.ts', '#lib/wait.ts'],
];

/** Reaching past a room's index, and leaving a room by a relative path. */
const detours: readonly (readonly [file: string, forbidden: string])[] = [
  ['src/cloud/delivery/planted.ts', '#site/store/worker.ts'],
  ['src/devices/onvif/planted.ts', '#site/model/ids.ts'],
  ['src/devices/onvif/planted.ts', '../media/index.ts'],
  ['src/lib/planted.ts', '../site/model/index.ts'],
  ['src/box/planted.ts', '../daemon/house.ts'],
  ['src/cli/planted.ts', '../daemon/house.ts'],
  ['src/sandbox/demo/planted.ts', '../../devices/onvif/index.ts'],
];

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-rooms-'));
  cpSync(join(root, 'biome.json'), join(folder, 'biome.json'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** True when the linter refuses this import in this file. */
function refused(file: string, specifier: string): boolean {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `export * from '${specifier}';\n`);
  const run = spawnSync(join(root, 'node_modules/.bin/biome'), ['lint', file], { cwd: folder, encoding: 'utf8' });
  rmSync(path);
  const output = run.stdout + run.stderr;
  if (run.status === 0) return false;
  if (!output.includes('noRestrictedImports')) throw new Error(`another failure than the import rule: ${output}`);
  return true;
}

describe('the import rule', () => {
  it.each(rooms)('refuses in %s an import of %s', (file, forbidden, allowed) => {
    expect(refused(file, forbidden)).toBe(true);
    expect(refused(file, allowed)).toBe(false);
  });

  it.each(detours)('refuses in %s the detour %s', (file, forbidden) => {
    expect(refused(file, forbidden)).toBe(true);
  });
});
