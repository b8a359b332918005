import { sleep } from '#lib/wait.ts';
import type { Delivery } from '#site/model/index.ts';
import { type DriverFailure, type PlayContext, type Played, type Sound, SpeakerError } from '../driver.ts';
import type { PaceClock } from '../pace.ts';
import type { Exit, Player } from './child.ts';
import { checkPace, send, stallMs, within } from './fed.ts';

/** A local player is silent so long after an abort at the latest. */
export const localStopMs = 300;
/** So long a player may take to open its device. */
export const openMs = 3000;
/** Of the stop budget; a process the kernel does not let go of is not waited for longer. */
const killedMs = 200;

export interface Piped {
  /** Reads the samples from its input. */
  readonly player: Player;
  /** Resolves when its device is open; not one sample is sent before. */
  readonly ready: Promise<unknown>;
  /** Aborts with a SpeakerError when the player says that its device does not play. */
  readonly trouble: AbortSignal;
  readonly clock: PaceClock;
  /** Sent before the first sample. */
  readonly head?: Buffer;
  readonly delivered: Delivery;
  /** Why it ended: its exit code is never taken for a proof that something was heard. */
  readonly failure: (exit: Exit) => SpeakerError;
}

/**
 * Plays through the input of a player. It was heard where all samples were taken, the player ended well by itself, and not before the
 * sound's time. No process is left, however it ends.
 */
export async function playPiped(sound: Sound, context: PlayContext, piped: Piped): Promise<Played> {
  const { player, clock, ready, trouble, head, delivered, failure } = piped;
  const ended = new AbortController();
  const { gone } = player;
  void gone.then((exit) => ended.abort(failure(exit)));
  const signal = AbortSignal.any([context.signal, trouble, ended.signal]);
  try {
    await within(openMs, { clock, signal, what: 'the device does not open' }, ready);
    if (head !== undefined)
      await within(stallMs, { clock, signal, what: 'the player does not read' }, player.write(head));
    // A broken pipe is explained by the end of the player, which follows.
    const write = (bytes: Buffer) =>
      player.write(bytes).catch(() => gone.then(() => new Promise<never>(() => undefined)));
    const fed = await send({ sound, context, clock, write, trouble: signal });
    const lastsMs = Math.max(0, fed.endsAt - clock.now());
    player.end();
    // From here on an end of the player is what is waited for.
    const heard = AbortSignal.any([context.signal, trouble]);
    const exit = await within(lastsMs + stallMs, { clock, signal: heard, what: 'the device does not end' }, gone);
    if (exit.code !== 0) throw failure(exit);
    checkPace(sound, { endsAt: fed.endsAt, nowMs: clock.now() });
    return { samples: fed.samples, delivered };
  } finally {
    await endPlayer(player);
  }
}

/** In real time, whatever the clock. */
export async function endPlayer(player: Player): Promise<void> {
  player.kill();
  const over = new AbortController();
  await Promise.race([player.gone, sleep(killedMs, over.signal)]);
  over.abort();
}

type FailureRow = readonly [pattern: RegExp, failure: DriverFailure];

/** What the last words of a player say, by the first row that fits. `install` is for one that Debian has. */
export function failureOf(
  { code, killedBy, unstarted, words }: Exit,
  { program, install, rows = [] }: { program: string; install?: string; rows?: readonly FailureRow[] },
): SpeakerError {
  if (unstarted !== undefined) return notStarted(program, install, unstarted);
  const how = killedBy === null ? `ended with ${code}` : `was killed by ${killedBy}`;
  const said = words === '' ? how : `${how}: ${words}`;
  if (code === 0) return new SpeakerError('device_error', `${program} ${said} before the sound did`);
  const row = killedBy === null ? rows.find(([pattern]) => pattern.test(words)) : undefined;
  return new SpeakerError(row?.[1] ?? 'device_error', `${program} ${said}`);
}

function notStarted(program: string, install: string | undefined, cause: NodeJS.ErrnoException): SpeakerError {
  if (cause.code !== 'ENOENT')
    return new SpeakerError('device_error', `${program} could not be started: ${cause.message}`, { cause });
  return install === undefined
    ? new SpeakerError('not_found', `there is no program ${program}`, { cause })
    : new SpeakerError('unsupported', `${program} is not installed: ${install}`, { cause });
}
