import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { type Sound, type SoundFormat, type SpeakerDriver, SpeakerError } from '../driver.ts';
import { type PaceClock, realTime } from '../pace.ts';
import type { Exit, Player, Players } from './child.ts';
import { expectFormat, within } from './fed.ts';
import { endPlayer, failureOf, localStopMs, openMs, playPiped } from './piped.ts';

export interface PulseOptions {
  /** Name of the sink, as `pactl list short sinks` shows it. */
  readonly sink: string;
  /** Without it, that of the user siteward runs as. */
  readonly server?: string;
  readonly rate?: number;
  readonly channels?: 1 | 2;
  readonly players: Players;
  readonly clock?: PaceClock;
}

/** Of what the server holds of the sound before it is heard. */
const latencyMs = 100;
/** A sink may be suspended so long, as while its card is set up anew. */
const suspendedMs = 1000;
const mostListBytes = 4 << 20;
const fullVolume = 65_536;
/** Of full volume: 78 dB less and below, which nobody hears. */
const inaudible = 0.05;
/** While it plays, it is looked at so often whether it is heard, and so long before its end once more. */
const lookMs = 3000;
const lastLookMs = 250;
/** Of one look: without an answer the sound goes on. */
const lookedMs = 1000;
/** A property of our streams, by which one is told from the others. */
const markName = 'siteward.play';
const failures = [
  [/No such entity|Entity killed/, 'not_found'],
  [/Access denied|Permission denied/, 'auth'],
  [/Connection (failure|refused|terminated)/i, 'connection_lost'],
  [/Invalid argument|Not supported/, 'format'],
  [/busy/i, 'busy'],
] as const;

/** What `pactl` tells, as far as it is read. */
const volume = z.record(z.string(), z.object({ value: z.number(), value_percent: z.string() }));
const level = z.object({ mute: z.boolean(), volume });
const listed = z.object({
  sinks: z.array(level.extend({ name: z.string(), state: z.string(), sample_specification: z.string() })),
  sink_inputs: z.array(level.extend({ properties: z.record(z.string(), z.string()) })),
});
type Level = z.output<typeof level>;
type Listed = z.output<typeof listed>;

/** A sink of PulseAudio, or of PipeWire in its place, through paplay and pactl (pulseaudio-utils). */
export function createPulseDriver(options: PulseOptions): SpeakerDriver {
  const { sink, players, clock = realTime(), rate = 48_000, channels = 1 } = options;
  // Named in any case: without it the library would start a server where none runs.
  const server = `--server=${options.server ?? usualServer(process.env)}`;
  const of = (what: string) => `sink ${sink}: ${what}`;

  async function list(signal: AbortSignal, ms = openMs): Promise<Listed> {
    const player = players.start('pactl', [server, '--format=json', 'list'], { outputBytes: mostListBytes });
    try {
      player.end();
      const exit = await within(ms, { clock, signal, what: of('the sound server does not answer') }, player.gone);
      if (exit.code !== 0) throw failureOf(exit, { ...tool('pactl'), rows: failures });
      return readList(exit.output);
    } finally {
      await endPlayer(player);
    }
  }

  /**
   * Looks whether the sink, and the stream with this mark, may be heard. Mixers keep the mute of a stream by its program's name.
   * Where the server does not tell, the sound goes on: a siren that may be heard is better than none.
   */
  async function silenced(mark: string, signal: AbortSignal): Promise<SpeakerError | undefined> {
    const now = await list(signal, lookedMs).catch(() => undefined);
    const ours = now?.sinks.find(({ name }) => name === sink);
    const stream = now?.sink_inputs.find(({ properties }) => properties[markName] === mark);
    return silent(ours, 'it') ?? silent(stream, 'the stream of siteward');
  }

  function silent(at: Level | undefined, who: string): SpeakerError | undefined {
    if (at?.mute) return new SpeakerError('device_error', of(`${who} is muted`));
    if (at === undefined || Object.keys(at.volume).length === 0) return undefined;
    const loudest = Math.max(...Object.values(at.volume).map(({ value }) => value / fullVolume));
    if (loudest === 0) return new SpeakerError('device_error', of(`the volume of ${who} is zero`));
    const percent = `${Math.round(loudest * 100)} %`;
    if (loudest < inaudible)
      return new SpeakerError('device_error', of(`the volume of ${who} is ${percent}, as good as muted`));
    return undefined;
  }

  /** Looks at it at its begin, from time to time, and as it ends: a mixer may be turned down at any time. */
  async function watch(
    mark: string,
    sound: Sound,
    { ended, over }: { ended: AbortSignal; over: AbortSignal },
  ): Promise<SpeakerError | undefined> {
    const lastAt = clock.now() + (sound.samples * 1000) / sound.format.rate - lastLookMs;
    while (!ended.aborted) {
      const wrong = await silenced(mark, over);
      if (wrong !== undefined) return wrong;
      const leftMs = lastAt - clock.now();
      await clock.sleep(leftMs > 0 ? Math.min(leftMs, lookMs) : lookMs, ended).catch(() => undefined);
    }
    return undefined;
  }

  function start({ rate, channels }: SoundFormat, mark: string): Stream {
    const trouble = new AbortController();
    const connected = Promise.withResolvers<void>();
    const fail = (failure: 'not_found' | 'busy', what: string) => trouble.abort(new SpeakerError(failure, of(what)));
    let suspended: NodeJS.Timeout | undefined;
    const resume = () => {
      clearTimeout(suspended);
      connected.resolve();
    };
    const suspend = () => {
      clearTimeout(suspended);
      suspended = setTimeout(() => fail('busy', 'it is suspended'), suspendedMs);
    };
    // The server itself says where the stream is: a sink that goes away leaves its streams to another one.
    const onLine = (line: string) => {
      const at = /^Connected to device (.*) \(index: \d+, suspended: (yes|no)\)/.exec(line);
      if (at !== null && at[1] !== sink) return fail('not_found', 'the server connects to another one');
      if (at?.[2] === 'yes' || line.startsWith('Stream device suspended')) suspend();
      if (at?.[2] === 'no' || line.startsWith('Stream device resumed')) resume();
      const moved = /^Stream moved to device (.*) \(\d+, (not )?suspended\)/.exec(line);
      if (moved !== null && moved[1] !== sink) fail('not_found', 'the server moved the sound to another one');
    };
    const args = [
      ...[server, '--verbose', '--raw', '--format=s16le', `--rate=${rate}`, `--channels=${channels}`],
      ...[`--device=${sink}`, `--latency-msec=${latencyMs}`, '--client-name=siteward', '--stream-name=siteward'],
      // The server keeps volumes by the program's name too.
      ...[`--volume=${fullVolume}`, `--property=${markName}=${mark}`],
    ];
    const player = players.start('paplay', args, { onLine, noise });
    void player.gone.then(() => clearTimeout(suspended));
    return { player, connected: connected.promise, trouble };
  }

  return {
    stopBudgetMs: localStopMs,

    async probe(signal) {
      signal.throwIfAborted();
      const found = (await list(signal)).sinks.find(({ name }) => name === sink);
      if (found === undefined) throw new SpeakerError('not_found', of('the sound server has none of this name'));
      const wrong = silent(found, 'it');
      if (wrong !== undefined) throw wrong;
      const percents = [...new Set(Object.values(found.volume).map(({ value_percent }) => value_percent))].join('/');
      const detail = of(`${found.state.toLowerCase()}, ${found.sample_specification}, volume ${percents}`);
      return { detail, format: { encoding: 's16le', rate, channels }, exclusive: false };
    },

    async play(sound, context) {
      context.signal.throwIfAborted();
      expectFormat(sound, 's16le');
      const mark = randomUUID();
      const { player, connected, trouble } = start(sound.format, mark);
      const [ended, over] = [new AbortController(), new AbortController()];
      let looked: Promise<SpeakerError | undefined> | undefined;
      const ready = connected.then(() => {
        looked = watch(mark, sound, { ended: ended.signal, over: over.signal });
        void looked.then((wrong) => wrong && trouble.abort(wrong));
      });
      try {
        const piped = { player, ready, trouble: trouble.signal, clock, delivered: 'heard', failure } as const;
        const played = await playPiped(sound, context, piped);
        // A look that is under way has its answer.
        ended.abort();
        const wrong = await looked;
        if (wrong !== undefined) throw wrong;
        return played;
      } finally {
        ended.abort();
        over.abort();
        await looked;
      }
    },
  };
}

interface Stream {
  readonly player: Player;
  /** Resolves when the server has made the stream, on the sink that was asked for, which is not suspended. */
  readonly connected: Promise<void>;
  /** Aborts with a SpeakerError where the sound is not heard. */
  readonly trouble: AbortController;
}

const noise =
  /^(Time: |Opening a |Connection established|Stream (successfully|started|underrun|device)|Buffer metrics|Using |Connected |Got EOF|Playback stream|Draining)/;
const tool = (program: string) => ({ program, install: 'apt-get install pulseaudio-utils' });
const failure = (exit: Exit) => failureOf(exit, { ...tool('paplay'), rows: failures });

function readList(output: Buffer): Listed {
  try {
    return listed.parse(JSON.parse(output.toString('utf8')));
  } catch (cause) {
    throw new SpeakerError('device_error', 'pactl did not tell of sinks what siteward can read', { cause });
  }
}

function usualServer({ PULSE_SERVER, XDG_RUNTIME_DIR }: NodeJS.ProcessEnv): string {
  if (PULSE_SERVER !== undefined && PULSE_SERVER !== '') return PULSE_SERVER;
  return `unix:${join(XDG_RUNTIME_DIR ?? '/run', 'pulse', 'native')}`;
}
