import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { member } from '#sandbox/demo/processes.ts';
import { type Site, startSite } from '../harness/site.ts';

// Never a refusal to start, whatever stands in the state directory.

/** Not the store's: such a file cannot be used, and siteward goes on without. */
const keptElsewhere = ['users.json', 'user-key', 'config.last-good.yaml', 'siteward.pid'];
const databases = ['site.db', 'bulk.db'];
const names = [
  ...keptElsewhere,
  ...databases.flatMap((name) => ['-wal', '-shm'].map((end) => name + end)),
  ...['epoch.json', 'alarm.log', 'losses', 'reserve'].flatMap((name) => ['', '.part'].map((end) => name + end)),
];

const stateDir = mkdtempSync(join(tmpdir(), 'siteward-folders-'));
let site: Site | undefined;
afterEach(async () => {
  await site?.close();
  rmSync(stateDir, { recursive: true, force: true });
});

function block(what: readonly string[]): void {
  for (const name of what) {
    rmSync(join(stateDir, name), { recursive: true, force: true });
    mkdirSync(join(stateDir, name));
    writeFileSync(join(stateDir, name, 'note'), 'of whoever made it');
  }
}

it('starts and protects with a folder in place of every file it has, and again after a kill', {
  timeout: 60_000,
}, async () => {
  block([...databases, ...names]);
  writeFileSync(join(stateDir, 'spool'), 'a file in place of a folder');
  const house = await startSite({
    broker: 'embedded',
    stateDir,
    yaml: () => `
partitions: [{ id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s }]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: tamper_24h, name: Tamper, key: tamper, partition: p1 } }
`,
  });
  site = house;
  const part = async (name: string) => {
    const { parts } = (await house.api('/api/v1/status')) as {
      parts: { name: string; state: string; reason?: string }[];
    };
    return parts.find((one) => one.name === name);
  };
  expect(await part('store')).toMatchObject({ state: 'degraded' });
  expect(await part('media')).toMatchObject({ state: 'ok' });
  // Codes are not written over: whoever put the folder there may have the file.
  expect((await part('codes'))?.reason).toMatch(/users\.json cannot be used/);
  await house.lan.publish('zigbee2mqtt/tamper', JSON.stringify({ contact: false }));
  await house.lan.shows('zone/1/state', 'ON', 10_000);

  await house.daemon.kill();
  block(names);
  await house.daemon.restart();
  expect(house.daemon.lines().filter((text) => member(text, 'msg') === 'siteward cannot run')).toEqual([]);
  expect(await part('store')).toMatchObject({ state: 'ok' });
  expect(
    readdirSync(stateDir)
      .filter((name) => name.endsWith('.no-file'))
      .sort(),
  ).toEqual(
    names
      .filter((name) => !keptElsewhere.includes(name))
      .map((name) => `${name}.no-file`)
      .sort(),
  );
});
