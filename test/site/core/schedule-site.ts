import type { Effect } from '#site/core/index.ts';
import type { EventDraft, Holiday, SchedulePlan, SitePlan, Stamp } from '#site/model/index.ts';
import { arm, disarm, minute, plan, schedule } from './schedule-world.ts';
import { house, panelHouse, type World, world } from './world.ts';

/** The story of `world` begins on Friday 2027-01-15 at 08:00 UTC; here the site is there too. */
export const night = schedule('night', '08:10', { ...arm });
export const morning = schedule('morning', '09:00', { ...disarm });

export const clocked = (
  schedules: readonly SchedulePlan[] = [night, morning],
  more: Partial<SitePlan> & { holidays?: readonly Holiday[] } = {},
): SitePlan => {
  const { holidays = [], ...rest } = more;
  return house({ schedules: plan(schedules, { timezone: 'UTC', holidays }), ...rest });
};

export const clockedPanel = (schedules: readonly SchedulePlan[] = [night, morning]): SitePlan =>
  panelHouse({ schedules: plan(schedules, { timezone: 'UTC' }) });

/** A quiet site whose schedules have been seen. */
export function started(site: SitePlan = clocked()): World {
  const self = world(site);
  self.send({ kind: 'started', sameBoot: false, storeLost: false });
  hear(self);
  self.pass(3 * minute);
  tick(self);
  self.log.length = 0;
  return self;
}

/** Every device speaks, as after a start. */
export function hear(self: World): void {
  self.signal({ kind: 'link', source: { kind: 'panel', id: 'main' }, layer: 'bridge', up: true });
  for (const { id } of self.plan.cameras)
    self.signal({ kind: 'link', source: { kind: 'camera', id }, layer: 'device', up: true });
  for (const { number, source } of self.plan.zones) if (source.kind === 'panel') self.open(number, false);
}

export const tick = (self: World, at: Partial<Stamp> = {}): readonly Effect[] =>
  self.send({ kind: 'tick', ...(Object.keys(at).length > 0 && { at: { ...now(self), ...at } }) });

const now = (self: World): Stamp => ({
  mono: 1_000_000 + self.ms,
  wall: 1_800_000_000_000 + self.ms,
  boot: 'boot-1',
  clock: self.clock,
});

/** To so many minutes after the beginning, with the ticks on the way; what they caused. */
export function until(self: World, minutes: number): readonly Effect[] {
  const effects: Effect[] = [];
  while (self.ms < minutes * minute) {
    effects.push(...self.pass(Math.min(10_000, minutes * minute - self.ms)));
    effects.push(...tick(self));
  }
  return effects;
}

export const told = (self: World, effects: readonly Effect[], kind: string): readonly EventDraft[] =>
  self.events(effects).filter((event) => event.kind === kind);
