import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Settings } from '#config/index.ts';
import { fakeSite } from '#lan/mqtt/site-port.fake.ts';
import { never } from '#lib/wait.ts';
import type { Controller } from '#site/controller.ts';
import type { AuditDraft, SiteView } from '#site/model/index.ts';
import { dangerPort } from '../../src/daemon/danger-port.ts';
import type { House } from '../../src/daemon/house.ts';
import type { OutboxCount } from '../../src/daemon/outbox-count.ts';

/** What is refused, and what an end that is asked for depends on. The end itself: test/proof/factory-reset.test.ts. */

let dir: string;
let site: ReturnType<typeof fakeSite>;
let view: SiteView;
/** As soon as the next start would reset. */
let atMark: SiteView;
let isRunning: boolean;
let cloud: object | undefined;
let pending: number;
let cloudUp: boolean;
let variables: Record<string, string>;
let wall: number;
let ended: ReturnType<typeof vi.fn<() => void>>;
let audit: AuditDraft[];
let lines: string[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-danger-'));
  mkdirSync(join(dir, 'state'));
  writeFileSync(join(dir, 'siteward.yaml'), text);
  site = fakeSite();
  site.setPlan({ partitions: [{ id: 'p1', name: 'Offices', authority: 'siteward' }] as never });
  [view, atMark] = [standing('disarmed'), standing('disarmed')];
  [cloud, pending, cloudUp, isRunning, wall] = [undefined, 0, true, true, Date.UTC(2026, 10, 29, 12)];
  variables = { INVOCATION_ID: '5f3b2c0d' };
  [ended, audit, lines] = [vi.fn(), [], []];
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const text = 'site: { id: "1", external_id: hq, timezone: Europe/Berlin }\nbridge: { external_id: sw-1 }\n';
const by = { source: 'lan', client: 'account:ines', address: '192.0.2.99' } as const;
const marker = () => join(dir, 'state', 'factory-reset.json');
const standing = (state: string, more: object = {}, alarms: object = {}): SiteView => ({
  ...site.view(),
  partitions: [{ id: 'p1', state, stale: false, at: 0, ...more } as never],
  alarms: alarms as never,
});

function port() {
  const house = {
    ...(isRunning && { controller: { view: () => (existsSync(marker()) ? atMark : view) } as unknown as Controller }),
    cloudUp,
  } as House;
  return dangerPort({
    ...{ house, count: (async () => ({ pending: { panel: pending } })) as unknown as OutboxCount },
    settings: () =>
      ({
        site: { external_id: 'hq' },
        store: { dir: join(dir, 'state') },
        ...(cloud !== undefined && { cloud }),
      }) as unknown as Settings,
    config: () => ({ path: join(dir, 'siteward.yaml'), text, lastGood: false, warnings: [], error: undefined }),
    clock: { wall: () => wall },
    log: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
    note: async (entry) => void audit.push(entry),
    process: { variables, end: ended, signal: never },
  });
}
const restart = () => port().restart('hq', by);
const reset = (more: object = {}) =>
  port().factoryReset({ confirm: 'hq', even_undelivered: false, ...more }, by, never());

test.each([
  ['events wait', 3, true],
  ['the line is down', 0, false],
])('a reset that is refused because %s names the member that has it done all the same', async (_, count, isUp) => {
  [cloud, pending, cloudUp] = [{}, count, isUp];
  await expect(reset()).rejects.toMatchObject({ code: 'danger_refused', facts: { field: 'even_undelivered' } });
  view = standing('armed_away');
  await expect(reset({ even_undelivered: true })).rejects.not.toHaveProperty('facts.field');
});

const fire = { p1: [{ type: 'fire', state: 'active', zones: [] }] };
test.each<[string, () => SiteView, RegExp]>([
  ['a delay runs', () => standing('pending'), /delay/],
  ['it is being armed', () => standing('arming'), /delay/],
  ['burglars are there', () => standing('triggered'), /in alarm/],
  ['it burns', () => standing('disarmed', {}, fire), /in alarm/],
])('a restart waits while %s', async (_, look, words) => {
  view = look();
  await expect(restart()).rejects.toMatchObject({ code: 'danger_refused', message: expect.stringMatching(words) });
  expect(audit).toEqual([expect.objectContaining({ action: 'restart', outcome: 'refused' })]);
});

test.each(['armed_away', 'unknown', 'disarmed'])('a restart is done while it is %s', async (state) => {
  view = standing(state, { stale: state === 'unknown' });
  await restart();
  await vi.waitFor(() => expect(ended).toHaveBeenCalledOnce(), 20_000);
});

test('a restart may be what brings back the controller', async () => {
  isRunning = false;
  await restart();
  await vi.waitFor(() => expect(ended).toHaveBeenCalledOnce(), 20_000);
});

test('one restart in five minutes, whoever asks and whichever process', async () => {
  await restart();
  wall += 60_000;
  await expect(restart()).rejects.toMatchObject({
    ...{
      code: 'danger_refused',
      message: 'siteward is restarted once in five minutes at most',
      facts: { retryAfterMs: 240_000 },
    },
  });
  // A clock that was set back holds up nothing.
  wall -= 3_600_000;
  await restart();
  wall += 300_000;
  const same = port();
  const [one, other] = await Promise.allSettled([same.restart('hq', by), same.restart('hq', by)]);
  expect([one.status, other.status].sort()).toEqual(['fulfilled', 'rejected']);
});

test.each([
  ['systemd before version 248', { INVOCATION_ID: 'a' }, true],
  ['systemd', { INVOCATION_ID: 'a', SYSTEMD_EXEC_PID: `${process.pid}` }, true],
  ['something that systemd started', { INVOCATION_ID: 'a', SYSTEMD_EXEC_PID: `${process.ppid}` }, false],
  ['somebody', {}, false],
] as const)('started by %s', async (_, set, starts) => {
  variables = { ...set };
  const asked = restart();
  if (starts) await asked;
  else await expect(asked).rejects.toMatchObject({ message: expect.stringContaining('not started by systemd') });
  const asksReset = reset();
  if (starts) {
    await asksReset;
    await vi.waitFor(() => expect(ended).toHaveBeenCalledTimes(2), 20_000);
  } else await expect(asksReset).rejects.toMatchObject({ message: expect.stringContaining('not started by systemd') });
});

test('a reset is taken back when somebody has armed while it was written down', async () => {
  atMark = standing('arming');
  const danger = port();
  await danger.factoryReset({ confirm: 'hq', even_undelivered: false }, by, never());
  expect(danger.isResetting()).toBe(true);
  await vi.waitFor(() => expect(danger.isResetting()).toBe(false), 20_000);
  await vi.waitFor(() => expect(audit).toHaveLength(2), 20_000);
  expect(existsSync(marker())).toBe(false);
  expect(ended).not.toHaveBeenCalled();
  expect(audit).toEqual([
    expect.objectContaining({ action: 'factory_reset', outcome: 'accepted' }),
    expect.objectContaining({ action: 'factory_reset', outcome: 'refused', reason: 'danger_refused' }),
  ]);
  expect(lines.join()).toContain('is not done');
});

test('a reset ends the process once it is written down', async () => {
  const danger = port();
  await danger.factoryReset({ confirm: 'hq', even_undelivered: false }, by, never());
  await vi.waitFor(() => expect(ended).toHaveBeenCalledOnce(), 20_000);
  expect([existsSync(marker()), danger.isResetting()]).toEqual([true, true]);
});
