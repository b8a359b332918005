import { headersNamed, type RtspMessage } from '#lib/rtsp-message.ts';
import { never, unlessAborted } from '#lib/wait.ts';
import { type Sound, type SpeakerDriver, SpeakerError } from '../driver.ts';
import { type PaceClock, realTime } from '../pace.ts';
import { send, within } from './fed.ts';
import { networkStopMs, type SpeakerLogin, speakerError, stopAnswerMs, type Trust } from './network.ts';
import { rtpPacker } from './rtp.ts';
import { openRtsp, type Rtsp } from './rtsp.ts';
import { type Backchannel, findBackchannel, isRtspUrl } from './sdp.ts';

export interface OnvifOptions {
  /** Of its stream: rtsp or rtsps, as ONVIF names it (GetStreamUri). Asked for each sound. */
  readonly address: (signal: AbortSignal) => Promise<string>;
  readonly login: SpeakerLogin;
  readonly trust?: Trust;
  /** A packet of RTP lasts so long; most devices want 20 ms, some play only others well. */
  readonly packetMs?: number;
  readonly clock?: PaceClock;
}

/** ONVIF streaming specification, 5.3: without it a device shows no track that takes sound. */
const require = 'Require: www.onvif.org/ver20/backchannel';
const keepAliveMs = 2000;
const stepMs = 500;
/** What was sent is swallowed by the network, also where the device hangs: it has to say something now and then. */
const silenceMs = 5000;
/** Its answer to the end proves that it was there until then. */
const teardownMs = 2500;
const sessionUnknown = 454;
/** A device holds so much at most, to even out what the network delays; at the end of a session it would throw it away. */
const heldMs = 400;

interface Session {
  readonly headers: readonly string[];
  readonly channel: number;
  readonly keepAliveMs: number;
}

/** The speaker of a camera or an intercom, by the audio backchannel of its RTSP stream. */
export function createOnvifDriver(options: OnvifOptions): SpeakerDriver {
  const { login, trust = {}, packetMs = 20, clock = realTime() } = options;

  /** Connects, and asks for the track. */
  async function describe(signal: AbortSignal): Promise<{ rtsp: Rtsp; base: string; track: Backchannel }> {
    const url = await unlessAborted(options.address(signal), signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw speakerError(error, (cause) => new SpeakerError('not_found', 'the device names no address', { cause }));
    });
    const rtsp = await openRtsp({ url, login, trust, clock }, signal);
    try {
      const headers = ['Accept: application/sdp', require];
      const answer = await rtsp.ask({ method: 'DESCRIBE', url: rtsp.url, headers }, signal);
      const named = [...headersNamed(answer, 'content-base'), ...headersNamed(answer, 'content-location')];
      const base = named.find(isRtspUrl) ?? rtsp.url;
      return { rtsp, base, track: findBackchannel(answer.body.toString('latin1'), base) };
    } catch (error) {
      rtsp.close();
      throw error;
    }
  }

  /** Resolves when the last sample was played. */
  async function stream(sound: Sound, work: Streaming): Promise<number> {
    const { rtsp, base, track, session, signal, onFirstSample } = work;
    const over = new AbortController();
    const silent = new AbortController();
    const asking = AbortSignal.any([over.signal, rtsp.lost]);
    void stayAlive({ rtsp, base, session, signal: asking, clock }).catch((error: unknown) => silent.abort(error));
    const trouble = AbortSignal.any([rtsp.lost, silent.signal]);
    const pack = rtpPacker({ payload: track.payload, channel: session.channel });
    const write = (bytes: Buffer) => rtsp.write(pack(bytes));
    try {
      // Each packet at its time: what is early a device may drop.
      const pace = { packetMs, aheadMs: packetMs };
      const fed = await send({ sound, context: { signal, onFirstSample }, clock, write, trouble, pace });
      await clock.sleep(Math.max(0, fed.endsAt + heldMs - clock.now()), AbortSignal.any([signal, trouble]));
      return fed.samples;
    } finally {
      over.abort();
    }
  }

  return {
    stopBudgetMs: networkStopMs,

    async probe(signal) {
      signal.throwIfAborted();
      const { rtsp, track } = await describe(signal);
      rtsp.close();
      const { encoding, rate } = track.format;
      return { detail: `ONVIF backchannel, ${encoding} at ${rate} Hz`, format: track.format, exclusive: true };
    },

    async play(asked, { signal, onFirstSample }) {
      signal.throwIfAborted();
      if (asked.format.encoding === 's16le') throw new SpeakerError('format', 'the device takes no s16le');
      const { rtsp, base, track } = await describe(signal);
      let setUp: Promise<Session> | undefined;
      let isOver = false;
      const tearDown = async (session: Session) => {
        isOver = true;
        const headers = [...session.headers, require];
        const answer = await rtsp.ask({ method: 'TEARDOWN', url: base, headers, ms: teardownMs }, never());
        if (statusOf(answer) === sessionUnknown)
          throw new SpeakerError('device_error', 'the device had ended the session before');
      };
      try {
        const sound = fitting(asked, track);
        // Not by the signal: a session that the device has made is ended, too.
        setUp = ask(rtsp, track);
        const session = await unlessAborted(setUp, signal);
        const headers = [...session.headers, require];
        await rtsp.ask({ method: 'PLAY', url: base, headers }, signal);
        const samples = await stream(sound, { rtsp, base, track, session, signal, onFirstSample });
        // Some just hang up.
        await tearDown(session).catch((error: unknown) => {
          if (!rtsp.isEnded) throw error;
        });
        return { samples, delivered: 'sent' };
      } finally {
        if (setUp !== undefined && !isOver) {
          const what = 'the device does not end';
          await within(stopAnswerMs, { clock, signal: never(), what }, setUp.then(tearDown)).catch(() => undefined);
        }
        rtsp.close();
      }
    },
  };
}

interface Streaming {
  readonly rtsp: Rtsp;
  readonly base: string;
  readonly track: Backchannel;
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly onFirstSample: () => void;
}

async function ask(rtsp: Rtsp, track: Backchannel): Promise<Session> {
  const headers = ['Transport: RTP/AVP/TCP;unicast;interleaved=0-1', require];
  const answer = await rtsp.ask({ method: 'SETUP', url: track.url, headers }, never());
  const [transport = ''] = headersNamed(answer, 'transport');
  if (transport !== '' && !/\bRTP\/AVP\/TCP\b/i.test(transport))
    throw new SpeakerError('unsupported', 'the device takes sound by UDP only');
  const channel = Number(/interleaved\s*=\s*(\d{1,9})/i.exec(transport)?.[1] ?? 0);
  if (channel > 255) throw new SpeakerError('device_error', 'the device names no channel for the sound');
  const [line = ''] = headersNamed(answer, 'session');
  const [id = '', ...parameters] = line.split(';').map((part) => part.trim());
  if (!/^[!-~]{1,256}$/.test(id)) throw new SpeakerError('device_error', 'the device names no session');
  const timeoutS = Number(parameters.map((part) => /^timeout=(\d{1,9})$/i.exec(part)?.[1]).find(Boolean) ?? 60);
  const halfMs = Math.max(stepMs, (timeoutS * 1000) / 2);
  return { headers: [`Session: ${id}`], channel, keepAliveMs: Math.min(keepAliveMs, halfMs) };
}

interface Alive {
  readonly rtsp: Rtsp;
  readonly base: string;
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly clock: PaceClock;
}

/** Asks for signs of life; any answer is one. Rejects with `timeout` where none comes, or with the reason of the signal. */
async function stayAlive({ rtsp, base, session, signal, clock }: Alive): Promise<never> {
  const { headers } = session;
  let method = 'GET_PARAMETER';
  let nextAt = clock.now() + session.keepAliveMs;
  const answered = (answer: RtspMessage) => {
    // A device that does not know it does not keep the session for it, either.
    if (statusOf(answer) >= 300) method = 'OPTIONS';
  };
  for (;;) {
    await clock.sleep(stepMs, signal);
    const now = clock.now();
    if (now - rtsp.heardAt > silenceMs) throw new SpeakerError('timeout', 'the device has stopped answering');
    if (now < nextAt) continue;
    nextAt = now + session.keepAliveMs;
    void rtsp.ask({ method, url: base, headers }, signal).then(answered, () => undefined);
  }
}

const statusOf = ({ start }: RtspMessage): number => Number(start.split(' ')[1]);

/** In the encoding of the track, where it has its rate. */
function fitting(asked: Sound, track: Backchannel): Sound {
  const { encoding, rate, channels } = track.format;
  const sound = asked.format.encoding === encoding ? asked : (asked.encoded?.(encoding) ?? asked);
  const { format } = sound;
  if (format.encoding !== encoding || format.rate !== rate || format.channels !== channels)
    throw new SpeakerError(
      'format',
      `the device takes ${encoding} at ${rate} Hz, not ${format.encoding} at ${format.rate} Hz`,
    );
  return sound;
}
