import { never, withDeadline } from '#lib/wait.ts';
import {
  type DriverFailure,
  type PlayContext,
  type Played,
  type Sound,
  type SoundFormat,
  type SpeakerDriver,
  SpeakerError,
} from '../driver.ts';
import { type PaceClock, realTime } from '../pace.ts';
import { wavHead } from '../wav.ts';
import { send, stallMs, within } from './fed.ts';
import { createCaller, type HttpAuth, type HttpCaller } from './http-caller.ts';
import { type HttpCall, openExchange } from './http-exchange.ts';
import { dial, networkStopMs, type SpeakerLogin, stopAnswerMs, type Trust } from './network.ts';

/** The samples are the body of a request, sent as fast as they are heard. */
export interface HttpPush extends HttpCall {
  readonly kind: 'push';
  readonly method: 'POST' | 'PUT';
  readonly contentType: string;
  readonly format: SoundFormat;
  /** Before the samples goes the head of a wav file; of 16 bits alone. */
  readonly wav?: boolean;
  /** `accepted`: the device answers before it has the sound, which says nothing of the rest. */
  readonly delivered: 'sent' | 'accepted';
}

/** The device plays by itself: `{message}`, `{volume}` and `{repeat}` in the address are replaced. */
export interface HttpTrigger extends HttpCall {
  readonly kind: 'trigger';
}

export interface HttpOptions {
  readonly play: HttpPush | HttpTrigger;
  /** Silences the device. A trigger without it cannot be stopped, so that the configuration asks for it. */
  readonly stop?: HttpCall;
  /** Succeeds where the speaker is well. Without it, the device has to take a connection. */
  readonly probe?: HttpCall;
  readonly auth: HttpAuth;
  readonly login: SpeakerLogin;
  readonly trust?: Trust;
  readonly clock?: PaceClock;
}

/** At a start: those who know the account start a moment later. */
const readyMs = 3000;
/** Nothing of its time to stop is left: a device that is slow may answer, too. */
const releaseAnswerMs = 2000;
/** How long it lasts is all that is asked of the sound of a trigger. */
const untold: SoundFormat = { encoding: 's16le', rate: 8000, channels: 1 };

/** A speaker that takes sounds, or the order to play one of its own, by HTTP. */
export function createHttpDriver(options: HttpOptions): SpeakerDriver {
  const { play, auth, login, trust = {}, clock = realTime() } = options;
  const format = play.kind === 'push' ? play.format : untold;
  const caller = () => createCaller({ auth, login, trust, clock });
  const lastsMs = (sound: Sound) => (sound.samples * 1000) / sound.format.rate;

  async function push(sound: Sound, work: PlayContext, { to, by }: { to: HttpPush; by: HttpCaller }): Promise<Played> {
    const { signal } = work;
    const { encoding, channels } = sound.format;
    const head = to.wav === true ? wavHead(sound.format, sound.samples) : Buffer.alloc(0);
    let leftBytes = head.length + sound.samples * channels * (encoding === 's16le' ? 2 : 1);
    const proof = await by.prove(to, signal);
    const headers = { 'content-type': to.contentType, 'content-length': leftBytes, ...proof.headers };
    const exchange = await openExchange({ ...to, headers }, trust, signal);
    try {
      const wrong = new AbortController();
      const answered = exchange.answer.then((answer) => {
        by.check(answer, proof);
        if (leftBytes > 0 && to.delivered === 'sent')
          throw new SpeakerError('device_error', 'the device answered before it had the sound');
      });
      answered.catch((error: unknown) => wrong.abort(error));
      const write = (bytes: Buffer) => {
        leftBytes -= bytes.length;
        return exchange.write(bytes);
      };
      const trouble = AbortSignal.any([wrong.signal, exchange.lost]);
      const context = { clock, signal: AbortSignal.any([signal, trouble]), what: 'the device does not read' };
      if (head.length > 0) await within(stallMs, context, write(head));
      const fed = await send({ sound, context: work, clock, write, trouble });
      exchange.end();
      const leftMs = () => Math.max(0, fed.endsAt - clock.now());
      await within(leftMs() + stallMs, { clock, signal, what: 'the device does not answer' }, answered);
      // It may have room for all that is sent ahead.
      await clock.sleep(leftMs(), signal);
      return { samples: fed.samples, delivered: to.delivered };
    } finally {
      exchange.close();
    }
  }

  async function trigger(
    sound: Sound,
    work: PlayContext,
    { to, by }: { to: HttpTrigger; by: HttpCaller },
  ): Promise<Played> {
    await by.call({ method: to.method, url: filled(to.url, sound.asked) }, work.signal);
    work.onFirstSample();
    await clock.sleep(lastsMs(sound), work.signal);
    return { samples: sound.samples, delivered: 'accepted' };
  }

  /** Throws where the device may play on. */
  async function silence(by: HttpCaller, answerMs: number, signal: AbortSignal): Promise<void> {
    const { stop } = options;
    if (stop === undefined) {
      // Without its connection a device that is sent a sound has no more of it.
      if (play.kind === 'push') return;
      throw new SpeakerError('unsupported', 'the device cannot be told to stop');
    }
    const over = new AbortController();
    try {
      const what = 'the device does not answer to the stop';
      await within(answerMs, { clock, signal, what }, by.call(stop, over.signal));
    } finally {
      over.abort();
    }
  }

  return {
    stopBudgetMs: networkStopMs,

    async probe(signal) {
      signal.throwIfAborted();
      const { probe } = options;
      const { protocol, hostname, host, port } = new URL((probe ?? play).url);
      const secure = protocol === 'https:';
      if (probe !== undefined) {
        await login.ready?.(signal);
        const by = caller();
        await by.call(probe, signal).finally(by.close);
      } else
        (await dial({ host: hostname, port: Number(port || (secure ? 443 : 80)), secure }, trust, signal)).destroy();
      return { detail: `HTTP speaker at ${host}`, format, exclusive: true };
    },

    async play(sound, context) {
      const { signal } = context;
      signal.throwIfAborted();
      await login.ready?.(signal);
      const by = caller();
      if (play.kind === 'push') expect(sound, play.format);
      try {
        return await (play.kind === 'push'
          ? push(sound, context, { to: play, by })
          : trigger(sound, context, { to: play, by }));
      } catch (error) {
        if (mayPlayOn(error, signal))
          await silence(by, stopAnswerMs, never()).catch((failed: unknown) => {
            // That it could not be stopped is worth more than why it was to be.
            throw soundingOn(signal.aborted ? failed : error);
          });
        throw error;
      } finally {
        by.close();
      }
    },

    ...(options.stop !== undefined && {
      async release(signal) {
        await withDeadline(readyMs, signal, async (until) => login.ready?.(until), 'the account of the device');
        const by = caller();
        await silence(by, releaseAnswerMs, signal).finally(by.close);
      },
    }),
  };
}

/** A device that refused plays for somebody else, if at all, who is not to be stopped. */
function mayPlayOn(error: unknown, { aborted }: AbortSignal): boolean {
  const isUnclear = error instanceof SpeakerError && unclear.includes(error.failure);
  return aborted || isUnclear;
}
/** The same, of a device that did not take the order to stop. */
function soundingOn(cause: unknown): SpeakerError {
  const { failure, message } = cause instanceof SpeakerError ? cause : new SpeakerError('device_error', 'it failed');
  return new SpeakerError(failure, message, { cause, soundsOn: true });
}
const unclear: readonly DriverFailure[] = ['timeout', 'connection_lost', 'device_error'];

/** Each value as one part of the address. */
function filled(url: string, { key, volume, repeat }: Sound['asked']): string {
  const values: Readonly<Record<string, string>> = { message: key, volume: `${volume}`, repeat: `${repeat}` };
  return url.replaceAll(/\{(message|volume|repeat)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
}

function expect({ format }: Sound, wanted: SoundFormat): void {
  if (format.encoding !== wanted.encoding || format.rate !== wanted.rate || format.channels !== wanted.channels)
    throw new SpeakerError(
      'format',
      `the device takes ${wanted.encoding} at ${wanted.rate} Hz, not ${format.encoding} at ${format.rate} Hz`,
    );
}
