import type { Logger } from 'pino';
import { z } from 'zod';
import { SitewardError } from '#errors.ts';
import { type Backoff, backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { sha256 } from '#lib/digest.ts';
import { createTextKeeper } from '#lib/kept-text.ts';
import type { Memory } from '#site/store/index.ts';
import type { HeldDevice } from './types.ts';

/** One thing to be written: a device, a recorder, or that one is associated with the other. */
export interface Task {
  readonly key: string;
  readonly external_id: string;
  readonly kind: HeldDevice['kind'];
  /** What is asked, and what it changes: another one is another try. */
  readonly hash: string;
}

export const taskOf = (key: string, external_id: string, kind: HeldDevice['kind'], content: unknown): Task => ({
  key: `${key} ${external_id}`,
  external_id,
  kind,
  hash: sha256(JSON.stringify(content)),
});

export interface Failure {
  readonly status?: number;
  readonly message: string;
  /** How long the service wants to be left alone, milliseconds. */
  readonly retryAfterMs?: number;
  /** Whether it is not tried again by itself; where absent, its status tells. */
  readonly isForGood?: boolean;
}

interface Hold extends Failure {
  readonly task: Task;
  readonly reason: 'refused' | 'waiting';
  /** Monotonic; undefined: not before its content changes. */
  readonly due?: number;
  /** The same moment by the wall clock, milliseconds. */
  readonly dueWall?: number;
  readonly waits: Backoff;
  readonly vain: number;
}

/** What failed, and when it is tried again, kept over restarts. It holds no more than there is to be written. */
export interface Holds {
  /** Reads what was kept. What is of another site, or damaged, is nothing: it is tried again. Rejects where the store does not answer now. */
  load(): Promise<void>;
  /** Writes what has changed. Rejects when it could not. */
  keep(): Promise<void>;
  /** Forgets what there is not to be done any more, or has another content now; asked for before anything else of a look. */
  keepOnly(tasks: readonly Task[]): void;
  isHeld(task: Task): boolean;
  /** A 4xx stays until the content changes; what passes by itself is tried again, later each time. */
  failed(task: Task, failure: Failure): void;
  /** It was taken, and the cloud shows it otherwise. */
  vain(task: Task): void;
  /** Everything may be tried again. */
  release(): void;
  list(): readonly HeldDevice[];
  /** Monotonic moment of the next try. */
  nextDue(): number | undefined;
}

/** Tries of what is taken and never shown. */
const vainTries = 3;
const longestWaitMs = 900_000;
const passing: ReadonlySet<number> = new Set([404, 408, 425, 429]);
/** Of an item: what has no status was not answered. A 404 is settled by the next look at the list. */
const isLasting = ({
  status,
  isForGood = status !== undefined && status < 500 && !passing.has(status),
}: Failure): boolean => isForGood;

/** Kept over a restart, more than a site has devices and recorders; the first ones where there are more. */
const keptCap = 1_000;
const messageChars = 500;

const kept = z.strictObject({
  v: z.literal(1),
  held: z
    .array(
      z.strictObject({
        key: z.string(),
        external_id: z.string(),
        kind: z.enum(['device', 'nvr']),
        hash: z.string(),
        status: z.int().exactOptional(),
        message: z.string(),
        vain: z.int().nonnegative(),
        /** Wall clock of the next try, milliseconds; null: not before its content changes. */
        due: z.number().nullable(),
      }),
    )
    .max(keptCap),
});

export function createHolds(options: {
  readonly memory: Memory;
  /** Whose they are. */
  readonly of: string;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: () => number;
  /** Of the waits between tries, milliseconds. */
  readonly baseMs: number;
  readonly capMs: number;
}): Holds {
  const { clock, log } = options;
  const keeper = createTextKeeper({ memory: options.memory, key: 'held', of: options.of });
  const holds = new Map<string, Hold>();
  const { baseMs, capMs, random } = options;
  const newWaits = () => backoff({ baseMs, capMs, random, jitter: 'full' });
  const find = ({ key }: Task) => holds.get(key);

  function hold(task: Task, failure: Failure, { isForGood, vain }: { isForGood: boolean; vain: number }): void {
    const waits = find(task)?.waits ?? newWaits();
    const askedMs = Math.min(failure.retryAfterMs ?? 0, longestWaitMs);
    const waitMs = isForGood ? 0 : Math.max(askedMs, waits.next());
    holds.set(task.key, {
      ...failure,
      message: failure.message.slice(0, messageChars),
      ...{ task, waits, vain, reason: isForGood ? 'refused' : 'waiting' },
      ...(!isForGood && { due: clock.monotonic() + waitMs, dueWall: Math.round(clock.wall() + waitMs) }),
    });
  }

  function taken({ held }: z.output<typeof kept>): void {
    for (const { key, external_id, kind, hash, vain, due: dueWall, ...failure } of held) {
      const common = { ...failure, task: { key, external_id, kind, hash }, waits: newWaits(), vain };
      if (dueWall === null) holds.set(key, { ...common, reason: 'refused' });
      else {
        // A wall clock that was set meanwhile makes no wait longer than any.
        const leftMs = Math.min(Math.max(dueWall - clock.wall(), 0), longestWaitMs);
        holds.set(key, { ...common, reason: 'waiting', due: clock.monotonic() + leftMs, dueWall });
      }
    }
  }

  return {
    async load() {
      try {
        const found = await keeper.load();
        if (found !== undefined) taken(kept.parse(found));
      } catch (error) {
        // The store is away: what it has must not be written over by nothing.
        if (error instanceof SitewardError) throw error;
        log.warn({ err: error }, 'what the cloud refused of the devices cannot be read; it is tried again');
      }
    },
    keep: () =>
      keeper.keep({
        v: 1,
        held: [...holds.values()].slice(0, keptCap).map(({ task, status, message, vain, dueWall = null }) => ({
          ...task,
          ...(status !== undefined && { status }),
          ...{ message, vain, due: dueWall },
        })),
      } satisfies z.input<typeof kept>),
    keepOnly(tasks) {
      const open = new Map(tasks.map(({ key, hash }) => [key, hash]));
      for (const [key, { task }] of holds) if (open.get(key) !== task.hash) holds.delete(key);
    },
    isHeld(task) {
      const found = find(task);
      return found !== undefined && (found.due === undefined || found.due > clock.monotonic());
    },
    failed: (task, failure) => hold(task, failure, { isForGood: isLasting(failure), vain: find(task)?.vain ?? 0 }),
    vain(task) {
      const vain = (find(task)?.vain ?? 0) + 1;
      hold(task, { message: 'the cloud took it, and shows it otherwise' }, { isForGood: vain >= vainTries, vain });
    },
    release: () => holds.clear(),
    list: () =>
      [...holds.values()].map(({ task: { external_id, kind }, reason, status, message }) => ({
        external_id,
        kind,
        reason,
        ...(status !== undefined && { status }),
        message,
      })),
    nextDue() {
      const dues = [...holds.values()].flatMap(({ due }) => due ?? []);
      return dues.length === 0 ? undefined : Math.min(...dues);
    },
  };
}
