import fc from 'fast-check';
import { type BridgeNews, zoneTable } from '#site/core/index.ts';
import type { ClockQuality, Command, Signal, SitePlan } from '#site/model/index.ts';
import { anyCommand, anySignal, source } from '../../site/core/stories.ts';
import { edits } from './sites.ts';

/** What may happen to a site and to the machine that decides for it. */
export type Step =
  | { readonly do: 'signal'; readonly signal: Signal }
  /** `ageMs`: how long it was on its way; negative is from the future. */
  | { readonly do: 'command'; readonly command: SentCommand; readonly ageMs: number }
  /** A command from far, given before the last change that somebody made on the site. */
  | { readonly do: 'older'; readonly command: SentCommand }
  /** The command before the newest `nth` ones is sent once more, as it was. */
  | { readonly do: 'again'; readonly nth: number }
  /** Of the commands whose answer is kept (C2), the one before the newest `nth` is sent once more, as it was. */
  | { readonly do: 'repeat'; readonly nth: number }
  | { readonly do: 'news'; readonly news: BridgeNews }
  /** Time passes on every clock; timers that come due are fired on the way, and schedules look at the clock. */
  | { readonly do: 'pass'; readonly ms: number }
  /** A timer that is not due, or runs no more, is fired all the same. */
  | { readonly do: 'stray'; readonly timer: string }
  /** The wall clock is set: by so much, or to a moment. */
  | { readonly do: 'clock'; readonly byMs?: number; readonly to?: number; readonly clock: ClockQuality }
  /** Schedules look at the clock once more. */
  | { readonly do: 'tick' }
  | { readonly do: 'plan'; readonly edit: number }
  | Crash;

export type SentCommand = Omit<Command, 'issuedAt' | 'expiresAt'>;

/**
 * The process ends, at any write point: the newest `lost` decisions were not on disk, and of the newest `unanswered` ones nobody
 * had an answer. Whoever had none says it again: the broker a panel's message, a client its command.
 */
export interface Crash {
  readonly do: 'crash';
  readonly lost: number;
  readonly unanswered: number;
  readonly downMs: number;
  /** The machine itself was off. */
  readonly reboot: boolean;
  readonly clock: ClockQuality;
  /** The links come up, and devices tell what they stand at. */
  readonly resync: boolean;
  /** Nothing of the store is left. */
  readonly storeLost?: true;
}

const day = 86_400_000;
const clockStep: fc.Arbitrary<Step> = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(-day, day, -3_600_000, 3_600_000, 365 * day, -7, 90_000).map((byMs) => ({ byMs })),
      fc.constantFrom(40_000, 1_000_000_000).map((to) => ({ to })),
    ),
    fc.constantFrom<ClockQuality>('synced', 'holdover', 'doubtful'),
  )
  .map(([how, clock]) => ({ do: 'clock', ...how, clock }));

export const crash = (of: Partial<{ [K in keyof Crash]: fc.Arbitrary<Crash[K]> }> = {}): fc.Arbitrary<Crash> =>
  fc
    .record({
      do: fc.constant('crash' as const),
      lost: fc.nat(3),
      unanswered: fc.nat(3),
      downMs: fc.constantFrom(0, 3_000, 45_000, 3_600_000),
      reboot: fc.boolean(),
      clock: fc.constantFrom<ClockQuality>('synced', 'holdover', 'doubtful'),
      resync: fc.boolean(),
      ...of,
    })
    .map((one): Crash => ({ ...one, unanswered: one.lost + one.unanswered }));

const news: fc.Arbitrary<BridgeNews> = fc.oneof(
  fc.constantFrom('ok', 'low', 'full', 'failing').map((condition) => ({ kind: 'storage', condition }) as BridgeNews),
  fc.constant<BridgeNews>({ kind: 'loss', losses: [] }),
  fc.constant<BridgeNews>({ kind: 'arming.conflict', reason: 'waited', cloud: 'disarmed', local: 'armed' }),
  fc.record({
    kind: fc.constant('security_type' as const),
    securityType: fc.constantFrom(1, 2, 3, 4),
    by: fc.constantFrom('cloud', 'cli'),
    whileArmed: fc.boolean(),
  }),
);

const timers = ['exit:p1', 'exit:p2', 'entry:p1', 'abort:p1', 'confirm:p2', 'verify:p1', 'nothing', '__proto__'];

export const signals = (plan: SitePlan): fc.Arbitrary<Step> =>
  anySignal(plan).map((signal): Step => ({ do: 'signal', signal }));
/** Somebody turns a key, or what a key stood at is told from memory. */
const keys = (plan: SitePlan): fc.Arbitrary<Step> =>
  fc
    .record({
      zone: fc.constantFrom(
        ...plan.zones.filter(({ type }) => zoneTable[type].group === 'key').map(({ number }) => number),
      ),
      open: fc.boolean(),
      replay: fc.boolean(),
    })
    .map((turned): Step => ({ do: 'signal', signal: { kind: 'zone', source, ...turned } }));
/** Puts off what a schedule is about to do. */
const postpones: fc.Arbitrary<SentCommand> = anyCommand({
  verb: fc.constant('postpone'),
  partition: fc.constant('all'),
  schedule: fc.constantFrom('night', 'gap', 'nothing'),
  minutes: fc.constantFrom(1, 30, 500),
});
/** Leaves zones out, takes alarm memory back, begins and ends walk tests. */
const services: fc.Arbitrary<SentCommand> = fc
  .oneof(
    anyCommand({
      verb: fc.constantFrom('bypass', 'bypass', 'unbypass'),
      partition: fc.constant('all'),
      zone: fc.constantFrom('1', '2', '5', '10', '40', '99'),
      until: fc.constantFrom('disarm', 'cleared', undefined),
    }),
    anyCommand({ verb: fc.constant('bypass'), zone: fc.constantFrom('2', '5'), minutes: fc.constantFrom(1, 10) }),
    anyCommand({ verb: fc.constantFrom('clear_memory', 'end_test') }),
    anyCommand({ verb: fc.constant('test'), minutes: fc.constantFrom(1, 60) }),
  )
  .map(
    (command) => Object.fromEntries(Object.entries(command).filter(([, value]) => value !== undefined)) as SentCommand,
  );

export const commands: fc.Arbitrary<Step> = fc
  .tuple(
    fc.oneof(
      { weight: 12, arbitrary: anyCommand() },
      { weight: 1, arbitrary: postpones },
      { weight: 3, arbitrary: services },
    ),
    fc.constantFrom(0, 0, 0, 5_000, 70_000, 700_000, -40_000),
  )
  .map(([command, ageMs]): Step => ({ do: 'command', command, ageMs }));
export const passes: fc.Arbitrary<Step> = fc
  .constantFrom(100, 1_000, 29_000, 60_000, 200_000, 900_000)
  .map((ms): Step => ({ do: 'pass', ms }));

export const anyStep = (plan: SitePlan): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 12, arbitrary: signals(plan) },
    { weight: 4, arbitrary: keys(plan) },
    { weight: 10, arbitrary: commands },
    { weight: 8, arbitrary: passes },
    { weight: 2, arbitrary: clockStep },
    { weight: 2, arbitrary: crash() },
    { weight: 1, arbitrary: fc.constantFrom(...timers).map((timer): Step => ({ do: 'stray', timer })) },
    { weight: 1, arbitrary: fc.nat(edits.length - 1).map((edit): Step => ({ do: 'plan', edit })) },
    { weight: 2, arbitrary: fc.nat(3).map((nth): Step => ({ do: 'again', nth })) },
    { weight: 1, arbitrary: fc.constant<Step>({ do: 'tick' }) },
    { weight: 1, arbitrary: news.map((one): Step => ({ do: 'news', news: one })) },
    {
      weight: 1,
      arbitrary: crash({ storeLost: fc.constant(true) }),
    },
  );

/** Every device is there and every zone is closed. */
export const calmHouse = (plan: SitePlan): readonly Step[] => [
  { do: 'signal', signal: { kind: 'link', source, layer: 'bridge', up: true } },
  ...plan.cameras.map(
    ({ id }): Step => ({
      do: 'signal',
      signal: { kind: 'link', source: { kind: 'camera', id }, layer: 'device', up: true },
    }),
  ),
  ...plan.zones
    .filter((zone) => zone.source.kind === 'panel')
    .map(
      ({ number }): Step => ({
        do: 'signal',
        signal: { kind: 'zone', source, zone: number, open: false, replay: false },
      }),
    ),
];

const person = { partition: 'all', source: 'lan', client: 'keypad', actor: 'anna', code: 'ok' } as const;
export const arms: Step = {
  do: 'command',
  command: { ...person, id: 'first', verb: 'arm', mode: 'away', force: true, skipExitDelay: true, bodyHash: 'first' },
  ageMs: 0,
};

/** A third begins with nothing heard, a third with a quiet house, a third with one that is armed. */
export const storyOf = (plan: SitePlan, step: fc.Arbitrary<Step> = anyStep(plan)): fc.Arbitrary<readonly Step[]> =>
  fc
    .tuple(fc.nat(2), fc.array(step, { minLength: 5, maxLength: 25, size: 'max' }))
    .map(([begins, steps]): readonly Step[] => [
      ...(begins > 0 ? calmHouse(plan) : []),
      ...(begins > 1 ? [arms] : []),
      ...steps,
    ]);
