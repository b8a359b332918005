import { randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Settings } from '#config/index.ts';
import type { CommandBody } from '#lan/http/index.ts';
import { type ManualClock, manualClock } from '#lib/clock.fake.ts';
import { Secret } from '#lib/secret.ts';
import { never } from '#lib/wait.ts';
import type { ClockQualityWatch } from '#site/clock-quality.ts';
import { isoTime, localAsker } from '#site/model/index.ts';
import { countingHash } from '#site/users/hashing.fake.ts';
import { createUsers } from '#site/users/index.ts';
import type { House } from '../../src/daemon/house.ts';
import { lanPort } from '../../src/daemon/lan-port.ts';
import { outboxCount } from '../../src/daemon/outbox-count.ts';
import type { SiteLog } from '../../src/daemon/site-log.ts';
import { sitePort } from '../../src/daemon/site-port.ts';
import { siteVerifications } from '../../src/daemon/verification.ts';
import { createCommands } from '../../src/lan/mqtt/commands.ts';
import { quiet } from '../cloud/support.ts';
import { arm, schedule, plan as schedules } from '../site/core/schedule-world.ts';
import { plan, startRig } from '../site/rig.ts';
import { person } from '../site/users/rig.ts';

/**
 * Safety 10 at every door where a code is given: one slow hash for each try, whatever the code is, whosever it is and
 * however many users there are. Counted at the port, since time tells little on a busy machine.
 */

const codes = {
  'of the owner': '29041738',
  'of the owner, under duress': '65092814',
  'of an auditor, who commands nothing': '51873926',
  'of a user whose time is over': '40718263',
  'of a user who was removed': '83620597',
  'of the configuration': '71930284',
  'of nobody': '93820571',
  'of nobody, in letters': 'k9x2',
} as const;
const owner = codes['of the owner'];
const verification = '4b0c9a52-0d3e-4b7a-9a55-6a1d2f6b7c80';
const root = 'siteward/1/hq';
const night = schedule('night', '22:00', arm);

/** Gives a code and resolves, or rejects, with what is said to it. */
type Door = (code: string) => Promise<unknown>;

interface Site {
  readonly hash: ReturnType<typeof countingHash>;
  readonly clock: ManualClock;
  readonly doors: Readonly<Record<string, Door>>;
  close(): Promise<void>;
}

async function open(users: number): Promise<Site> {
  const clock = manualClock();
  const rig = await startRig({ clock, plan: { ...plan, schedules: schedules([night], { timezone: 'UTC' }) } });
  const hash = countingHash();
  const house: House = { store: rig.store, controller: rig.controller };
  house.codes = createUsers({
    ...{ dir: rig.dir, timezone: () => 'UTC', clock, quality: () => 'synced', metrics: new Registry(), hash },
    configured: [{ id: 'carl', name: 'Carl', code: secretOf('of the configuration') }],
  });
  await house.codes.start(new AbortController().signal);
  await settle(house, users);
  clock.advance(3 * 86_400_000);
  house.verifications = siteVerifications(settings, new Registry(), {
    ...{ house, clock, settings: () => settings, log: () => quiet },
    quality: { current: () => 'synced' } as ClockQualityWatch,
  });
  await house.verifications.start(new AbortController().signal);
  const asked = { verification_id: verification, contact_id: 7, expires_at: isoTime(clock.wall() + 86_000_000) };
  await house.verifications.ask(asked, { source: 'cli', client: 'local' });
  return {
    ...{ hash, clock, doors: doorsOf(house, clock) },
    async close() {
      await house.verifications?.stop();
      await house.codes?.stop();
      await rig.remove();
    },
  };
}

const secretOf = (whose: keyof typeof codes) => new Secret(codes[whose]);

async function settle({ codes: book }: House, users: number): Promise<void> {
  if (book === undefined) throw new Error('no users');
  const add = (id: string, whose: keyof typeof codes, more: Parameters<typeof person>[2] = {}) =>
    book.add(person(id, codes[whose], more), 'test');
  await add('olga', 'of an auditor, who commands nothing', { role: 'auditor' });
  await add('anna', 'of the owner', { role: 'owner', duressCode: codes['of the owner, under duress'] });
  await add('eve', 'of a user whose time is over', { validUntil: '2026-11-28' });
  await add('paul', 'of a user who was removed');
  await book.remove('paul');
  for (let n = 0; n < users; n += 1) await book.add(person(`u${n}`, String(10_000_003 + n * 137)), 'test');
}

const settings = {
  verification: { contacts: [{ user: 'anna', contact_id: 7 }] },
  mqtt: { broker: 'embedded', clients: [] },
  cloud: { partner: {} },
  site: { id: '4711', dealer_id: '17' },
} as unknown as Settings;

function doorsOf(house: House, clock: ManualClock): Site['doors'] {
  const count = outboxCount(house);
  const port = lanPort({
    ...{ house, count, clock, log: quiet, settings: () => settings },
    ...{ slots: { health: () => [], metrics: async () => '' }, uptimeMs: () => 0 },
    config: () => ({ path: 'siteward.yaml', lastGood: false, text: '', warnings: [], error: undefined }),
    logs: {} as SiteLog,
    reload: async () => ({}),
    redactor: { redact: (text) => text },
    quality: {} as ClockQualityWatch,
    metrics: new Registry(),
    process: { variables: {}, end: () => undefined, signal: () => never() },
  });
  const given = (code: string) => ({ id: randomUUID(), issued_at: isoTime(clock.wall()), code });
  const local =
    (body: Body): Door =>
    (code) =>
      port.commands.give({ ...given(code), ...body } as CommandBody, localAsker, AbortSignal.timeout(20_000));
  const replies = new Map<string, (text: string) => void>();
  const commands = createCommands({
    ...{
      root,
      site: sitePort({ house, count, clock, settings: () => settings, quality: {} as ClockQualityWatch, log: quiet }),
      clock,
      log: quiet,
      metrics: new Registry(),
    },
    facts: () => ({ version: '0', bootId: clock.bootId, cloudUp: false }),
    publish: (topic, text) => replies.get(topic)?.(text),
    publishImage: async () => true,
    clear: () => undefined,
    signal: new AbortController().signal,
    refused: () => undefined,
  });
  const mqtt =
    (verb: string, body: object): Door =>
    (code) =>
      new Promise((resolve) => {
        const all = given(code);
        replies.set(`${root}/reply/unknown/${all.id}`, (text) => resolve(JSON.parse(text)));
        commands.take({ verb, payload: Buffer.from(JSON.stringify({ ...all, ...body })), retained: false });
      });
  return {
    'disarm on this machine': local({ verb: 'disarm', partition: 'p1' }),
    'arm on this machine': local({ verb: 'arm', partition: 'p1', mode: 'away' }),
    'bypass on this machine': local({ verb: 'bypass', zone: '1' }),
    'walk test on this machine': local({ verb: 'test', partition: 'p1' }),
    'disarm over MQTT': mqtt('disarm', { partition: 'p1' }),
    'arm over MQTT': mqtt('arm', { partition: 'p1', mode: 'away' }),
    'bypass over MQTT': mqtt('bypass', { zone: '1', on: true }),
    'walk test over MQTT': mqtt('test', { partition: 'p1', on: true }),
    'memory over MQTT': mqtt('clear_memory', { partition: 'p1' }),
    'postponing over MQTT': mqtt('postpone', { schedule: 'night', minutes: 5 }),
    'postponing on this machine': (code) => port.schedules.postpone({ id: 'night', minutes: 5, code, by: localAsker }),
    'answer to a verification over MQTT': mqtt('verify', { verification_id: verification, action: 'dispatch' }),
    'answer to a verification on this machine': (code) =>
      new Promise((resolve, reject) => {
        const all = { commandId: randomUUID(), bodyHash: randomUUID(), issuedAt: clock.wall(), code };
        const from = { source: 'cli', client: 'local', isProven: false } as const;
        port.verifications
          .answer({ ...all, ...from, verificationId: verification, action: 'dispatch' }, resolve)
          .catch(reject);
      }),
    'security type while armed': (code) => port.securityType.change({ security_type: 3, while_armed: true, code }),
    'session of an auditor': (code) => port.audit.open(code),
    // The new code is taken already, which is found without a slow hash of its own.
    'consent to an auditor': (consent) =>
      port.users.add({ id: 'ida', name: 'Ida', role: 'auditor', code: owner, consent }, localAsker),
    'consent to a new code of the owner': (consent) =>
      port.users.setCode({ id: 'anna', code: owner, consent, by: localAsker }),
  };
}

type Body = CommandBody extends infer B
  ? B extends CommandBody
    ? Omit<B, 'id' | 'issued_at' | 'code'>
    : never
  : never;

describe.each([0, 60])('with %i further users', (users) => {
  let site: Site;
  beforeAll(async () => {
    site = await open(users);
  });
  afterAll(() => site?.close());

  /** Slow hashes of one try. */
  async function work(door: Door, code: string): Promise<number> {
    const before = site.hash.calls;
    await door(code).catch(() => undefined);
    return site.hash.calls - before;
  }

  it('every code takes one slow hash at every door', async () => {
    const seen: Record<string, number> = {};
    for (const [name, door] of Object.entries(site.doors)) {
      for (const [whose, code] of Object.entries(codes)) {
        // No lock of the try before is left.
        site.clock.advance(11 * 60_000);
        seen[`${name}: the code ${whose}`] = await work(door, code);
      }
    }
    expect(Object.entries(seen).filter(([, count]) => count !== 1)).toEqual([]);
    expect(Object.keys(seen)).toHaveLength(Object.keys(site.doors).length * Object.keys(codes).length);
  });

  it('and no other while a door is locked after wrong codes', async () => {
    const commands = Object.entries(site.doors).filter(([name]) => !name.startsWith('consent'));
    const seen: Record<string, number> = {};
    for (const [name, door] of commands) {
      site.clock.advance(11 * 60_000);
      for (let n = 0; n < 6; n += 1) await door('93820571').catch(() => undefined);
      for (const [whose, code] of Object.entries(codes)) seen[`${name}: the code ${whose}`] = await work(door, code);
    }
    expect(Object.entries(seen).filter(([, count]) => count !== 1)).toEqual([]);
  });

  it('no code is no try', async () => {
    const none = async (door: Door | undefined) =>
      work(door ?? (async () => undefined), undefined as unknown as string);
    expect(await none(site.doors['arm over MQTT'])).toBe(0);
    expect(await none(site.doors['arm on this machine'])).toBe(0);
  });

  it('a good code acts and another one is refused, so that both were tried', async () => {
    site.clock.advance(11 * 60_000);
    const disarm = site.doors['disarm on this machine'];
    expect(await disarm?.(owner)).toMatchObject({ outcome: expect.stringMatching(/^(done|already)$/) });
    expect(await disarm?.('93820571')).toMatchObject({ outcome: 'refused', error: { code: 'BAD_CODE' } });
  });
});
