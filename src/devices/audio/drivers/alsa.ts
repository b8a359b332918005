import type { Probe, SoundFormat, SpeakerDriver, SpeakerError } from '../driver.ts';
import { type PaceClock, realTime } from '../pace.ts';
import type { Exit, Player, Players } from './child.ts';
import { expectFormat, within } from './fed.ts';
import { endPlayer, failureOf, localStopMs, openMs, playPiped } from './piped.ts';

export interface AlsaOptions {
  /** As `aplay -L` names it, by the name of the card: numbers change with a start of the machine. */
  readonly device: string;
  readonly rate?: number;
  readonly channels?: 1 | 2;
  readonly players: Players;
  readonly clock?: PaceClock;
}

/** More than is sent ahead; it begins when half of it is there, so that a late packet does not stop it. */
const bufferMs = 200;
const startMs = 100;
const failures = [
  [/Device or resource busy/, 'busy'],
  [/No such (file|device)|Unknown PCM|cannot find card/i, 'not_found'],
  [/Permission denied|Operation not permitted/, 'auth'],
  [/non available|not available|Unable to install hw params/i, 'format'],
  [/Connection refused|Connection terminated/, 'connection_lost'],
] as const;

/** A sound card, or what else ALSA has a name for, through aplay (alsa-utils). */
export function createAlsaDriver(options: AlsaOptions): SpeakerDriver {
  const { device, players, clock = realTime(), rate = 48_000, channels = 2 } = options;
  const exclusive = /^(plug)?hw:/.test(device);
  let probing: Player | undefined;
  let playing = 0;

  function start(format: SoundFormat): { player: Player; open: Promise<void> } {
    const opened = Promise.withResolvers<void>();
    const args = [
      ...[`--device=${device}`, '--file-type=raw', '--format=S16_LE'],
      ...[`--rate=${format.rate}`, `--channels=${format.channels}`],
      ...[`--buffer-time=${bufferMs * 1000}`, `--start-delay=${startMs * 1000}`, '-'],
    ];
    // It says so with the device open and before it reads.
    const onLine = (line: string) => {
      if (line.startsWith('Playing ')) opened.resolve();
    };
    return { player: players.start('aplay', args, { onLine, noise: /^Playing / }), open: opened.promise };
  }

  const format: SoundFormat = { encoding: 's16le', rate, channels };
  const answer = (detail: string): Probe => ({ detail: `ALSA ${device}: ${detail}`, format, exclusive });

  return {
    stopBudgetMs: localStopMs,

    async probe(signal) {
      signal.throwIfAborted();
      if (playing > 0) return answer('plays');
      const { player } = start(format);
      probing = player;
      try {
        // With nothing to play it opens the device, sets it up and closes it.
        player.end();
        const exit = await within(openMs, { clock, signal, what: `ALSA ${device} does not open` }, player.gone);
        if (exit.killedBy === 'SIGKILL' && playing > 0) return answer('plays');
        if (exit.code !== 0) throw failure(exit);
        return answer(`${rate} Hz, ${channels === 1 ? 'mono' : 'stereo'}`);
      } finally {
        await endPlayer(player);
        if (probing === player) probing = undefined;
      }
    },

    async play(sound, context) {
      context.signal.throwIfAborted();
      expectFormat(sound, 's16le');
      playing += 1;
      try {
        // One that asks must not make the device busy for one that plays.
        if (probing !== undefined) await endPlayer(probing);
        const { player, open } = start(sound.format);
        const trouble = new AbortController().signal;
        return await playPiped(sound, context, { player, ready: open, trouble, clock, delivered: 'heard', failure });
      } finally {
        playing -= 1;
      }
    },
  };
}

function failure(exit: Exit): SpeakerError {
  return failureOf(exit, { program: 'aplay', install: 'apt-get install alsa-utils', rows: failures });
}
