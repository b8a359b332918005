import { constants } from 'node:fs';
import { access, mkdir, open, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { never } from '#lib/wait.ts';
import { type PlayContext, type Played, type Sound, type SpeakerDriver, SpeakerError } from '../driver.ts';
import { type PaceClock, realTime } from '../pace.ts';
import { wavHead } from '../wav.ts';
import type { Exit, Player, Players } from './child.ts';
import { checkPace, expectFormat, stallMs, within } from './fed.ts';
import { endPlayer, failureOf, localStopMs, openMs, playPiped } from './piped.ts';

export interface CommandOptions {
  /**
   * The program and its arguments; no shell reads them. `{file}` is replaced by the name of a wav file; without it the program
   * reads the wav from its input, in real time. It ends when the sound has ended.
   */
  readonly command: readonly [program: string, ...args: string[]];
  /** Ends with 0 where the speaker is well. Without it, the program has to be there. */
  readonly probe?: readonly [program: string, ...args: string[]];
  /** For the file; nobody else's, and emptied. */
  readonly folder: string;
  readonly rate?: number;
  readonly channels?: 1 | 2;
  readonly players: Players;
  readonly clock?: PaceClock;
}

const place = '{file}';
/** So much of the sound is made at once. */
const pieceMs = 1000;

/** What the site's own program plays on. With `{file}` it plays on when siteward is killed. */
export function createCommandDriver(options: CommandOptions): SpeakerDriver {
  const { command, folder, players, clock = realTime(), rate = 48_000, channels = 1 } = options;
  const [program, ...args] = command;
  const takesFile = args.some((arg) => arg.includes(place));
  const failure = (exit: Exit) => failureOf(exit, { program });

  function playInput(sound: Sound, context: PlayContext): Promise<Played> {
    const player = players.start(program, args);
    const head = wavHead(sound.format, sound.samples);
    return playPiped(sound, context, {
      ...{ player, ready: player.started, trouble: never(), clock, head, delivered: 'sent', failure },
    });
  }

  async function playFile(sound: Sound, context: PlayContext): Promise<Played> {
    const { signal, onFirstSample } = context;
    const file = join(folder, 'sound.wav');
    let player: Player | undefined;
    try {
      await writeWav(file, sound, signal).catch((cause: unknown) => {
        signal.throwIfAborted();
        throw new SpeakerError('device_error', `the sound could not be written to ${folder}`, { cause });
      });
      player = players.start(
        program,
        args.map((arg) => arg.replaceAll(place, file)),
      );
      player.end();
      await Promise.race([player.started, player.gone.then((exit) => Promise.reject(failure(exit)))]);
      const lastsMs = (sound.samples * 1000) / sound.format.rate;
      const endsAt = clock.now() + lastsMs;
      onFirstSample();
      const exit = await within(lastsMs + stallMs, { clock, signal, what: `${program} does not end` }, player.gone);
      if (exit.code !== 0) throw failure(exit);
      checkPace(sound, { endsAt, nowMs: clock.now() });
      return { samples: sound.samples, delivered: 'sent' };
    } finally {
      if (player !== undefined) await endPlayer(player);
      // What cannot be taken away now goes before the next one.
      await rm(file, { force: true }).catch(() => undefined);
    }
  }

  /** What a daemon that was killed left there goes too. */
  async function writeWav(file: string, sound: Sound, signal: AbortSignal): Promise<void> {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await using handle = await open(file, 'wx', 0o600);
    await handle.writeFile(wavHead(sound.format, sound.samples));
    const piece = Math.ceil((sound.format.rate * pieceMs) / 1000);
    for (let from = 0; from < sound.samples; from += piece) {
      signal.throwIfAborted();
      await handle.writeFile(sound.read(from, Math.min(from + piece, sound.samples)));
    }
  }

  return {
    stopBudgetMs: localStopMs,

    async probe(signal) {
      signal.throwIfAborted();
      await find(program);
      if (options.probe !== undefined) await ask(options.probe, signal);
      const format = { encoding: 's16le', rate, channels } as const;
      return { detail: `command ${program}`, format, exclusive: true };
    },

    async play(sound, context) {
      context.signal.throwIfAborted();
      expectFormat(sound, 's16le');
      return await (takesFile ? playFile(sound, context) : playInput(sound, context));
    },
  };

  async function ask([asked, ...askedArgs]: readonly [string, ...string[]], signal: AbortSignal): Promise<void> {
    const player = players.start(asked, askedArgs);
    try {
      player.end();
      const exit = await within(openMs, { clock, signal, what: `${asked} does not end` }, player.gone);
      if (exit.code !== 0) throw failureOf(exit, { program: asked });
    } finally {
      await endPlayer(player);
    }
  }
}

async function find(program: string): Promise<void> {
  const places = program.includes('/')
    ? [program]
    : (process.env.PATH ?? '').split(delimiter).map((at) => join(at, program));
  for (const at of places) {
    const found = await access(at, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return;
  }
  throw new SpeakerError('not_found', `there is no program ${program}`);
}
