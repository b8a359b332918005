import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { checkText } from '#config/index.ts';
import { never } from '#lib/wait.ts';
import { lastReset, markReset, type ResetMarker, resetIfMarked, resetMarker } from '../../src/daemon/factory-reset.ts';

const wish = { by: 'account:olga', at: '2026-11-29T21:00:00.000Z' };

function box(more: { inState?: boolean; yaml?: (folder: string) => string } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-reset-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const dir = join(folder, 'state');
  for (const name of [dir, join(dir, 'spool'), join(folder, 'secrets')]) mkdirSync(name);
  const configPath = join(more.inState === true ? dir : folder, 'siteward.yaml');
  const text = `site: { id: "4711", external_id: hq, name: Meier, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
store: { dir: ${dir} }
partitions: [ { id: p1, name: Shop }, { id: p2, name: Flat } ]
${more.yaml?.(folder) ?? ''}`;
  writeFileSync(configPath, text);
  for (const path of ['state/site.db', 'state/spool/1.jpg', 'secrets/yard', 'elsewhere'])
    writeFileSync(join(folder, path), 'x');
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => void lines.push(line) });
  const subject = { configPath, text, dir, site: 'hq' };
  return {
    ...{ folder, dir, configPath, text, lines },
    marker: (): ResetMarker => resetMarker(subject, wish),
    start: () => resetIfMarked(subject, { log, signal: never() }),
  };
}

it('keeps whose numbers these are and where siteward listens, and nothing of the customer', () => {
  const { marker, configPath } = box({
    yaml: (folder) => `mqtt:
  broker: mqtts://broker.example.net:8883
  username: meier
  password: { file: ${folder}/secrets/broker }
  ca: ${folder}/secrets/ca.pem
  clients: [ { id: pad, role: keypad } ]
http: { listen: "0.0.0.0:8443", names: [hq.example.net], certificate: { cert: ${folder}/c.pem, key: { file: ${folder}/secrets/key } } }
log: { level: warn }
cameras: [ { id: yard, url: "http://192.0.2.9/", username: meier, password: { file: ${folder}/secrets/yard } } ]
`,
  });
  const { text, secrets } = marker();
  expect(secrets.map((path) => path.slice(path.lastIndexOf('/') + 1)).sort()).toEqual([
    'broker',
    'ca.pem',
    'key',
    'yard',
  ]);
  const { loaded, problems } = checkText(configPath, text, { secrets: 'unread' });
  expect(problems).toEqual([]);
  const { site, bridge, mqtt, http, log, partitions } = loaded?.settings ?? {};
  expect({ site, bridge, log }).toEqual({
    site: { id: '4711', external_id: 'hq', timezone: 'Europe/Berlin' },
    bridge: { external_id: 'sw-1', role: 'primary' },
    log: { level: 'warn' },
  });
  expect(mqtt).toMatchObject({ broker: 'mqtts://broker.example.net:8883', clients: [] });
  expect(http).toMatchObject({ listen: '0.0.0.0:8443', names: ['hq.example.net'] });
  expect(partitions?.map(({ id }) => id)).toEqual(['p1']);
  expect(text).not.toMatch(/meier|secrets|password|certificate|Shop|Flat/i);
});

it('takes what siteward made where the secrets of the cameras lie already, and nothing else there', async () => {
  const { marker, dir, folder, start } = box({
    yaml: (at) => `cameras:
  - { id: gate, url: "http://192.0.2.8/", username: x, password: { file: ${at}/keys/gate } }
  - { id: yard, url: "http://192.0.2.9/", username: x, password: { file: ${at}/keys/camera-yard } }
`,
  });
  const keys = join(folder, 'keys');
  mkdirSync(keys);
  for (const name of ['gate', 'camera-yard', 'camera-other']) writeFileSync(join(keys, name), 'x');
  await markReset(dir, marker());
  expect(await start()).toBe(true);
  expect(readdirSync(keys).sort()).toEqual(['camera-other', 'gate']);
});

it('touches no file of somebody else, whatever a marker names', async () => {
  const { marker, dir, folder, start } = box();
  const foreign = join(folder, 'elsewhere');
  await markReset(dir, {
    ...marker(),
    secrets: [foreign, join(folder, 'secrets', '..', 'elsewhere'), join(folder, 'secrets', 'yard')],
  });
  expect(await start()).toBe(true);
  expect(existsSync(foreign)).toBe(true);
  expect(existsSync(join(folder, 'secrets', 'yard'))).toBe(false);
  expect(readdirSync(dir)).toEqual(['factory-reset-done.json']);
  const told = await lastReset(dir);
  expect(told).toMatchObject(wish);
  await told?.forget();
  expect(await lastReset(dir)).toBeUndefined();
  expect(await start()).toBe(false);
});

it('is called off as a whole where something is in the way, and says so', async () => {
  const { marker, dir, configPath, text, start, lines } = box({ inState: true });
  await markReset(dir, marker());
  expect(await start()).toBe(false);
  expect(readFileSync(configPath, 'utf8')).toBe(text);
  expect(readdirSync(dir).sort()).toEqual(['site.db', 'siteward.yaml', 'spool']);
  expect(lines.join('')).toContain('lies in the state directory');
  expect(lines.join('')).toContain('the factory reset was NOT done');
});

it('that has begun and cannot go on lets nothing run, names what is in the way, and goes on when that is gone', async () => {
  const { marker, dir, configPath, start } = box();
  const inTheWay = `${configPath}.bak`;
  mkdirSync(inTheWay);
  await markReset(dir, marker());
  for (let starts = 0; starts < 2; starts += 1)
    await expect(start()).rejects.toMatchObject({
      code: 'state_dir_unusable',
      message: expect.stringContaining(inTheWay),
    });
  rmSync(inTheWay, { recursive: true });
  expect(await start()).toBe(true);
  expect(readdirSync(dir)).toEqual(['factory-reset-done.json']);
  expect(readFileSync(configPath, 'utf8')).toBe(marker().text);
});
