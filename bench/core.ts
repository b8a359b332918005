import {
  type Decision,
  decide,
  type Input,
  initialState,
  type SiteState,
  siteView,
  writeState,
} from '#site/core/index.ts';
import type { Command, Signal, SitePlan, Stamp, ZonePlan, ZoneType } from '#site/model/index.ts';
import { type Figure, type Measurement, percentile, rounded } from './figure.ts';

const zoneCount = 1000;
const warmRounds = 500;
const rounds = 3000;
const goalMs = 1;
const storeText = 'state as text for the store';
const lanView = 'view for the LAN';
const types: readonly ZoneType[] = ['perimeter', 'entry_exit_1', 'interior_follower', 'day_trouble', '24h_burglary'];
const panel = { kind: 'panel', id: 'main' } as const;

/** How long one decision takes, by kind of input. */
export const core: Measurement = {
  name: 'core',
  title: `Decisions of the core, ${zoneCount} zones`,
  about: `The pure function \`decide\` on a site with ${zoneCount} zones, 8 partitions and 16 cameras, ${rounds} inputs of each kind in turns on one
growing state, each checked to have done what its name says; then what the controller does around it with the whole site: the state as text for the store (once per
commit) and the picture for the LAN. The state is at its fullest: it remembers the answers to 1,000 commands (C2).`,
  remark: `p99 is mostly the machine: the same decision waits for a processor that does other work. The state goes into every commit
as a whole, so on a site of this size it is the dearest part of an event by far; on a usual site (32 zones, a few
commands) it is some KiB.`,
  async run(tell) {
    tell(`${rounds} rounds`);
    const plan = makePlan();
    const times = new Map<string, number[]>();
    let state = initialState(plan, stamp(0), { storeLost: false });
    for (const { number } of plan.zones) {
      const closed = { kind: 'zone', source: panel, zone: number, open: false, replay: false } as const;
      state = decide(plan, state, { kind: 'signal', signal: closed, at: stamp(0) }).state;
    }
    const timed = <T>(name: string, isCounted: boolean, work: () => T): T => {
      const began = performance.now();
      const result = work();
      const tookMs = performance.now() - began;
      if (isCounted) {
        const list = times.get(name) ?? [];
        list.push(tookMs);
        times.set(name, list);
      }
      return result;
    };
    for (let round = 0; round < warmRounds + rounds; round += 1) {
      const isCounted = round >= warmRounds;
      const at = stamp(round * 1000);
      for (const [name, input] of inputs(round, at, state)) {
        const decision = timed(name, isCounted, () => decide(plan, state, input));
        mustBeReal(name, decision);
        state = decision.state;
      }
      if (round % 10 !== 0) continue;
      timed(storeText, isCounted, () => writeState(state));
      timed(lanView, isCounted, () => siteView(plan, state, at, { epoch: 1, seq: round }));
    }
    const around = [storeText, lanView];
    const decisions = [...times].flatMap(([name, values]) => (around.includes(name) ? [] : [values]));
    const p99Ms = percentile(decisions.flat(), 0.99);
    const dearestMs = Math.max(...decisions.map((values) => percentile(values, 0.99)));
    const figures = [...times].flatMap(([name, values]): Figure[] => [
      { name: `${name}, median`, value: rounded(percentile(values, 0.5) * 1000), unit: 'µs' },
      { name: `${name}, p99`, value: rounded(percentile(values, 0.99) * 1000), unit: 'µs' },
    ]);
    const stateKiB = rounded(writeState(state).length / 1024);
    return [
      ...figures,
      { name: `${storeText}, size`, value: stateKiB, unit: 'KiB' },
      { name: 'any decision, p99', value: rounded(p99Ms), unit: 'ms', goal: `under ${goalMs} ms`, met: p99Ms < goalMs },
      {
        ...{ name: 'the dearest kind of decision, p99', value: rounded(dearestMs), unit: 'ms' },
        ...{ goal: `under ${goalMs} ms`, met: dearestMs < goalMs },
      },
    ];
  },
};

/** A measurement of something else than its name says is worse than none. */
function mustBeReal(name: string, { effects }: Decision): void {
  const isReal = {
    'command arm': () => effects.some((effect) => effect.kind === 'reply' && effect.result.outcome === 'done'),
    'command disarm': () => effects.some((effect) => effect.kind === 'reply' && effect.result.outcome === 'done'),
    'zone opens, alarm': () => effects.some((effect) => effect.kind === 'event' && effect.event.class === 'alarm'),
    'zone closes, restore': () =>
      effects.some((effect) => effect.kind === 'event' && effect.event.status === 'restored'),
  }[name];
  if (isReal?.() === false) throw new Error(`"${name}" was not what it should be: ${JSON.stringify(effects)}`);
}

function inputs(round: number, at: Stamp, state: SiteState): (readonly [string, Input])[] {
  // Zones of p1 are left alone: an alarm of theirs would keep it from being armed.
  const pick = (type: number) => String(((round * 5) % (zoneCount - 25)) + 20 + type);
  const signal = (name: string, given: Signal) => [name, { kind: 'signal', signal: given, at }] as const;
  const zone = (number: string, open: boolean) =>
    ({ kind: 'zone', source: panel, zone: number, open, replay: false }) as const;
  const armed = state.partitions.p1?.state !== 'disarmed';
  const timer = Object.values(state.timers).find(({ due }) => due.mono <= at.mono)?.id;
  return [
    signal('zone opens, nothing armed', zone(pick(1), true)),
    signal('zone closes, nothing armed', zone(pick(1), false)),
    signal('zone opens, alarm', zone(pick(5), true)),
    signal('zone closes, restore', zone(pick(5), false)),
    signal('camera detection', {
      kind: 'detection',
      source: { kind: 'camera', id: `cam${(round % 16) + 1}` },
      detection: 'person',
      active: round % 32 < 16,
      pulse: false,
      replay: false,
      topic: 'tns1:RuleEngine/PersonDetector/People',
    }),
    signal('trouble', {
      kind: 'trouble',
      source: panel,
      trouble: 'ac_loss',
      active: round % 2 === 0,
      replay: false,
    }),
    signal('panel link', { kind: 'link', source: panel, layer: 'bridge', up: round % 100 !== 99 }),
    [armed ? 'command disarm' : 'command arm', { kind: 'command', command: command(armed, round, at), at }],
    ...(timer === undefined ? [] : [['timer', { kind: 'timer.fired', timer, at }] as const]),
  ];
}

const command = (armed: boolean, round: number, at: Stamp): Command => ({
  id: `c${round}`,
  verb: armed ? 'disarm' : 'arm',
  partition: 'p1',
  ...(armed ? {} : { mode: 'away', force: true }),
  issuedAt: at.wall,
  source: 'lan',
  client: 'keypad',
  actor: 'anna',
  code: 'ok',
  bodyHash: `h${round}`,
});

const stamp = (ms: number): Stamp => ({
  mono: 1_000_000 + ms,
  wall: 1_795_896_000_000 + ms,
  boot: '00000000-0000-4000-8000-000000000001',
  clock: 'synced',
});

function makePlan(): SitePlan {
  return {
    siteId: 'bench',
    securityType: 3,
    partitions: Array.from({ length: 8 }, (_, index) => ({
      id: `p${index + 1}`,
      name: `Part ${index + 1}`,
      authority: 'engine',
      exitDelayMs: 500,
      entryDelayMs: 30_000,
      abortDelayMs: 15_000,
      cancelWindowMs: 300_000,
      confirmationMs: 1_800_000,
      exitRestart: true,
      autoStay: true,
    })),
    zones: Array.from(
      { length: zoneCount },
      (_, index): ZonePlan => ({
        number: String(index + 1),
        name: `Zone ${index + 1}`,
        type: types[index % types.length] ?? 'perimeter',
        // Zones of p1 are few, so that an alarm elsewhere does not keep it from being armed and disarmed.
        partitions: [index < 20 ? 'p1' : `p${(index % 7) + 2}`],
        source: panel,
        cameras: [`cam${(index % 16) + 1}`],
        detections: [],
      }),
    ),
    cameras: Array.from({ length: 16 }, (_, index) => ({
      id: `cam${index + 1}`,
      name: `Camera ${index + 1}`,
      partitions: ['p2'],
      pictures: 'alarm',
    })),
    // Every rule is on, but no zone is ever shut: each opening is to be an alarm.
    swingerTrips: 1_000_000,
    crossZones: Array.from({ length: 64 }, (_, index) => ({
      zones: [String(index * 5 + 1), String(index * 5 + 3)],
      windowMs: 60_000,
    })),
    media: { snapshots: 3, intervalMs: 2000, maxPerEvent: 6 },
    disarmNeedsCode: true,
    confirmMs: 10_000,
    signalRestores: false,
  };
}
