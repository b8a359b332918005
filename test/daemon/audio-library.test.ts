import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Signal } from '#site/model/index.ts';
import { until } from '../lan/mqtt/harness.ts';
import { type AudioSite, audioSite } from './audio-rig.ts';

const fire = `panels: [ { id: main, profile: pai, zones: { "7": { type: fire, partition: p1, name: Smoke } } } ]
speakers: [ { id: gate, driver: capture } ]
rules: [ { id: fire, on: { kind: fire }, play: { message: alarm.siren, repeat: 5 } } ]
`;
const source = { kind: 'panel', id: 'main' } as const;
const signals = async ({ house }: AudioSite, ...all: Signal[]) => house.controller?.signals(all);
const smoke = (site: AudioSite, open: boolean) =>
  signals(site, { kind: 'zone', source, zone: '7', open, replay: false });
const health = ({ slots }: AudioSite) => slots.health().find(({ name }) => name === 'audio');

const kept = (dir: string) => join(dir, 'audio');
const index = (dir: string) => join(kept(dir), 'index.json');

it.each<[string, (dir: string) => void]>([
  ['the folder is a file', (dir) => writeFileSync(kept(dir), 'x')],
  ['the list is a folder', (dir) => mkdirSync(index(dir), { recursive: true })],
  [
    'the list is a pipe that nobody writes to',
    (dir) => {
      mkdirSync(kept(dir));
      execFileSync('mkfifo', [index(dir)]);
    },
  ],
])('a fire sounds where the messages of the site cannot be read, and status says why: %s', async (_name, spoil) => {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-library-'));
  const site = audioSite(dir);
  onTestFinished(async () => {
    await site.slots.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  spoil(dir);
  await site.start(fire);
  await signals(site, { kind: 'link', source, layer: 'bridge', up: true });
  await smoke(site, false);
  await smoke(site, true);
  await until(() => site.port.playbacks().some(({ status }) => status === 'playing'), 'the sound of the fire');
  expect(health(site)).toMatchObject({
    state: 'degraded',
    reason: expect.stringContaining('the messages of the site cannot be read'),
  });
  expect(site.port.messages().map(({ key }) => key)).toContain('alarm.siren');

  // Whoever mends it needs no restart.
  rmSync(kept(dir), { recursive: true });
  await until(() => health(site)?.state === 'ok', 'the messages of the site', 20_000);
});
