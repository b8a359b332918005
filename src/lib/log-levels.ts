import type { Logger } from 'pino';
import type { Clock } from './clock.ts';
import type { LogLevel } from './log.ts';
import { logLevels as inOrder } from './log.ts';

export interface LevelWish {
  /** Of every part. */
  readonly level?: LogLevel | undefined;
  readonly parts?: Readonly<Record<string, LogLevel>> | undefined;
}

export interface LevelsShown {
  readonly configured: LogLevel;
  /** What the parts log at, by their names. */
  readonly parts: readonly { readonly name: string; readonly level: LogLevel }[];
  /** Until it is as configured again, milliseconds; undefined while it is. */
  readonly leftMs: number | undefined;
}

/** What is logged: as the configuration says, or for a time more of all or some parts; never less. */
export interface LogLevels {
  /** The logger has the level of its part from now on. */
  follow(logger: Logger): void;
  configure(level: LogLevel): void;
  /** In place of what was wished before; ends by itself. An empty wish ends it now. */
  wish(wish: LevelWish, forMs: number): void;
  shown(): LevelsShown;
}

/** Names that are known at most; the parts of siteward are a few dozen. */
const partCap = 64;

/**
 * A logger made of another one keeps the level of that moment, so every one is held here, weakly, to be told. Those that
 * are gone are swept out whenever twice as many are held as lived at the last time.
 */
export function followLevels(options: {
  configured: LogLevel;
  clock: Pick<Clock, 'monotonic'>;
  /** The time of a wish is over. */
  onEnd: () => void;
}): LogLevels {
  const followers = new Set<{ readonly logger: WeakRef<Logger>; readonly part: string | undefined }>();
  const names = new Set<string>();
  let sweepAt = 64;
  let configured = options.configured;
  let wished: (LevelWish & { readonly untilMono: number }) | undefined;
  let timer: NodeJS.Timeout | undefined;

  function levelOf(part: string | undefined): LogLevel {
    const more = part === undefined ? undefined : wished?.parts?.[part];
    return mostOf(mostOf(configured, wished?.level), more);
  }

  function apply(): void {
    for (const follower of followers) {
      const logger = follower.logger.deref();
      if (logger === undefined) followers.delete(follower);
      else logger.level = levelOf(follower.part);
    }
    sweepAt = Math.max(64, followers.size * 2);
  }

  return {
    follow(logger) {
      const { part } = logger.bindings();
      const name = typeof part === 'string' ? part : undefined;
      if (name !== undefined && names.size < partCap) names.add(name);
      followers.add({ logger: new WeakRef(logger), part: name });
      logger.level = levelOf(name);
      if (followers.size > sweepAt) apply();
    },

    configure(level) {
      configured = level;
      apply();
    },

    wish({ level, parts }, forMs) {
      clearTimeout(timer);
      timer = undefined;
      const isEmpty = level === undefined && Object.keys(parts ?? {}).length === 0;
      wished = isEmpty ? undefined : { level, parts, untilMono: options.clock.monotonic() + forMs };
      apply();
      if (isEmpty) return;
      // Timers run by the monotonic clock.
      timer = setTimeout(() => {
        wished = undefined;
        apply();
        options.onEnd();
      }, forMs).unref();
    },

    shown: () => ({
      configured,
      parts: [...names].sort().map((name) => ({ name, level: levelOf(name) })),
      leftMs: wished === undefined ? undefined : Math.max(0, wished.untilMono - options.clock.monotonic()),
    }),
  };
}

/** The one of both that logs more. */
const mostOf = (one: LogLevel, other: LogLevel | undefined): LogLevel =>
  other !== undefined && inOrder.indexOf(other) > inOrder.indexOf(one) ? other : one;
