import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { activityLog } from '#cloud/contract/index.ts';
import type { Settings } from '#config/index.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import { fakeSite } from '#lan/mqtt/site-port.fake.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { systemClock } from '#lib/clock.ts';
import type { Controller } from '#site/controller.ts';
import type { AuditRecord, CodeCheck, Command, PartitionState, SiteView, ZonePlan } from '#site/model/index.ts';
import { openStore, type Store } from '#site/store/index.ts';
import type { Users } from '#site/users/index.ts';
import { cloudPathsPort, pictureOf } from '../../src/daemon/cloud-paths-port.ts';
import { siteActivity } from '../../src/daemon/site-activity.ts';
import { takenPictures } from '../../src/daemon/taken-pictures.ts';
import { quiet } from '../cloud/support.ts';

const zone = (number: string, type: ZonePlan['type']): ZonePlan => ({
  ...{ number, name: `Zone ${number}`, type, partitions: ['p1'], cameras: [], detections: [] },
  source: { kind: 'panel', id: 'main' },
});

describe('a partition in the two words of the contract', () => {
  function shown(state: Partial<PartitionState>, authority: 'engine' | 'panel' | 'external' = 'engine') {
    const site = fakeSite();
    site.setPlan({ zones: [zone('1', 'perimeter'), zone('2', 'panic_silent')] });
    const view = site.view();
    const [one] = view.partitions;
    const [plan] = view.plan.partitions;
    if (one === undefined || plan === undefined) throw new Error('no partition');
    const now: SiteView = {
      ...view,
      partitions: [{ ...one, state: 'disarmed', mode: null, stale: false, ...state }],
      ready: { [plan.id]: true },
      leftOut: { [plan.id]: ['1', '2'] },
    };
    return pictureOf(now, { ...plan, authority });
  }

  test.each<[string, Partial<PartitionState>, 'armed' | 'disarmed' | undefined]>([
    ['disarmed', {}, 'disarmed'],
    ['in the exit delay', { state: 'arming', mode: 'away' }, 'armed'],
    ['armed', { state: 'armed_night', mode: 'night' }, 'armed'],
    ['in the entry delay', { state: 'pending', mode: 'away' }, 'armed'],
    ['in alarm', { state: 'triggered', mode: 'home' }, 'armed'],
    ['disarmed with a fire', { state: 'triggered', mode: null }, 'disarmed'],
    ['armed when it was heard last', { state: 'armed_away', mode: 'away', stale: true }, 'armed'],
    ['disarmed when it was heard last', { stale: true }, undefined],
    ['not known', { state: 'unknown' }, undefined],
  ])('%s', (_, state, status) => {
    expect(shown(state).status).toBe(status);
  });

  test('an alarm of a panel without a mode, and an entry delay without one, are no disarm (safety 2)', () => {
    expect(shown({ state: 'triggered', mode: null }, 'panel').status).toBeUndefined();
    expect(shown({ state: 'pending', mode: null }, 'panel').status).toBeUndefined();
  });

  test('is ready where it can be armed from here, and names no zone of a silent hold-up (safety 4)', () => {
    expect(shown({})).toEqual({ status: 'disarmed', ready: true, bypassed_zones: ['1'] });
    expect(shown({ state: 'triggered', mode: 'away' }).ready).toBe(false);
    expect(shown({ state: 'unknown' }).ready).toBe(false);
    expect(shown({}, 'external').ready).toBe(false);
  });
});

/** A site that takes whatever it is given, except zone 3. */
function portWith(check: CodeCheck) {
  const given: Command[] = [];
  const site = fakeSite();
  site.setPlan({ zones: [...'1234567'].map((number) => zone(number, 'perimeter')) });
  const controller = {
    view: site.view,
    submit(command: Command, reply: Parameters<Controller['submit']>[1]) {
      given.push(command);
      const isRefused = command.zone === '3';
      const error = { code: 'NOT_ALLOWED' as const, field: 'zone', zones: ['3'] };
      reply({
        ...{ commandId: command.id, at: 0, final: true, outcome: isRefused ? 'refused' : 'done' },
        ...(isRefused && { error }),
      });
    },
  } as unknown as Controller;
  const codes = { check: async () => check } as unknown as Users;
  const port = cloudPathsPort({
    house: { controller, codes },
    settings: () =>
      ({
        site: { id: '4711', external_id: 'hq' },
        partitions: [{ id: 'p1', cloud_id: '990-1' }],
        cameras: [],
        nvrs: [],
        speakers: [],
      }) as unknown as Settings,
    audio: fakeLanPort().audio,
    dispatcher: () => undefined,
    clock: manualClock(),
    note: async () => undefined,
    metrics: new Registry(),
  });
  const by = { source: 'lan', client: 'key:k1', address: '192.0.2.7' } as const;
  const { signal } = new AbortController();
  return {
    given,
    bypass: (zones: readonly string[], code?: string) =>
      port.bypass({ partition: 'p1', zones, ...(code !== undefined && { code }) }, by, signal),
    arm: () => port.command({ verb: 'arm', partition: 'p1' }, by, signal),
    port,
  };
}

describe('a command over the paths of the cloud', () => {
  test('is one of the key that gave it, away, and new each time', async () => {
    const { given, arm } = portWith({ code: 'none' });
    await arm();
    await arm();
    const one = { verb: 'arm', mode: 'away', partition: 'p1', source: 'lan', client: 'key:k1', isProven: true };
    expect(given).toMatchObject([one, one]);
    expect(new Set(given.map(({ id }) => id)).size).toBe(2);
  });

  test('knows a partition by its own id and by that of the service', async () => {
    const { given, port } = portWith({ code: 'none' });
    expect(['p1', '990-1', '990-2'].map(port.isPartition)).toEqual([true, true, false]);
    const by = { source: 'lan', client: 'key:k1' } as const;
    await port.command({ verb: 'arm', partition: '990-1' }, by, new AbortController().signal);
    expect(given).toMatchObject([{ verb: 'arm', partition: 'p1' }]);
    expect(port.partition('990-1')).toEqual(port.partition('p1'));
  });

  test('zones are left out one after the other until one is refused; the rest is named', async () => {
    const { given, bypass } = portWith({ code: 'ok', actor: 'anna', role: 'owner' });
    expect(await bypass(['2', '3', '4', '4'], '2580')).toEqual({
      kind: 'given',
      answer: {
        outcome: 'refused',
        error: { code: 'NOT_ALLOWED', field: 'zone', zones: [{ number: '3', name: 'Zone 3' }] },
      },
      left: ['3', '4'],
    });
    expect(given.map(({ verb, zone: number }) => [verb, number])).toEqual([
      ['bypass', '2'],
      ['bypass', '3'],
    ]);
  });

  test('nothing is done for a zone that is none, nor for more than five without a code (C8)', async () => {
    const { given, bypass } = portWith({ code: 'none' });
    expect(await bypass(['1', '9'])).toEqual({ kind: 'unknown_zone', place: 1 });
    expect(await bypass([...'124567'])).toEqual({ kind: 'too_many', most: 5 });
    expect(given).toEqual([]);
    expect(await bypass([...'12456'])).toMatchObject({ answer: { outcome: 'done' }, left: [] });
  });

  test('one duress code calls for help once, however many zones it leaves out', async () => {
    const { given, bypass } = portWith({ code: 'duress', actor: 'anna', role: 'owner' });
    await bypass([...'124567'], '2581');
    expect(given.map(({ code }) => code)).toEqual(['duress', 'ok', 'ok', 'ok', 'ok', 'ok']);
  });

  test('where the configuration names no way to the service, nobody is called', async () => {
    const { port } = portWith({ code: 'none' });
    const { signal } = new AbortController();
    const by = { source: 'lan', client: 'key:k1' } as const;
    expect(await port.dispatch({ reason: 'glass break' }, by, signal)).toEqual({ kind: 'not_configured' });
  });
});

describe('pictures that were taken', () => {
  test('are found for two minutes; the oldest give way, by number and by size', async () => {
    const clock = manualClock();
    const metrics = new Registry();
    const pictures = takenPictures({ clock, metrics });
    const jpeg = (bytes: number) => new Uint8Array(bytes);
    const first = pictures.keep(jpeg(1));
    expect(first).toMatch(/^[\w-]{32}$/);
    clock.advance(119_999);
    expect(pictures.find(first)).toEqual(jpeg(1));
    clock.advance(1);
    expect(pictures.find(first)).toBeUndefined();

    const many = Array.from({ length: 17 }, () => pictures.keep(jpeg(10)));
    expect(many.map((id) => pictures.find(id) !== undefined)).toEqual([false, ...Array(16).fill(true)]);
    const shown = await metrics.metrics();
    for (const line of ['siteward_lan_pictures 16', 'siteward_lan_pictures_dropped_total 1'])
      expect(shown.split('\n')).toContain(line);
    const large = pictures.keep(jpeg(16 * 1024 * 1024));
    expect(pictures.find(large)).toBeDefined();
    expect(many.filter((id) => pictures.find(id) !== undefined)).toEqual([]);
  });
});

describe('the audit log as an activity log', () => {
  const base = Date.UTC(2026, 10, 27);
  const entry = (seq: number, more: Partial<AuditRecord> = {}): AuditRecord => ({
    ...{ kind: 'command', source: 'lan', actor_ref: 'anna', target: 'p1', action: 'disarm', outcome: 'done', seq },
    ...{ at_wall: base + seq * 1000, at_mono: seq, clock: 'synced', epoch: 1 },
    ...more,
  });

  async function storeWith(entries: readonly AuditRecord[]): Promise<Store> {
    const dir = mkdtempSync(join(tmpdir(), 'siteward-site-activity-'));
    const store = openStore({ dir, clock: systemClock(), log: quiet, metrics: new Registry() });
    await store.start(new AbortController().signal);
    onTestFinished(async () => {
      await store.stop();
      rmSync(dir, { recursive: true, force: true });
    });
    for (let from = 0; from < entries.length; from += 60)
      await store.commit({ rows: [], arming: [], inputs: [], audit: entries.slice(from, from + 60) });
    return store;
  }

  test('is the same with and without silent entries, but for numbers that tell nothing (safety 4)', async () => {
    const open = [1, 2, 3].map((seq) => entry(seq));
    const plain = await siteActivity(await storeWith(open), {});
    const silent = entry(2, { action: 'duress', visibility: 'auditor' });
    const forced = await siteActivity(await storeWith(open.toSpliced(1, 0, silent)), {});
    const words = plain.map(({ activity_log_id: _, ...rest }) => rest);
    expect(forced.map(({ activity_log_id: _, ...rest }) => rest)).toEqual(words);
    expect(words[0]).toEqual({
      ...{ type: 'disarm', description: 'p1: done, by anna', created_at: '2026-11-27T00:00:03.000Z' },
    });
    for (const one of [...plain, ...forced]) expect(activityLog.parse(one)).toEqual(one);
    const gaps = forced
      .slice(1)
      .map(({ activity_log_id: id }, index) => Math.abs(id - (forced[index]?.activity_log_id ?? 0)));
    expect(Math.min(...gaps)).toBeGreaterThan(1000);
  });

  test('is told in pages and by time; the same entry has the same number again', async () => {
    const store = await storeWith(Array.from({ length: 130 }, (_, index) => entry(index + 1)));
    const all = await siteActivity(store, { limit: 1000 });
    expect(all).toHaveLength(130);
    expect(await siteActivity(store, {})).toEqual(all.slice(0, 100));
    expect(await siteActivity(store, { offset: 100 })).toEqual(all.slice(100));
    expect(await siteActivity(store, { offset: 7, limit: 2 })).toEqual(all.slice(7, 9));
    expect(await siteActivity(store, { offset: 1_000_000 })).toEqual([]);
    const span = { startDate: '2026-11-27T00:00:10Z', endDate: '2026-11-27T00:00:12' };
    expect((await siteActivity(store, span)).map(({ created_at }) => created_at)).toEqual([
      '2026-11-27T00:00:11.000Z',
      '2026-11-27T00:00:10.000Z',
    ]);
  });
});
