import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CloudClient, createCloudClient } from '#cloud/client/index.ts';
import { createMirror, createMirrorKeeper, type Mirror, removeMirror, type StandingShown } from '#cloud/sync/index.ts';
import { type ManualClock, manualClock } from '#lib/clock.fake.ts';
import { Secret } from '#lib/secret.ts';
import { never } from '#lib/wait.ts';
import { type SandboxCloud, seedSchema, startCloud } from '#sandbox/cloud/index.ts';
import { type Line, lineTo, quiet, until } from '../support.ts';

const hour = 3_600_000;
const day = 24 * hour;
const place = { dealerId: '1', siteId: '1' };
const contacts = '/partner/v1/dealers/1/sites/1/contacts';
const person = { external_contact_id: 'k1', first_name: 'Ada', last_name: 'Byron', phone_number: '+49 30 5550100' };

let cloud: SandboxCloud;
let line: Line;
let operator: CloudClient;
let bridge: CloudClient;
let clock: ManualClock;
let dir: string;
let mirror: Mirror;
let standing: StandingShown;
let judged: number;

beforeEach(async () => {
  clock = manualClock(Date.UTC(2026, 10, 2, 21));
  dir = mkdtempSync(join(tmpdir(), 'siteward-mirror-'));
  standing = { state: 'ok' };
  judged = 0;
  const station = { external_monitoring_station_id: 'central', name: 'Central station', prefix: 'AC' };
  const site = { site_id: 1, external_site_id: 'hq', name: 'Shop', timezone: 'Europe/Berlin', contacts: [person] };
  cloud = await startCloud({
    listen: { host: '127.0.0.1', port: 0 },
    clients: [{ clientId: 'partner-1', clientSecret: 'mirror-secret' }],
    clock,
    tokenLifeS: 3600,
    dealers: seedSchema.parse({
      dealers: [{ dealer_id: 1, external_dealer_id: 'd1', monitoring_stations: [station], sites: [site] }],
    }).dealers,
  });
  line = await lineTo(cloud.url);
  const client = (url: string) =>
    createCloudClient({
      ...{ baseUrl: url, authUrl: cloud.url, clientId: 'none', keys: { current: { pem: new Secret('') } } },
      partner: { clientId: 'partner-1', secret: new Secret('mirror-secret') },
      ...{ clock, log: quiet, random: () => 0.5, retry: { tries: 1 } },
    });
  [bridge, operator] = [client(line.url), client(cloud.url)];
});
afterEach(async () => {
  await mirror?.stop();
  await Promise.all([bridge.close(), operator.close()]);
  await line.close();
  await cloud.close();
  rmSync(dir, { recursive: true, force: true });
});

async function start(of = 'cloud 1 1', credential?: string): Promise<void> {
  const isOpen = () => standing.state === 'ok';
  mirror = createMirror({
    ...{ manage: bridge.manage, place, clock, log: quiet, metrics: new Registry() },
    keeper: createMirrorKeeper({ dir, credential, of, log: quiet }),
    standing: () => ({
      isOpen,
      shown: () => standing,
      async judge() {
        judged += 1;
        return isOpen();
      },
    }),
    times: { spreadMs: 0, calmMs: 0 },
  });
  await mirror.start(never());
}

const isRead = () => mirror.contacts().readAt === clock.wall() && mirror.stations().readAt !== undefined;
const names = () => mirror.contacts().items.map(({ first_name, last_name }) => `${first_name} ${last_name}`);
const again = async () => {
  clock.advance(1000);
  mirror.retryNow();
  await until('the contacts are read', isRead);
};
const firstId = () => mirror.contacts().items[0]?.contact_id ?? '';

it('that was read while the clock was ahead counts as stale, over a restart too, until it is read again', async () => {
  clock.step(3 * day);
  await start();
  await until('it is read', isRead);
  mirror.siteRead({ name: 'Shop' });
  await line.cut('refuses');
  await mirror.stop();
  clock.step(-3 * day);
  await start();
  const ages = () => [mirror.site(), mirror.contacts(), mirror.stations()].map(({ stale }) => stale);
  expect(ages()).toEqual([true, true, true]);
  expect(mirror.knowsNow('7777')).toBe('unsure');
  await line.mend();
  await again();
  expect(mirror.knowsNow('7777')).toBe('unknown');
});

it('is there without a line, with its age, and stale after its time', async () => {
  await start();
  await until('it is read', isRead);
  mirror.siteRead({ name: 'Shop', timezone: 'Europe/Berlin', is_activated: 1, monitoring_station_id: null });
  await mirror.stop();
  await line.cut('refuses');
  clock.advance(2 * hour);
  await start();
  expect(names()).toEqual(['Ada Byron']);
  expect(mirror.stations().items).toEqual([expect.objectContaining({ name: 'Central station', prefix: 'AC' })]);
  expect(mirror.site()).toMatchObject({ stale: true, value: { name: 'Shop', is_activated: true } });
  expect(mirror.contacts().stale).toBe(false);
  clock.advance(day);
  expect([mirror.contacts().stale, mirror.stations().stale]).toEqual([true, false]);
});

it('takes what was removed away at the next read', async () => {
  await start();
  await until('it is read', isRead);
  await operator.manage.createContact({
    params: place,
    body: { ...person, external_contact_id: 'k2', first_name: 'Bo' },
    signal: never(),
  });
  await again();
  expect(names()).toEqual(['Ada Byron', 'Bo Byron']);
  await operator.manage.deleteContact({ params: { ...place, contactId: firstId() }, signal: never() });
  await again();
  expect(names()).toEqual(['Bo Byron']);
  await mirror.stop();
  await line.cut('refuses');
  await start();
  expect(names()).toEqual(['Bo Byron']);
});

describe('The file', () => {
  const path = () => join(dir, 'cloud-mirror');
  const key = () => join(dir, 'cloud-mirror-key');
  beforeEach(async () => {
    await start();
    await until('it is read', isRead);
    await mirror.stop();
    await line.cut('refuses');
  });

  it('can be read by nobody without the key, and is for its user alone', () => {
    expect([path(), key()].map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
    for (const word of ['Ada', 'Byron', '5550100', 'Central', 'contact'])
      expect(readFileSync(path()).includes(word)).toBe(false);
  });

  it.each<[string, () => void, string | undefined]>([
    ['its key is gone', () => rmSync(key()), undefined],
    ['its key is another one', () => writeFileSync(key(), Buffer.alloc(32, 7)), undefined],
    ['a bit of it is another one', () => writeFileSync(path(), flipped(readFileSync(path()))), undefined],
    ['it is cut', () => writeFileSync(path(), readFileSync(path()).subarray(0, 20)), undefined],
    ['it is of another site', () => undefined, 'cloud 1 2'],
  ])('gives nothing where %s, and is made anew', async (_what, damage, of) => {
    damage();
    await start(of);
    expect(mirror.contacts()).toEqual({ stale: true, items: [], leftOut: 0 });
    await line.mend();
    await again();
    expect(names()).toEqual(['Ada Byron']);
    await mirror.stop();
    await line.cut('refuses');
    await start(of);
    expect(names()).toEqual(['Ada Byron']);
  });

  it('is under the key of a credential where one is given, and worth nothing without it', async () => {
    await removeMirror(dir);
    const credential = join(dir, 'given');
    writeFileSync(credential, Buffer.alloc(32, 9));
    await line.mend();
    await start(undefined, credential);
    await until('it is read', isRead);
    await mirror.stop();
    expect(readdirSync(dir).sort()).toEqual(['cloud-mirror', 'given']);
    await line.cut('refuses');
    await start(undefined, credential);
    expect(names()).toEqual(['Ada Byron']);
    await mirror.stop();
    await start();
    expect(names()).toEqual([]);
  });

  it.each<[string, (path: string) => void, RegExp]>([
    ['too short', (one) => writeFileSync(one, 'secret'), /cloud-mirror-key is 6 bytes long and must be 32 random ones/],
    ['a folder', (one) => mkdirSync(one), /cloud-mirror-key cannot be read/],
  ])(
    'is under no other key where that of a credential is %s, and it is said what to do',
    async (_what, make, words) => {
      await removeMirror(dir);
      const credential = join(dir, 'given');
      make(credential);
      await line.mend();
      await start(undefined, credential);
      await until('it is said', () => mirror.health().state === 'degraded');
      expect(mirror.health()).toMatchObject({ reason: expect.stringMatching(words) });
      expect(mirror.health()).toMatchObject({ reason: expect.stringContaining('LoadCredential=') });
      // It works on without a disk.
      await until('it is read', isRead);
      expect([names(), readdirSync(dir)]).toEqual([['Ada Byron'], ['given']]);
      rmSync(credential, { recursive: true });
      writeFileSync(credential, Buffer.alloc(32, 9));
      await again();
      await until('it is kept', () => mirror.health().state === 'ok');
      // Contacts and stations are written one after the other.
      await expect.poll(() => readdirSync(dir).sort()).toEqual(['cloud-mirror', 'given']);
    },
  );

  it('is taken away with its key, and what a power cut left of a write', async () => {
    for (const name of ['cloud-mirror', 'cloud-mirror-key']) writeFileSync(join(dir, `${name}.part`), 'half');
    await removeMirror(dir);
    expect(readdirSync(dir)).toEqual([]);
  });
});

const flipped = (bytes: Buffer): Buffer => {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(copy.length - 1) ^ 1, copy.length - 1);
  return copy;
};

describe('Of a site that is lost in the cloud', () => {
  it('the contacts go at once where it is deleted, from the disk too, and come with the site', async () => {
    await start();
    await until('it is read', isRead);
    standing = { state: 'deleted', since: clock.wall() };
    mirror.retryNow();
    expect(names()).toEqual([]);
    const before = cloud.log().length;
    await mirror.stop();
    await start();
    expect([names(), mirror.stations().items.length]).toEqual([[], 1]);
    expect(cloud.log().length).toBe(before);
    standing = { state: 'ok' };
    await again();
    expect(names()).toEqual(['Ada Byron']);
  });

  it('the contacts stay for a day where the clock was ahead when the access was withdrawn', async () => {
    await start();
    await until('it is read', isRead);
    standing = { state: 'withdrawn', since: clock.wall() + 30 * day };
    mirror.retryNow();
    clock.advance(day - 1);
    mirror.retryNow();
    expect(names()).toEqual(['Ada Byron']);
    clock.advance(1);
    mirror.retryNow();
    expect(names()).toEqual([]);
  });

  it('the contacts stay for a day where the access is withdrawn', async () => {
    await start();
    await until('it is read', isRead);
    standing = { state: 'withdrawn', since: clock.wall() };
    clock.advance(day - 1);
    mirror.retryNow();
    expect(names()).toEqual(['Ada Byron']);
    clock.advance(1);
    mirror.retryNow();
    expect(names()).toEqual([]);
  });
});

describe('A contact', () => {
  it('is known, unknown, or nobody knows', async () => {
    await line.cut('refuses');
    await start();
    expect(await mirror.knows('7', never())).toBe('unsure');
    await line.mend();
    await again();
    expect(await mirror.knows(firstId(), never())).toBe('known');
    expect(await mirror.knows('7777', never())).toBe('unknown');
    await line.cut('refuses');
    clock.advance(day + 1);
    expect(await mirror.knows('7777', never())).toBe('unsure');
    expect(await mirror.knows(firstId(), never())).toBe('known');
  });

  it('that was perhaps left out of the list is not said to be unknown', async () => {
    cloud.plant({
      ...{ path: contacts, method: 'GET', mode: 'status', status: 200, count: -1 },
      body: [{ contact_id: 5, first_name: 'Cy' }, { first_name: 'without an id' }],
    });
    await start();
    await until('it is read', isRead);
    expect(mirror.contacts()).toMatchObject({ leftOut: 1, stale: false });
    expect([await mirror.knows('5', never()), await mirror.knows('7777', never())]).toEqual(['known', 'unsure']);
    // The same after a start without a line: what was left out is kept with the list.
    await mirror.stop();
    await line.cut('refuses');
    await start();
    expect(await mirror.knows('7777', never())).toBe('unsure');
  });

  it('that is new in the cloud is found by looking once more', async () => {
    await start();
    await until('it is read', isRead);
    const { value } = await operator.manage.createContact({
      params: place,
      body: { ...person, external_contact_id: 'k2' },
      signal: never(),
    });
    clock.advance(10_000);
    expect(await mirror.knows(value.contact_id, never())).toBe('known');
  });
});

describe('An answer', () => {
  const answer = (body: unknown, status = 200) =>
    cloud.plant({ path: contacts, method: 'GET', mode: 'status', status, body, count: -1 });

  it.each<[string, unknown]>([
    ['wrapped', { data: [{ contact_id: 5, first_name: 'Cy', last_name: 'Doe' }] }],
    ['with ids as `id`', [{ id: '5', first_name: 'Cy', last_name: 'Doe' }]],
    ['with control characters', [{ contact_id: 5, first_name: 'Cy\u0007', last_name: 'Doe' }]],
  ])('that is %s is read', async (_what, body) => {
    answer(body);
    await start();
    await until('it is read', isRead);
    expect(mirror.contacts().items).toEqual([
      expect.objectContaining({ contact_id: '5', first_name: expect.stringMatching(/^Cy ?$/), phone_number: '' }),
    ]);
  });

  it('that nobody can read, and one that refuses, leave what was there; the site is asked for', async () => {
    await start();
    await until('it is read', isRead);
    for (const [body, status] of [
      [[{ name: 'x' }], 200],
      ['<html>', 200],
      [{}, 500],
      [{}, 403],
    ] as const) {
      cloud.clearFaults();
      answer(body, status);
      const before = cloud.log().length;
      mirror.retryNow();
      await until(
        'it is asked',
        () => cloud.log().length > before && mirror.health().state === (status === 500 ? 'ok' : 'degraded'),
      );
      expect(names()).toEqual(['Ada Byron']);
    }
    expect(judged).toBeGreaterThan(0);
  });

  it('with very many rows is cut, and says so', async () => {
    answer(Array.from({ length: 700 }, (_, n) => ({ contact_id: n + 1, first_name: 'x'.repeat(1000) })));
    await start();
    await until('it is read', isRead);
    const { items, leftOut } = mirror.contacts();
    expect([items.length, leftOut, items[0]?.first_name.length]).toEqual([500, 200, 120]);
  });
});
