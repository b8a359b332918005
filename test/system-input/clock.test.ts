import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type SandboxCloud, startCloud } from '#sandbox/cloud/index.ts';
import { eventually, freePort, member, startProcess } from '#sandbox/demo/processes.ts';
import type { SiteEvent } from '#site/model/index.ts';
import { certificate } from '../harness/certificate.ts';
import { type Lan, watchLan } from '../harness/lan.ts';
import { main } from '../harness/site.ts';

/** The library that gives one process another wall clock, where Debian puts it. */
const faketime = ['/usr/lib', ...readdirSync('/usr/lib').map((name) => join('/usr/lib', name))]
  .map((folder) => join(folder, 'faketime', 'libfaketimeMT.so.1'))
  .find((path) => existsSync(path));

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Box {
  readonly cloud: SandboxCloud;
  readonly lan: Lan;
  /** Moves the daemon's wall clock so far from the true time, seconds. Its monotonic clock goes on. */
  setClock(offsetS: number): void;
  lines(): readonly string[];
}

/** The real daemon with a wall clock of its own, and the cloud over TLS, whose certificate the daemon checks. */
async function startBox(offsetS: number): Promise<Box> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-clock-'));
  ends.push(async () => rmSync(folder, { recursive: true, force: true }));
  const tls = certificate(folder);
  const keyFile = join(folder, 'event-key.pem');
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  writeFileSync(keyFile, pair.privateKey, { mode: 0o600 });
  const cloud = await startCloud({
    listen: { host: '127.0.0.1', port: 0 },
    tls,
    clients: [{ clientId: 'bridge-1', publicKeyPem: pair.publicKey }],
  });
  ends.push(() => cloud.close());
  const port = await freePort();
  mkdirSync(join(folder, 'state'), { mode: 0o700 });
  const config = join(folder, 'siteward.yaml');
  writeFileSync(
    config,
    `site:   { id: "4711", external_id: clock, timezone: Europe/Berlin }
bridge: { external_id: sw-clock }
cloud:
  base_url: ${cloud.url}
  auth_url: ${cloud.url}
  events: { client_id: bridge-1, private_key: { file: ${keyFile} } }
mqtt:   { broker: embedded, listen: "127.0.0.1:${port}" }
http:   { control_socket: ${join(folder, 'control.sock')} }
store:  { dir: ${join(folder, 'state')} }
users:  [ { id: anna, name: Anna, code: { env: CLOCK_CODE } } ]
partitions:
  - { id: p1, name: Shop, exit_delay: 0s }
  - { id: p2, name: Store, exit_delay: 4s }
`,
  );
  const offset = join(folder, 'offset');
  const setClock = (seconds: number) => writeFileSync(offset, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  setClock(offsetS);
  const daemon = startProcess({
    name: 'siteward',
    args: [main, 'run', '--config', config],
    env: {
      LD_PRELOAD: faketime ?? '',
      FAKETIME_TIMESTAMP_FILE: offset,
      FAKETIME_NO_CACHE: '1',
      // A time step does not touch the monotonic clock.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NODE_EXTRA_CA_CERTS: tls.file,
      CLOCK_CODE: '2580',
    },
  });
  ends.push(() => daemon.stop());
  await daemon.until((text) => (member(text, 'msg') === 'ready' ? true : undefined), 'start', 30_000);
  const lan = await watchLan({ url: `mqtt://127.0.0.1:${port}`, root: 'siteward/1/clock' });
  ends.push(() => lan.close());
  return { cloud, lan, setClock, lines: () => daemon.lines() };
}

/** Arms or disarms the shop; resolves with the event and the true time at which it was made, within a moment. */
async function act(box: Box, verb: 'arm' | 'disarm'): Promise<{ event: SiteEvent; from: number; to: number }> {
  const seen = box.lan.events.length;
  const from = Date.now();
  // With a code both: what comes without one within two seconds of a person's command gives way to it (safety 5).
  const how = { code: '2580', ...(verb === 'arm' && { mode: 'away' }) };
  expect(await box.lan.ask(verb, { partition: 'p1', ...how })).toMatchObject({ outcome: 'done' });
  const event = await eventually('the event on the LAN', () => box.lan.events.slice(seen).find(isArming)?.event);
  return { event, from, to: Date.now() };
}
const isArming = ({ event }: { event: SiteEvent }) => event.class === 'arming';

async function inCloud(box: Box, id: string) {
  const found = await eventually(
    `the event ${id} in the cloud`,
    () => box.cloud.events().find(({ event_id }) => event_id === id),
    {
      timeoutMs: 90_000,
    },
  );
  const { body } = found;
  return {
    at: Date.parse(String(body.event_time)),
    payload: body.payload as unknown as SiteEvent,
    identical: found.identical,
  };
}

const day = 86_400;
const why = faketime === undefined ? ' (needs the Debian package faketime)' : '';

describe.skipIf(faketime === undefined)(`a clock that is not to be trusted${why}`, () => {
  it('at 1970 delays events until it is set, and each then arrives with its true time', async () => {
    const box = await startBox(10 - Math.floor(Date.now() / 1000));
    const made = [await act(box, 'arm'), await act(box, 'disarm'), await act(box, 'arm')];
    for (const { event } of made)
      expect(event).toMatchObject({ at: expect.stringMatching(/^1970-/), data: { clock: 'doubtful' } });
    expect(box.cloud.events()).toEqual([]);
    box.setClock(0);
    made.push(await act(box, 'disarm'));
    for (const { event, from, to } of made) {
      const { at, payload, identical } = await inCloud(box, event.event_id);
      expect(at).toBeGreaterThan(from - 2_000);
      expect(at).toBeLessThan(to + 2_000);
      expect(identical).toBe(true);
      expect(payload.at).toBe(event.at);
      if (event.at.startsWith('1970')) expect(payload.data.time).toEqual({ quality: 'exact', recorded: event.at });
    }
    const last = await act(box, 'arm');
    expect(last.event.data.clock).toBe('synced');
    expect((await inCloud(box, last.event.event_id)).payload.data.time).toBeUndefined();
  });

  it('that is set by five days, forward or back, changes no delay and no delivery', async () => {
    const box = await startBox(0);
    const first = await act(box, 'arm');
    await inCloud(box, first.event.event_id);
    for (const [offset, verb] of [
      [5 * day, 'disarm'],
      [-5 * day, 'arm'],
      [0, 'disarm'],
    ] as const) {
      const begun = performance.now();
      await box.lan.send('arm', { partition: 'p2', mode: 'away', code: '2580' });
      await box.lan.shows('partition/p2/state', 'arming');
      box.setClock(offset);
      const { event, from, to } = await act(box, verb);
      await box.lan.shows('partition/p2/state', 'armed_away');
      // The exit delay is four seconds; that it ends at all within the bound of the wait is the other half.
      expect(performance.now() - begun).toBeGreaterThan(3_500);
      const { at, identical } = await inCloud(box, event.event_id);
      expect(at).toBeGreaterThan(from - 2_000);
      expect(at).toBeLessThan(to + 2_000);
      expect(identical).toBe(true);
      expect(await box.lan.ask('disarm', { partition: 'p2', code: '2580' })).toMatchObject({ outcome: 'done' });
    }
  });
});
