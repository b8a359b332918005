import { cpSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import type { SchedulePlan, SitePlan } from '#site/model/index.ts';
import { arm, disarm, hour, minute, schedule, plan as schedules } from './core/schedule-world.ts';
import { plan, type Rig, startRig } from './rig.ts';

const ten = Date.parse('2026-11-27T22:00Z');
const night = schedule('night', '22:00', { ...arm, waitMs: 0 });
const morning = schedule('morning', '06:00', disarm);
const site = (listed: readonly SchedulePlan[] = [night, morning]): SitePlan => ({
  ...plan,
  partitions: plan.partitions.slice(0, 1),
  cameras: [],
  zones: plan.zones.map((zone) => ({ ...zone, cameras: [] })),
  schedules: schedules(listed, { timezone: 'UTC' }),
});

const rigs: Rig[] = [];
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.remove();
});

/** The controller with its real store, at this moment. */
async function at(wall: number, options: { dir?: string; boot?: string; plan?: SitePlan } = {}) {
  const clock = manualClock(wall);
  clock.bootId = options.boot ?? 'boot-1';
  const rig = await startRig({ plan: site(), ...options, clock });
  rigs.push(rig);
  await rig.open('1', false);
  await rig.controller.tick();
  const pass = async (ms: number) => {
    clock.advance(ms);
    await rig.controller.tick();
  };
  return { rig, clock, pass };
}

const kinds = (rig: Rig) => rig.events.map(({ kind }) => kind);

describe('a schedule and its store', () => {
  it('arms once, on disk, and not again after a restart', async () => {
    const first = await at(ten - minute);
    await first.pass(minute);
    expect(first.rig.state()).toBe('armed_away');
    expect(kinds(first.rig).filter((kind) => kind === 'armed_away')).toHaveLength(1);
    await first.rig.command({ verb: 'disarm' });
    await first.rig.stop();
    const second = await at(ten + 10 * minute, { dir: first.rig.dir });
    await second.pass(minute);
    expect([second.rig.state(), kinds(second.rig)]).toEqual(['disarmed', []]);
  });

  it('killed between the tick and its commit, it arms after the start; once', async () => {
    const { rig, clock } = await at(ten - minute);
    const disk = diskOf(rig);
    // The moment before the tick is what the disk still says.
    rig.hold = () => new Promise(() => undefined);
    clock.advance(minute);
    void rig.controller.tick();
    expect(rig.state()).toBe('armed_away');
    expect(kinds(rig)).not.toContain('armed_away');

    const second = await at(ten + minute, { dir: disk, boot: 'boot-2' });
    expect(second.rig.state()).toBe('armed_away');
    expect(kinds(second.rig).filter((kind) => kind === 'armed_away')).toHaveLength(1);
    await second.rig.stop();
    const third = await at(ten + 2 * minute, { dir: disk, boot: 'boot-2' });
    expect([third.rig.state(), kinds(third.rig)]).toEqual(['armed_away', []]);
  });

  it('killed between the tick of a disarming and its commit, it stays armed where the machine started anew', async () => {
    const { rig, clock, pass } = await at(ten - minute);
    await pass(minute);
    for (let passed = 0; passed < 8 * 60 - 1; passed += 1) await pass(minute);
    const disk = diskOf(rig);
    rig.hold = () => new Promise(() => undefined);
    clock.advance(minute);
    void rig.controller.tick();
    expect(rig.state()).toBe('disarmed');

    const second = await at(ten + 8 * hour + 90_000, { dir: disk, boot: 'boot-2' });
    expect([second.rig.state(), kinds(second.rig)]).toEqual(['armed_away', ['schedule_not_run']]);
  });

  it('a day with ticks every ten seconds writes some hundred times, not thousands', async () => {
    const { rig, pass } = await at(ten - minute, { plan: site([schedule('never', '22:00', arm, { days: ['mon'] })]) });
    const before = rig.commits.length;
    for (let passed = 0; passed < 2 * 360; passed += 1) await pass(10_000);
    expect(rig.commits.length - before).toBeLessThanOrEqual(12);
  });

  it('a reload counts from its own moment: what it brings does not run for the past', async () => {
    const { rig, pass } = await at(ten + 30 * minute, { plan: site([morning]) });
    await rig.controller.reconfigure(site());
    await pass(minute);
    expect(rig.state()).toBe('disarmed');
    expect(rig.controller.nextRuns(2)).toMatchObject([
      { schedule: 'morning', at: ten + 8 * hour },
      { schedule: 'night', at: ten + 24 * hour },
    ]);
    await rig.controller.reconfigure({ ...site(), schedules: undefined } as never);
    await pass(minute);
    expect(rig.controller.nextRuns(2)).toEqual([]);
  });
});

/** A copy of the disk as a power cut would leave it now. */
function diskOf(rig: Rig): string {
  const copy = mkdtempSync(join(tmpdir(), 'siteward-schedule-'));
  cpSync(rig.dir, copy, { recursive: true });
  return copy;
}

describe('a clock that is set', () => {
  it.each([
    ['a year ahead', 365 * 24 * hour],
    ['to 1970', 60_000 - ten],
  ])('%s for a while and back: everything is done once', async (_, stepMs) => {
    const { rig, clock, pass } = await at(ten - minute);
    await pass(minute);
    clock.step(stepMs);
    for (let count = 0; count < 10; count += 1) await pass(10_000);
    clock.step(-stepMs);
    for (let count = 0; count < 10; count += 1) await pass(10_000);
    expect(kinds(rig).filter((kind) => kind.startsWith('armed') || kind === 'disarmed')).toEqual(['armed_away']);
    for (let passed = 0; passed < 24 * 60; passed += 1) await pass(minute);
    expect(kinds(rig).filter((kind) => kind.startsWith('armed') || kind === 'disarmed')).toEqual([
      'armed_away',
      'disarmed',
      'armed_away',
    ]);
  });
});
