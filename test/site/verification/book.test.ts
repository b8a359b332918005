import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isCode, SitewardError } from '#errors.ts';
import { manualClock } from '#lib/clock.fake.ts';
import type { AnswerResult, ClockQuality, Command, CommandResult, VerificationAction } from '#site/model/index.ts';
import type { Store } from '#site/store/index.ts';
import { createVerifications } from '#site/verification/index.ts';
import { row, startStore, temporaryDir, until } from '../store/helpers.ts';
import { id, minute } from './world.ts';

type Clock = ReturnType<typeof manualClock>;

/** A real store whose commits or reads can be made to fail, as on a dying disk. */
function sick(store: Store) {
  const so = { fails: false };
  const guard = () => (so.fails ? Promise.reject(new SitewardError('store_failed', 'the disk is gone')) : undefined);
  const wrapped = {
    commit: async (commit: Parameters<Store['commit']>[0]) => {
      await guard();
      await store.commit(commit);
    },
    verifications: async () => {
      await guard();
      return store.verifications();
    },
    recovery: () => store.recovery(),
    events: (query: Parameters<Store['events']>[0]) => store.events(query),
  };
  return { so, wrapped };
}

async function rig(options: { dir?: string; clock?: Clock; fails?: boolean; refusal?: CommandResult['error'] } = {}) {
  const { dir = temporaryDir(), clock = manualClock() } = options;
  const store = await startStore(dir, { clock });
  const { so, wrapped } = sick(store);
  so.fails = options.fails === true;
  const submitted: Command[] = [];
  let quality: ClockQuality = 'synced';
  let changes = 0;
  const metrics = new Registry();
  const verifications = createVerifications({
    store: wrapped,
    submit(command, reply) {
      submitted.push(command);
      const base = { commandId: command.id, partition: 'all', at: clock.wall(), final: true } as const;
      const error = command.code === 'bad' ? ({ code: 'BAD_CODE' } as const) : options.refusal;
      reply(error === undefined ? { ...base, outcome: 'done' } : { ...base, outcome: 'refused', error });
    },
    async checkCode(code) {
      if (code === undefined) return { code: 'none' };
      if (code === '1111') return { code: 'ok', actor: 'anna', role: 'owner' };
      if (code === '2222') return { code: 'duress', actor: 'anna', role: 'owner' };
      return code === '3333' ? { code: 'ok', actor: 'tim', role: 'installer' } : { code: 'bad' };
    },
    contacts: { ofUser: () => 7, ofClient: (name) => (name === 'guard-1' ? 9 : undefined) },
    unsendable: undefined,
    onChange: () => (changes += 1),
    clock,
    quality: () => quality,
    log: pino({ level: 'silent' }),
    metrics,
  });
  await verifications.start(new AbortController().signal);
  onTestFinished(verifications.stop);
  return {
    ...{ dir, clock, store, so, verifications, submitted, metrics },
    changes: () => changes,
    trust(next: ClockQuality) {
      quality = next;
    },
    ask: (more: object = {}) =>
      verifications.ask(
        { verification_id: id, contact_id: 7, expires_at: new Date(clock.wall() + 5 * minute).toISOString(), ...more },
        { source: 'lan', client: 'platform-1' },
      ),
    /** All replies; with `first`, as soon as there is one. */
    async answer(action: VerificationAction, more: object = {}): Promise<AnswerResult[]> {
      const replies: AnswerResult[] = [];
      const given = {
        ...{ commandId: randomUUID(), verificationId: id, action, issuedAt: clock.wall(), code: '1111' },
        ...{ source: 'lan' as const, client: 'keypad-1', isProven: false, bodyHash: 'x' },
        ...more,
      } as const;
      const over = verifications.answer(given, (result) => replies.push(result));
      await until(() => replies.length > 0);
      over.catch(() => undefined);
      return replies;
    },
    state: () => verifications.list()[0]?.state,
    async end() {
      await verifications.stop();
      await store.stop();
    },
  };
}

describe('a request', () => {
  it('is on disk when it is acknowledged, and the same after a restart, its deadline exact', async () => {
    const one = await rig();
    expect(await one.ask()).toMatchObject({ outcome: 'done', document: { state: 'open' } });
    const before = one.verifications.list();
    await one.end();
    one.clock.advance(2 * minute);
    one.clock.step(-60 * minute);
    const two = await rig({ dir: one.dir, clock: one.clock });
    expect(two.verifications.list()).toEqual(before);
    one.clock.advance(3 * minute - 1);
    expect((await two.answer('disregard'))[0]?.outcome).toBe('accepted');
  });

  it('that the disk does not take is not acknowledged, and made again is the same one', {
    timeout: 40_000,
  }, async () => {
    const site = await rig();
    site.so.fails = true;
    await expect(site.ask()).rejects.toSatisfy((error) => isCode(error, 'store_failed'));
    expect(site.verifications.health()).toMatchObject({ state: 'degraded' });
    site.so.fails = false;
    // The write is tried again by itself.
    await until(() => site.verifications.health().state === 'ok');
    expect(await site.ask({ expires_at: site.verifications.list()[0]?.expires_at })).toMatchObject({
      outcome: 'already',
    });
    expect(await site.store.verifications()).toHaveLength(1);
  });

  it('is tied to our event by its id', async () => {
    const site = await rig();
    const event = row(1).event;
    const told = { ...event, zone: '2', data: { ...event.data, incident_id: '1-p1-4' } };
    await site.store.commit({ rows: [row(1, { event: told })], arming: [], inputs: [] });
    await site.ask({ event_id: 'event-1' });
    expect(site.verifications.list()).toMatchObject([
      { event_id: 'event-1', kind: 'burglary', incident_id: '1-p1-4', partition: 'p1', zone: '2' },
    ]);
  });

  it('about a silent event is taken and shown to nobody but the auditor, cannot be answered, and expires', async () => {
    const one = await rig();
    const silent = { ...row(2, { silent: true }), event: { ...row(2).event, kind: 'duress' } };
    await one.store.commit({ rows: [silent], arming: [], inputs: [] });
    const before = await one.metrics.metrics();
    expect(await one.ask({ event_id: 'event-2' })).toMatchObject({ outcome: 'done' });
    expect(one.verifications.list()).toEqual([]);
    expect(one.verifications.health()).toEqual({ state: 'ok', facts: { open: 0 } });
    expect(await one.metrics.metrics()).toBe(before);
    expect(await one.answer('dispatch')).toMatchObject([{ error: { code: 'UNKNOWN_TARGET' } }]);
    expect(await one.answer('disregard', { code: '2222' })).toMatchObject([{ error: { code: 'UNKNOWN_TARGET' } }]);
    expect(one.verifications.outgoing()).toEqual([]);
    await one.end();
    one.clock.advance(5 * minute);
    const two = await rig({ dir: one.dir, clock: one.clock });
    expect(two.verifications.list()).toEqual([]);
    const about = async () => {
      const entries = await two.store.audit({ limit: 20 });
      return entries.filter(({ action }) => ['verification_expired', 'verification_asked'].includes(action));
    };
    await until(async () => (await about()).length === 2);
    expect((await about()).map(({ visibility }) => visibility)).toEqual(['auditor', 'auditor']);
  });
});

describe('an answer', () => {
  it('is on disk before it is acknowledged and before it leaves', async () => {
    const site = await rig();
    await site.ask();
    site.so.fails = true;
    const replies = site.answer('dispatch');
    await until(() => site.submitted.length === 1 && site.state() === 'waiting');
    expect(site.verifications.outgoing()).toEqual([]);
    site.so.fails = false;
    expect(await replies).toMatchObject([{ outcome: 'accepted', final: false }]);
    expect(site.verifications.outgoing()).toMatchObject([{ action: 'dispatch', contactId: 7 }]);
    expect(JSON.stringify(await site.store.verifications())).toContain('dispatch');
  });

  it('leaves after half a second without a disk: a call for help waits for none', async () => {
    const site = await rig();
    await site.ask();
    site.so.fails = true;
    void site.answer('dispatch');
    await until(() => site.verifications.outgoing().length === 1);
    expect(JSON.stringify(await site.store.verifications())).not.toContain('dispatch');
  });

  it('is refused by the gate with what the gate says, and by the role of an installer', async () => {
    const site = await rig();
    await site.ask();
    expect(await site.answer('dispatch', { code: '9999' })).toMatchObject([{ error: { code: 'BAD_CODE' } }]);
    expect(await site.answer('dispatch', { code: '3333' })).toMatchObject([
      { outcome: 'refused', error: { code: 'NOT_ALLOWED', field: 'code' } },
    ]);
    expect(site.state()).toBe('open');
    const audit = await site.store.audit({ limit: 10 });
    expect(audit.map(({ kind, reason }) => [kind, reason])).toContainEqual(['refusal', 'NOT_ALLOWED']);
  });

  it('that is refused more than 60 times within a minute is counted, and the next entry tells how often', async () => {
    const site = await rig();
    await site.ask();
    for (let n = 0; n < 65; n += 1) await site.answer('dispatch', { code: '3333' });
    expect(await site.metrics.metrics()).toContain('siteward_verification_refusals_untold_total 5');
    site.clock.advance(minute + 1);
    await site.answer('dispatch', { code: '3333' });
    const refusals = async () =>
      (await site.store.audit({ limit: 100 })).filter(({ kind }) => kind === 'refusal').map(({ omitted }) => omitted);
    await until(async () => (await refusals()).length === 61);
    expect((await refusals())[0]).toBe(5);
  });

  it('without a code is for the account of a guard, whose name is proven', async () => {
    const site = await rig();
    await site.ask();
    const bare = { code: undefined, client: 'guard-1' };
    expect(await site.answer('dispatch', bare)).toMatchObject([{ error: { code: 'CODE_REQUIRED' } }]);
    expect(site.submitted).toEqual([]);
    expect(await site.answer('dispatch', { ...bare, isProven: true })).toMatchObject([{ outcome: 'accepted' }]);
    expect(site.verifications.outgoing()).toMatchObject([{ contactId: 9 }]);
  });

  it('under duress that the gate refuses sends dispatch all the same, and nobody sees it', async () => {
    const site = await rig({ refusal: { code: 'LOCKED', retryAfterS: 60 } });
    await site.ask();
    const shown = JSON.stringify(site.verifications.list());
    expect(await site.answer('disregard', { code: '2222' })).toMatchObject([{ error: { code: 'LOCKED' } }]);
    expect(JSON.stringify(site.verifications.list())).toBe(shown);
    await until(() => site.verifications.outgoing().length === 1);
    expect(site.verifications.outgoing()).toMatchObject([{ action: 'dispatch', contactId: 7, isShown: false }]);
  });

  it('is told once more when the service has spoken', async () => {
    const site = await rig();
    await site.ask();
    const replies = await site.answer('dispatch');
    await until(() => site.verifications.outgoing().length === 1);
    const [out] = site.verifications.outgoing();
    if (out !== undefined) site.verifications.settle(out, { fate: 'gone', reason: '404' });
    await until(() => replies.length === 2);
    expect(replies[1]).toMatchObject({ outcome: 'failed', final: true, error: { code: 'VERIFICATION_GONE' } });
    const audit = await site.store.audit({ limit: 10 });
    expect(audit[0]).toMatchObject({ action: 'verification_dispatch', outcome: 'failed', reason: 'VERIFICATION_GONE' });
  });
});

describe('a store that cannot be read', () => {
  it('at the start is asked again; meanwhile nothing is taken that could be lost', { timeout: 20_000 }, async () => {
    const one = await rig();
    await one.ask();
    await one.end();
    const two = await rig({ dir: one.dir, clock: one.clock, fails: true });
    expect(two.verifications.health()).toMatchObject({ state: 'degraded' });
    await expect(two.ask()).rejects.toSatisfy((error) => isCode(error, 'store_unavailable'));
    two.so.fails = false;
    await until(() => two.state() === 'open');
    expect(two.verifications.health()).toEqual({ state: 'ok', facts: { open: 1 } });
  });

  it('and gives records back later, as a salvage does, has them taken', { timeout: 20_000 }, async () => {
    const one = await rig();
    await one.ask();
    const rows = await one.store.verifications();
    const two = await rig();
    expect(two.verifications.list()).toEqual([]);
    await two.store.commit({ rows: [], arming: [], inputs: [], verifications: rows });
    await until(() => two.state() === 'open');
    expect(two.verifications.list()).toEqual(one.verifications.list());
  });

  it('with one broken record gives the others', async () => {
    const one = await rig();
    await one.ask();
    await one.store.commit({
      rows: [],
      arming: [],
      inputs: [],
      verifications: [{ id: 'x', at: 1, record: '{"version":7}' }],
    });
    await one.end();
    const two = await rig({ dir: one.dir, clock: one.clock });
    expect(two.verifications.list()).toMatchObject([{ verification_id: id }]);
  });
});
