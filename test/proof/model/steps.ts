import { type Lane, lanes } from '#site/model/index.ts';
import { type Random, randomOf } from '../random.ts';

/** What can go wrong with a request on the events path, and what the sandbox is told to do. */
export const faults = {
  'server error': { status: 500 },
  'bad gateway': { status: 502 },
  pause: { status: 503, headers: { 'retry-after': '2' } },
  'too many': { status: 429, headers: { 'retry-after': '3' } },
  unauthorized: { status: 401 },
  forbidden: { status: 403 },
  refused: { status: 422 },
  'too large': { status: 413 },
  'other connection': { status: 421 },
  redirect: { status: 302, headers: { location: 'http://127.0.0.1:9/login' } },
  portal: { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>Please log in</html>' },
  garbage: { mode: 'garbage' },
  reset: { mode: 'reset' },
  'lost reply': { mode: 'reset', when: 'after' },
  late: { mode: 'delay', when: 'after', delay_ms: 150 },
} as const;
export type FaultName = keyof typeof faults;

/** Where a fault is planted. Pauses asked for elsewhere concern another origin or a single request. */
export const paths = { events: '/partner/v1/events', tokens: '/oauth/token', uploads: '/uploads/*' } as const;

export type Step =
  | {
      readonly do: 'put';
      readonly lane: Lane;
      readonly key: string;
      readonly media: boolean;
      readonly silent: boolean;
    }
  | { readonly do: 'burst'; readonly lanes: readonly Lane[]; readonly count: number }
  | { readonly do: 'cut'; readonly how: 'refused' | 'reset' }
  | { readonly do: 'restore' }
  | { readonly do: 'fault'; readonly on: keyof typeof paths; readonly fault: FaultName; readonly count: number }
  | { readonly do: 'clearFaults' }
  | { readonly do: 'revoke' }
  /** Everything is refused until at least one event is parked. */
  | { readonly do: 'park' }
  | { readonly do: 'retryParked' }
  | { readonly do: 'dropParked' }
  /** Time passes for box and cloud alike. */
  | { readonly do: 'skip'; readonly ms: number }
  /** The box's wall clock is wrong by so much from here on. */
  | { readonly do: 'clock'; readonly ms: number }
  | { readonly do: 'freeze'; readonly who: 'cloud' | 'box'; readonly puts: number }
  | { readonly do: 'kill' }
  | { readonly do: 'restart' }
  | { readonly do: 'restartCloud' }
  /** `at1970`: the machine has no clock of its own. */
  | { readonly do: 'power'; readonly at1970: boolean }
  | { readonly do: 'full' }
  | { readonly do: 'free' }
  /** A page of a file is zeroed while the box is down; `place` is its share of the file. */
  | { readonly do: 'corrupt'; readonly file: 'site' | 'bulk'; readonly place: number; readonly clean: boolean }
  /** The line is cut, nothing is put, and the files are watched over some failed tries. */
  | { readonly do: 'idle' };

export interface Plan {
  readonly seed: number;
  /** Needs a file system of its own, and with it root: power cuts and full disks. */
  readonly disk: boolean;
  /** Cap of `bulk.db`, bytes: so small that waiting activity has to give way, or the usual one. */
  readonly bulkBytes: number | undefined;
  readonly steps: readonly Step[];
}

const keys = ['p1', 'p2', 'p3'];

/** The same seed gives the same plan for ever: new kinds of steps go to the end of `kinds`. */
export function planOf(seed: number): Plan {
  const random = randomOf(seed);
  const disk = random.chance(0.5);
  const bulkBytes = random.chance(0.25) ? 256 * 1024 : undefined;
  const faultFree = random.chance(0.08);
  const length = random.whole(20, 45);
  const steps: Step[] = [];
  for (let n = 0; n < length; n += 1) steps.push(faultFree ? putting(random) : stepOf(random, disk));
  return { seed, disk, bulkBytes, steps };
}

function stepOf(random: Random, disk: boolean): Step {
  const kinds: readonly (readonly [weight: number, make: () => Step])[] = [
    [34, () => putting(random)],
    [6, () => ({ do: 'cut', how: random.pick(['refused', 'reset'] as const) })],
    [6, () => ({ do: 'restore' })],
    [12, () => faultOf(random)],
    [1, () => ({ do: 'clearFaults' })],
    [2, () => ({ do: 'revoke' })],
    [1.5, () => ({ do: 'park' })],
    [1.5, () => ({ do: 'retryParked' })],
    [0.7, () => ({ do: 'dropParked' })],
    [9, () => ({ do: 'skip', ms: random.pick([500, 1_000, 3_000, 5_000, 30_000, 61_000, 310_000, 1_000_000]) })],
    [2, () => ({ do: 'clock', ms: random.pick([0, 0, 3_000, -3_000, 86_400_000, -86_400_000]) })],
    [2, () => ({ do: 'freeze', who: random.pick(['cloud', 'box'] as const), puts: random.whole(1, 6) })],
    [5, () => ({ do: 'kill' })],
    [2, () => ({ do: 'restart' })],
    [0.7, () => ({ do: 'restartCloud' })],
    [disk ? 3 : 0, () => ({ do: 'power', at1970: random.chance(0.3) })],
    [disk ? 2.5 : 0, () => ({ do: 'full' })],
    [disk ? 2.5 : 0, () => ({ do: 'free' })],
    [
      1.6,
      () => ({
        do: 'corrupt',
        file: random.pick(['site', 'bulk'] as const),
        place: random.between(0, 1),
        clean: random.chance(0.5),
      }),
    ],
    [0.7, () => ({ do: 'idle' })],
  ];
  let at = random.between(
    0,
    kinds.reduce((sum, [weight]) => sum + weight, 0),
  );
  for (const [weight, make] of kinds) {
    if (at < weight) return make();
    at -= weight;
  }
  return putting(random);
}

function putting(random: Random): Step {
  if (random.chance(0.3)) {
    const mix = random.pick([lanes, ['activity'], ['alarm'], ['alarm', 'activity'], ['arming', 'trouble']] as const);
    return { do: 'burst', lanes: mix, count: random.whole(3, 40) };
  }
  return {
    do: 'put',
    lane: random.pick(lanes),
    key: random.pick(keys),
    media: random.chance(0.3),
    silent: random.chance(0.08),
  };
}

function faultOf(random: Random): Step {
  const on = random.pick(['events', 'events', 'events', 'events', 'tokens', 'uploads'] as const);
  // A place for pictures promises nothing about the body of its success: nobody can tell garbage from an answer.
  const left = { events: [], tokens: ['pause', 'too many'], uploads: ['pause', 'too many', 'garbage'] }[on];
  const names = (Object.keys(faults) as FaultName[]).filter((name) => !(left as readonly string[]).includes(name));
  return { do: 'fault', on, fault: random.pick(names), count: random.pick([1, 1, 1, 2, 3, 6]) };
}

export const keyOfBurst = (n: number): string => keys[n % keys.length] ?? 'p1';

/** One step as a person would write it down. */
export const textOf = ({ do: what, ...rest }: Step): string =>
  [what, ...Object.entries(rest).map(([name, value]) => `${name}=${String(value)}`)].join(' ');
