import { join } from 'node:path';
import { z } from 'zod';
import { type Probe, type SpeakerDriver, SpeakerError } from '../driver.ts';
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
const mostSinksBytes = 1 << 20;
const failures = [
  [/No such entity|Entity killed/, 'not_found'],
  [/Access denied|Permission denied/, 'auth'],
  [/Connection (failure|refused|terminated)/i, 'connection_lost'],
  [/Invalid argument|Not supported/, 'format'],
  [/busy/i, 'busy'],
] as const;

/** What `pactl` tells of a sink, as far as it is read. */
const sinks = z.array(
  z.object({
    name: z.string(),
    state: z.string(),
    mute: z.boolean(),
    sample_specification: z.string(),
    volume: z.record(z.string(), z.object({ value: z.number(), value_percent: z.string() })),
  }),
);
type Sink = z.output<typeof sinks>[number];

/** A sink of PulseAudio, or of PipeWire in its place, through paplay and pactl (pulseaudio-utils). */
export function createPulseDriver(options: PulseOptions): SpeakerDriver {
  const { sink, players, clock = realTime(), rate = 48_000, channels = 1 } = options;
  // Named in any case: without it the library would start a server where none runs.
  const server = `--server=${options.server ?? usualServer(process.env)}`;
  const of = (what: string) => `sink ${sink}: ${what}`;

  /** Rejects where nothing would be heard of what is sent to the sink. */
  async function look(signal: AbortSignal): Promise<Sink> {
    const args = [server, '--format=json', 'list', 'sinks'];
    const player = players.start('pactl', args, { outputBytes: mostSinksBytes });
    try {
      player.end();
      const exit = await within(openMs, { clock, signal, what: of('the sound server does not answer') }, player.gone);
      if (exit.code !== 0) throw failureOf(exit, { ...tool('pactl'), rows: failures });
      const found = readSinks(exit.output).find(({ name }) => name === sink);
      if (found === undefined) throw new SpeakerError('not_found', of('the sound server has none of this name'));
      if (found.mute) throw new SpeakerError('device_error', of('it is muted'));
      if (Object.values(found.volume).every(({ value }) => value === 0))
        throw new SpeakerError('device_error', of('its volume is zero'));
      return found;
    } finally {
      await endPlayer(player);
    }
  }

  function start({ rate, channels }: { rate: number; channels: number }): Stream {
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
      if (moved !== null && moved[1] !== sink) fail('not_found', 'it went away while it played');
    };
    const args = [
      ...[server, '--verbose', '--raw', '--format=s16le', `--rate=${rate}`, `--channels=${channels}`],
      ...[`--device=${sink}`, `--latency-msec=${latencyMs}`, '--client-name=siteward', '--stream-name=siteward'],
    ];
    const player = players.start('paplay', args, { onLine, noise });
    void player.gone.then(() => clearTimeout(suspended));
    return { player, connected: connected.promise, trouble: trouble.signal };
  }

  return {
    stopBudgetMs: localStopMs,

    async probe(signal) {
      signal.throwIfAborted();
      return shown(await look(signal));
    },

    async play(sound, context) {
      context.signal.throwIfAborted();
      expectFormat(sound, 's16le');
      const { player, connected, trouble } = start(sound.format);
      const looked = new AbortController();
      const ready = Promise.all([connected, look(AbortSignal.any([context.signal, looked.signal]))]);
      ready.catch(() => undefined);
      try {
        return await playPiped(sound, context, { player, ready, trouble, clock, delivered: 'heard', failure });
      } finally {
        looked.abort();
      }
    },
  };

  function shown({ state, volume, sample_specification }: Sink): Probe {
    const percents = [...new Set(Object.values(volume).map(({ value_percent }) => value_percent))].join('/');
    const detail = of(`${state.toLowerCase()}, ${sample_specification}, volume ${percents}`);
    return { detail, format: { encoding: 's16le', rate, channels }, exclusive: false };
  }
}

interface Stream {
  readonly player: Player;
  /** Resolves when the server has made the stream, on the sink that was asked for, which is not suspended. */
  readonly connected: Promise<void>;
  readonly trouble: AbortSignal;
}

const noise =
  /^(Time: |Opening a |Connection established|Stream (successfully|started|underrun|device)|Buffer metrics|Using |Connected |Got EOF|Playback stream|Draining)/;
const tool = (program: string) => ({ program, install: 'apt-get install pulseaudio-utils' });
const failure = (exit: Exit) => failureOf(exit, { ...tool('paplay'), rows: failures });

function readSinks(output: Buffer): z.output<typeof sinks> {
  try {
    return sinks.parse(JSON.parse(output.toString('utf8')));
  } catch (cause) {
    throw new SpeakerError('device_error', 'pactl did not tell of sinks what siteward can read', { cause });
  }
}

function usualServer({ PULSE_SERVER, XDG_RUNTIME_DIR }: NodeJS.ProcessEnv): string {
  if (PULSE_SERVER !== undefined && PULSE_SERVER !== '') return PULSE_SERVER;
  return `unix:${join(XDG_RUNTIME_DIR ?? '/run', 'pulse', 'native')}`;
}
