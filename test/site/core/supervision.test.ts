import { expect, it } from 'vitest';
import { adoptPlan, decide, type Input, readState, siteView, writeState } from '#site/core/index.ts';
import type { Signal, SupervisionPlan } from '#site/model/index.ts';
import { armed, house, link, stamp, type World, world } from './world.ts';

const minute = 60_000;
const supervision: SupervisionPlan = {
  reportAfterMs: { cloud: 195_000, broker: 10_000, panel: 10_000, camera: 30_000, acLoss: 0 },
  unstable: { changes: 3, windowMs: 10 * minute, quietMs: 10 * minute },
};
const plan = house({ supervision });
const bridge = { kind: 'bridge', id: 'siteward' } as const;

const cloud = (up: boolean, more: Partial<Signal> = {}): Signal =>
  ({
    kind: 'trouble',
    source: bridge,
    trouble: 'comm_fail',
    active: !up,
    detail: up ? 'open' : 'no route',
    replay: false,
    ...more,
  }) as Signal;

const shown = (self: World) =>
  siteView(self.plan, self.state, stamp(self.ms), { epoch: 1, seq: 0 }).troubles.map(({ kind, losses }) =>
    losses === undefined ? kind : `${kind} ${losses}`,
  );

/** The troubles of the world's whole log. */
const told = (self: World) => self.events(self.log).filter((event) => event.class === 'trouble');
const words = (self: World) => told(self).map(({ kind, status }) => `${kind} ${status}`);

/** Ends the daemon and starts it again from what was on disk; `ms` is how long it was away. */
function restart(self: World, ms: number, more: { boot?: string; mono?: number; wall?: number } = {}): void {
  const stored = readState(writeState(self.state));
  expect(stored).toEqual(self.state);
  self.ms += ms;
  const at = { ...stamp(self.ms, { clock: self.clock }), ...more };
  const input: Input = { kind: 'started', sameBoot: more.boot === undefined, storeLost: false, at };
  const decision = decide(self.plan, stored ?? self.state, input);
  self.state = decision.state;
  self.log.push(...decision.effects);
}

it('shows a lost cloud at once and reports it when it has lasted, with the time it began', () => {
  const self = world(plan);
  self.signal(cloud(false));
  expect(shown(self)).toEqual(['comm_fail']);
  self.pass(194_000);
  expect(told(self)).toEqual([]);
  self.pass(1_000);
  expect(told(self)).toMatchObject([
    { kind: 'comm_fail', status: 'active', contactId: '350', sia: 'YC', at: stamp(0), detail: 'no route' },
  ]);
  self.pass(minute);
  self.signal(cloud(true));
  expect(told(self).at(-1)).toMatchObject({ status: 'restored', sia: 'YK', evidence: [{ lasted_s: 255 }] });
  expect(told(self).at(-1)?.at).toBeUndefined();
  expect(shown(self)).toEqual([]);
  expect(Object.keys(self.state.timers)).toEqual([]);
});

it('reports at once what only a person can end, also when the line was lost before', () => {
  const self = world(plan);
  self.signal(cloud(false));
  self.pass(5_000);
  self.signal(cloud(false, { urgent: true, detail: 'refused' } as Partial<Signal>));
  expect(told(self)).toMatchObject([{ status: 'active', at: stamp(0), detail: 'refused' }]);
  self.pass(10 * minute);
  expect(told(self)).toHaveLength(1);
});

it('keeps a short outage in the history of the site only', () => {
  const self = world(plan);
  self.signal(cloud(false));
  self.pass(40_000);
  self.signal(cloud(true));
  self.pass(10 * minute);
  expect(self.events(self.log)).toMatchObject([
    { class: 'system', kind: 'short_outage', toCloud: false, at: stamp(0), detail: 'comm_fail, over after 40 s' },
  ]);
});

it.each([
  ['panel', { kind: 'panel', id: 'main' } as const, 'panel_offline', '333', 10_000],
  ['camera', { kind: 'camera', id: 'hall' } as const, 'device_offline', '380', 30_000],
  ['nvr', { kind: 'nvr', id: 'rack' } as const, 'device_offline', '380', 30_000],
])('%s: shown at once, reported with its time after its own delay', (_, source, kind, contactId, ms) => {
  const self = world(plan);
  self.signal(link(true, source));
  self.log.length = 0;
  self.pass(minute);
  self.signal(link(false, source));
  expect(shown(self)).toEqual([kind]);
  self.pass(ms - 1);
  expect(told(self)).toEqual([]);
  self.pass(1);
  expect(told(self)).toMatchObject([{ kind, status: 'active', contactId, at: stamp(minute) }]);
  self.signal(link(true, source));
  expect(words(self)).toEqual([`${kind} active`, `${kind} restored`]);
});

it('folds a link that flaps a thousand times into five rows and one for its end', () => {
  const self = world(plan);
  self.clock = 'doubtful';
  for (let i = 0; i < 1000; i += 1) {
    self.signal(link(false));
    self.pass(15_000);
    self.signal(link(true));
    self.pass(2_000);
  }
  expect(words(self)).toEqual([
    'panel_offline active',
    'panel_offline restored',
    'panel_offline active',
    'panel_offline restored',
    'panel_offline active',
  ]);
  expect(told(self).at(-1)).toMatchObject({ detail: expect.stringContaining('unstable'), evidence: [{ losses: 3 }] });
  expect(shown(self)).toEqual(['panel_offline 1000']);
  const quietFrom = self.ms - 2_000;
  self.pass(10 * minute);
  expect(told(self)).toHaveLength(6);
  expect(told(self).at(-1)).toMatchObject({
    status: 'restored',
    at: { mono: stamp(quietFrom).mono },
    evidence: [{ unstable: false, losses: 1000 }],
  });
  expect(shown(self)).toEqual([]);
  expect(self.state.timers).toEqual({});
});

it('sets few timers while a link flaps, so that the disk is not worn', () => {
  const self = world(plan);
  for (let i = 0; i < 1000; i += 1) {
    self.signal(link(false));
    self.signal(link(true));
    self.pass(100);
  }
  expect(self.log.filter(({ kind }) => kind === 'timer.set').length).toBeLessThan(8);
  expect(self.log.length).toBeLessThan(20);
});

it('tells a line that is lost and steady after it was unstable', () => {
  const self = world(plan);
  for (let i = 0; i < 5; i += 1) {
    self.signal(cloud(true));
    self.pass(1_000);
    self.signal(cloud(false));
    self.pass(1_000);
  }
  const lostAt = self.ms - 1_000;
  self.pass(20 * minute);
  expect(words(self)).toEqual(['comm_fail active', 'comm_fail active']);
  expect(told(self).at(-1)).toMatchObject({
    at: { mono: stamp(lostAt).mono },
    detail: expect.stringContaining('steady'),
  });
  expect(shown(self)).toEqual(['comm_fail']);
  self.signal(cloud(true));
  expect(words(self).at(-1)).toBe('comm_fail restored');
});

it('counts slow losses as losses of their own', () => {
  const self = world(plan);
  for (let i = 0; i < 6; i += 1) {
    self.signal(link(false));
    self.pass(minute);
    self.signal(link(true));
    self.pass(5 * minute);
  }
  expect(words(self)).toHaveLength(12);
});

it('tells a battery that hovers around its limit once a day', () => {
  const self = world(plan);
  const source = { kind: 'panel', id: 'main' } as const;
  const battery = (lowBattery: boolean) => self.signal({ kind: 'zone', source, zone: '2', lowBattery, replay: false });
  for (let hour = 0; hour < 47; hour += 1) {
    battery(true);
    self.pass(20 * minute);
    battery(false);
    self.pass(40 * minute);
  }
  expect(words(self)).toEqual(['sensor_battery active', 'sensor_battery restored']);
  battery(true);
  expect(shown(self)).toEqual(['sensor_battery']);
  self.pass(24 * 60 * minute);
  expect(words(self).at(-1)).toBe('sensor_battery active');
  expect(told(self)).toHaveLength(3);
});

it('never delays or drops an alarm of a camera that is covered again and again', () => {
  const self = armed(
    house({ supervision, cameras: [{ id: 'hall', name: 'hall', zone: '21', partitions: ['p1'], pictures: 'alarm' }] }),
  );
  let alarms = 0;
  for (let i = 0; i < 6; i += 1) {
    self.sees('hall', 'tamper');
    alarms += self.kinds().filter((kind) => kind === 'alarm:tamper:active').length;
    self.sees('hall', 'tamper', { active: false });
    self.pass(1_000);
  }
  expect(alarms).toBe(6);
});

it('lets fire through at once while its panel flaps', () => {
  const self = world(plan);
  for (let i = 0; i < 50; i += 1) {
    self.signal(link(false));
    self.signal(link(true));
  }
  self.open('10');
  expect(self.kinds()).toContain('alarm:fire:active');
});

it.each<[string, { boot?: string; mono?: number }]>([
  ['the daemon was killed', {}],
  ['the machine started again', { boot: 'boot-2', mono: 5_000 }],
])('a loss before %s is told with its own time, and its end when it is over', (_, more) => {
  const self = world(plan);
  self.signal(cloud(false));
  self.pass(100_000);
  restart(self, 600_000, more);
  self.log.length = 0;
  const timer = Object.values(self.state.timers)[0];
  expect(timer?.kind).toBe('lost');
  const at = { ...stamp(self.ms + 10_000), ...more, ...(more.mono === undefined ? {} : { mono: more.mono + 10_000 }) };
  const fired = decide(self.plan, self.state, { kind: 'timer.fired', timer: timer?.id ?? '', at } as Input);
  expect(fired.effects).toMatchObject([{ event: { kind: 'comm_fail', status: 'active', at: stamp(0) } }]);
  const over = decide(self.plan, fired.state, { kind: 'signal', signal: cloud(true), at } as Input);
  expect(over.effects).toMatchObject([{ event: { kind: 'comm_fail', status: 'restored' } }]);
});

it('a start restores nothing that was not heard', () => {
  const self = world(plan);
  self.signal(link(false));
  self.pass(minute);
  self.log.length = 0;
  restart(self, minute);
  self.pass(60 * minute);
  expect(told(self)).toEqual([]);
  expect(shown(self)).toEqual(['panel_offline']);
  self.signal(link(true));
  expect(words(self)).toEqual(['panel_offline restored']);
});

it('goes on being unstable over a restart', () => {
  const self = world(plan);
  for (let i = 0; i < 10; i += 1) {
    self.signal(link(false));
    self.signal(link(true));
  }
  self.log.length = 0;
  restart(self, minute);
  for (let i = 0; i < 10; i += 1) {
    self.signal(link(true));
    self.signal(link(false));
  }
  expect(told(self)).toEqual([]);
  self.signal(link(true));
  self.pass(11 * minute);
  expect(words(self)).toEqual(['panel_offline restored']);
  expect(told(self)[0]?.evidence).toMatchObject([{ losses: 20 }]);
});

it.each([
  ['1970', -1_800_000_000_000],
  ['a year ahead', 365 * 86_400_000],
])('a clock that is set to %s ends no trouble and moves no delay', (_, step) => {
  const self = world(plan);
  self.signal(cloud(false));
  self.pass(60_000);
  const at = (ms: number) => stamp(ms, { wall: stamp(ms).wall + step, clock: 'doubtful' });
  let state = self.state;
  const input = (more: Record<string, unknown>, ms: number) => {
    const decision = decide(plan, state, { at: at(ms), ...more } as Input);
    state = decision.state;
    return decision.effects;
  };
  const timer = 'lost:comm_fail|bridge:siteward|';
  expect(input({ kind: 'timer.fired', timer }, 194_000)).toMatchObject([{ kind: 'timer.set' }]);
  expect(input({ kind: 'timer.fired', timer }, 195_000).at(-1)).toMatchObject({
    event: { status: 'active', at: stamp(0) },
  });
  expect(input({ kind: 'signal', signal: cloud(true) }, 200_000)).toMatchObject([
    { event: { status: 'restored', evidence: [{ lasted_s: 200 }] } },
  ]);
});

it('ends the troubles of what is no longer in the plan, at a reload and at a start', () => {
  const self = world({ ...plan, panels: ['main'] });
  const source = { kind: 'panel', id: 'main' } as const;
  self.signal({ kind: 'zone', source, zone: '2', online: false, replay: false });
  for (const id of ['main', 'hall']) self.signal(link(false, { kind: id === 'main' ? 'panel' : 'camera', id }));
  for (let i = 0; i < 5; i += 1) for (const up of [true, false]) self.signal(link(up));
  self.pass(minute);
  self.signal(link(false, { kind: 'camera', id: 'yard' }));
  const next = { ...plan, panels: [], cameras: [], zones: plan.zones.filter(({ number }) => number !== '2') };
  const told = (input: Record<string, unknown>) => {
    const state = adoptPlan(next, self.state, stamp(self.ms));
    const { effects, state: after } = decide(next, state, { at: stamp(self.ms), ...input } as Input);
    expect(after.troubles).toEqual({});
    expect(after.watches).toEqual({});
    expect(Object.keys(after.timers)).toEqual([]);
    return effects.flatMap((effect) =>
      effect.kind === 'event' ? [`${effect.event.kind} ${effect.event.status}: ${effect.event.detail}`] : [],
    );
  };
  const ended = [
    'device_offline restored: no longer in the configuration',
    'panel_offline restored: no longer in the configuration',
    'supervision restored: zone 2 is no longer in the configuration',
  ];
  expect(told({ kind: 'replanned' }).sort()).toEqual(ended);
  expect(told({ kind: 'started', sameBoot: true, storeLost: false }).sort()).toEqual(ended);
});
