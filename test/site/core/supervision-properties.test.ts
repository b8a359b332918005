import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decide, type Input, initialState, readState, type SiteState, siteView, writeState } from '#site/core/index.ts';
import type { ClockQuality, EventDraft, Signal, SitePlan, Stamp } from '#site/model/index.ts';
import { house } from './world.ts';

const minute = 60_000;
const plan: SitePlan = house({
  supervision: {
    reportAfterMs: { cloud: 195_000, broker: 10_000, panel: 0, camera: 30_000, acLoss: 0 },
    unstable: { changes: 3, windowMs: 10 * minute, quietMs: 10 * minute },
  },
});

const panel = { kind: 'panel', id: 'main' } as const;
const conditions = {
  comm_fail: (active: boolean): Signal => ({
    kind: 'trouble',
    source: { kind: 'bridge', id: 'siteward' },
    trouble: 'comm_fail',
    active,
    replay: false,
  }),
  panel_offline: (active: boolean): Signal => ({ kind: 'link', source: panel, layer: 'bridge', up: !active }),
  device_offline: (active: boolean): Signal => ({
    kind: 'link',
    source: { kind: 'camera', id: 'hall' },
    layer: 'device',
    up: !active,
  }),
  supervision: (active: boolean): Signal => ({
    kind: 'zone',
    source: panel,
    zone: '2',
    online: !active,
    replay: false,
  }),
};
type Name = keyof typeof conditions;
const names = Object.keys(conditions) as Name[];

type Step =
  | { readonly what: 'is'; readonly name: Name; readonly active: boolean }
  | { readonly what: 'burst'; readonly name: Name; readonly times: number; readonly gapMs: number }
  | { readonly what: 'pass'; readonly ms: number }
  | { readonly what: 'clock'; readonly step: number; readonly quality: ClockQuality }
  | { readonly what: 'restart'; readonly boots: boolean; readonly awayMs: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ what: fc.constant('is' as const), name: fc.constantFrom(...names), active: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('burst' as const),
      name: fc.constantFrom(...names),
      times: fc.integer({ min: 3, max: 40 }),
      gapMs: fc.oneof(fc.nat(20_000), fc.nat(4 * minute)),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('pass' as const),
      ms: fc.oneof(fc.nat(5_000), fc.nat(4 * minute), fc.nat(15 * minute)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('clock' as const),
      step: fc.constantFrom(-1_800_000_000_000, -86_400_000, 86_400_000, 365 * 86_400_000),
      quality: fc.constantFrom<ClockQuality>('synced', 'doubtful', 'holdover'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('restart' as const), boots: fc.boolean(), awayMs: fc.nat(30 * minute) }),
  },
);

interface Told {
  readonly event: EventDraft;
  /** True time of the decision, and the run of the machine: across runs no clock need tell what was recent. */
  readonly ms: number;
  readonly boot: string;
}

/** A site whose true time never jumps, with clocks that do. */
class Site {
  ms = 0;
  state: SiteState;
  readonly told: Record<Name, Told[]> = { comm_fail: [], panel_offline: [], device_offline: [], supervision: [] };
  readonly active: Record<Name, boolean> = {
    comm_fail: false,
    panel_offline: false,
    device_offline: false,
    supervision: false,
  };
  #boot = 1;
  #bootMs = 0;
  #offset = 0;
  #quality: ClockQuality = 'synced';

  constructor() {
    this.state = initialState(plan, this.at(), { storeLost: false });
  }

  at(): Stamp {
    const wall = 1_800_000_000_000 + this.ms + this.#offset;
    return { mono: 1_000 + this.ms - this.#bootMs, wall, boot: `boot-${this.#boot}`, clock: this.#quality };
  }

  send(input: Record<string, unknown>): void {
    const { state, effects } = decide(plan, this.state, { at: this.at(), ...input } as Input);
    this.state = state;
    for (const effect of effects) {
      if (effect.kind !== 'event' || effect.event.class !== 'trouble') continue;
      const name = effect.event.kind as Name;
      this.told[name].push({ event: effect.event, ms: this.ms, boot: this.at().boot });
      if (effect.event.status === 'restored') expect(this.active[name]).toBe(false);
    }
    const shown = siteView(plan, this.state, this.at(), { epoch: 1, seq: 0 }).troubles.map(({ kind }) => kind);
    for (const one of names) if (this.active[one]) expect(shown).toContain(one);
  }

  is(name: Name, active: boolean): void {
    this.active[name] = active;
    this.send({ kind: 'signal', signal: conditions[name](active) });
  }

  pass(ms: number): void {
    const end = this.ms + ms;
    for (;;) {
      const { mono } = this.at();
      const due = Object.values(this.state.timers)
        .map(({ id, due }) => ({ id, ms: this.ms + Math.max(0, due.mono - mono) }))
        .filter((timer) => timer.ms <= end)
        .sort((a, b) => a.ms - b.ms)[0];
      if (due === undefined) break;
      this.ms = due.ms;
      this.send({ kind: 'timer.fired', timer: due.id });
    }
    this.ms = end;
  }

  run(step: Step): void {
    if (step.what === 'is') this.is(step.name, step.active);
    else if (step.what === 'pass') this.pass(step.ms);
    else if (step.what === 'burst') {
      for (let i = 0; i < step.times; i += 1) {
        this.is(step.name, !this.active[step.name]);
        this.pass(step.gapMs);
      }
    } else if (step.what === 'clock') {
      this.#offset += step.step;
      this.#quality = step.quality;
    } else this.#restart(step.boots, step.awayMs);
  }

  #restart(boots: boolean, awayMs: number): void {
    this.state = readState(writeState(this.state)) ?? initialState(plan, this.at(), { storeLost: true });
    this.ms += awayMs;
    if (boots) {
      this.#boot += 1;
      this.#bootMs = this.ms;
    }
    this.send({ kind: 'started', sameBoot: !boots, storeLost: false });
    // The adapters say how their links are; what was active before and is not told stays.
    for (const name of names) this.is(name, this.active[name]);
  }
}

it('whatever comes and goes: shown at once, never a false restore, in the end the truth, and few rows', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const site = new Site();
      for (const one of steps) site.run(one);
      site.pass(60 * minute);
      const shown = siteView(plan, site.state, site.at(), { epoch: 1, seq: 0 }).troubles.map(({ kind }) => kind);
      for (const name of names) {
        const told = site.told[name];
        expect(shown.includes(name)).toBe(site.active[name]);
        expect(told.at(-1)?.event.status ?? 'restored').toBe(site.active[name] ? 'active' : 'restored');
        expect(told[0]?.event.status ?? 'active').toBe('active');
        for (const [i, { event, ms, boot }] of told.entries()) {
          if (i > 0 && event.status === 'restored') expect(told[i - 1]?.event.status).toBe('active');
          expect(
            told.filter((other) => other.boot === boot && other.ms >= ms && other.ms < ms + 10 * minute).length,
          ).toBeLessThanOrEqual(8);
        }
      }
      expect(site.state.timers).toEqual({});
      for (const watch of Object.values(site.state.watches ?? {})) {
        expect(watch.waiting).toBeUndefined();
        expect(watch.unstable).toBeUndefined();
      }
    }),
    { numRuns: 600 },
  );
});
