import type { Logger } from 'pino';
import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import type { DeviceRef, Signal } from '#site/model/index.ts';
import type { AddressMode } from './address.ts';
import type { CameraStatus, Certificates, MemoryPort } from './camera.ts';
import { certificatePin } from './certificate-pin.ts';
import { createDevice, type Device } from './device.ts';
import { createLogin } from './login.ts';
import type { Outcome } from './normalise.ts';
import type { Notification } from './notification.ts';
import type { CameraOptions, NvrOptions } from './options.ts';
import { createPictureClient, type PictureClient } from './picture-client.ts';
import { createReads, type Reads } from './reads.ts';
import { type RecentMessages, recentMessages } from './recent.ts';
import { type Sense, silentInputs } from './sense.ts';
import { CameraSession, type SessionEvents } from './session.ts';
import { createSpeakerDoor, type SpeakerDoor } from './speaker-door.ts';
import { createStreamClient, type StreamClient } from './stream-client.ts';
import type { Timing } from './timing.ts';
import { ownRows } from './topic-options.ts';

/** What every camera and recorder of this bridge lives among. */
export interface Surroundings {
  readonly clock: Clock;
  readonly log: Logger;
  readonly memory: MemoryPort;
  readonly emit: (signals: readonly Signal[]) => Promise<void>;
  readonly timing: Timing;
}

/** Where the counts of one device go. */
export type Counts = Omit<SessionEvents, 'online' | 'outcome'> & { outcome(outcome: Outcome): void };

/** One device: the line to it, and the session that gets its events. */
export interface Engine {
  readonly device: Device;
  readonly reads: Reads;
  readonly addresses: AddressMode;
  readonly pictures: PictureClient;
  readonly streams: StreamClient;
  readonly speaker: SpeakerDoor;
  readonly host: string;
  readonly lifetime: AbortSignal;
  session(how: How): CameraSession;
  recent(after: number): RecentMessages;
  /** See `Cameras`. */
  certificate(): Promise<Certificates>;
  /** For the status. */
  facts(): Pick<CameraStatus, 'certificateRefused' | 'hints' | 'identity'>;
  trust(fingerprint: string): Promise<void>;
  trustDevice(name: string): Promise<void>;
  start(): void;
  /** Runs beside the session, as long as it. */
  beside(work: (signal: AbortSignal) => Promise<void>): void;
  stop(): Promise<void>;
}

export interface How {
  readonly sense: Sense;
  readonly counts: Counts;
  heard?(message: Notification, signals: readonly Signal[]): void;
  online(): void;
}

const otherAtStream = (id: string) =>
  `At its stream, or for pictures at another port, it shows another certificate than before, and is sent nothing there; events go on. "siteward camera trust ${id}" if that is its own`;

const defaultPullMs = 20_000;

export function createEngine(source: DeviceRef, entry: CameraOptions | NvrOptions, around: Surroundings): Engine {
  const { clock, memory, timing, emit } = around;
  const log = around.log.child({ [source.kind]: source.id });
  const { url, username, password, tls_fingerprint: fingerprint } = entry;
  const addresses = entry.addresses ?? 'repaired';
  const pin = certificatePin({ configured: fingerprint, id: source.id, memory, log });
  const besidePin = certificatePin({ configured: fingerprint, beside: pin, id: source.id, memory, log });
  const device = createDevice({
    ...{ url, username, password, pin, besidePin, clock },
    authHoldMs: timing.authHoldMs,
    kept: { id: source.id, memory },
    basicLogin: entry.basic_login === true || 'unless_better',
  });
  const reads = createReads(device, addresses);
  const login = createLogin(device, reads);
  const recent = recentMessages(() => clock.wall());
  const silent = silentInputs(entry.inputs);
  const lifetime = new AbortController();
  const besides: ((signal: AbortSignal) => Promise<void>)[] = [];
  let made: CameraSession | undefined;
  let running: Promise<unknown> | undefined;

  /** Best effort: with the next return of the device it is asked again. */
  async function learnMac(): Promise<void> {
    const mac = await reads.mac(lifetime.signal).catch(() => undefined);
    if (mac !== undefined) await made?.macRead(mac, lifetime.signal);
  }

  return {
    device,
    reads,
    addresses,
    pictures: createPictureClient({ device, login, clock }),
    streams: createStreamClient({ device, login, password, pin: besidePin, lifetime: lifetime.signal }),
    speaker: createSpeakerDoor({ device, login, password, pin: besidePin }),
    host: new URL(url).hostname,
    lifetime: lifetime.signal,
    session({ sense, counts, heard, online }) {
      const events: SessionEvents = {
        ...counts,
        outcome(outcome, message, signals) {
          if (silent.said(message)) return;
          counts.outcome(outcome);
          recent.note(outcome, message, signals);
          heard?.(message, signals);
        },
        online() {
          void learnMac();
          online();
        },
      };
      const pullMs = entry.pull ?? defaultPullMs;
      const own = { source, sense, device, reads, addresses, pullMs, events, silent, topics: ownRows(entry.topics) };
      made = new CameraSession({ ...own, timing, clock, log, memory, emit });
      return made;
    },
    recent: (after) => recent.after(after),
    async certificate() {
      const configured = fingerprint !== undefined;
      const { refused: shown } = besidePin;
      const stream = shown === undefined ? undefined : { trusted: await besidePin.trusted(), shown };
      return { trusted: await pin.trusted(), shown: pin.refused, configured, device: made?.occupant.doubted, stream };
    },
    facts() {
      const { model, serial, mac } = made?.occupant.known ?? {};
      const isKnown = model !== undefined && serial !== undefined;
      return {
        ...(pin.refused !== undefined && { certificateRefused: true }),
        ...(besidePin.refused !== undefined && { hints: [otherAtStream(source.id)] }),
        ...(isKnown && { identity: { model, serial, ...(mac !== undefined && { mac }) } }),
      };
    },
    async trust(fingerprint) {
      // It is the stream's where that alone shows it.
      if (fingerprint === besidePin.refused && fingerprint !== pin.refused) return await besidePin.trust(fingerprint);
      await pin.trust(fingerprint);
      made?.retryNow();
    },
    trustDevice: async (name) => made?.trustDevice(name, lifetime.signal),
    start() {
      const all = [made?.run(lifetime.signal), ...besides.map((work) => work(lifetime.signal).catch(() => undefined))];
      running ??= Promise.all(all);
    },
    beside: (work) => void besides.push(work),
    async stop() {
      lifetime.abort(new SitewardError('stopped', 'The cameras are stopped'));
      await running;
      device.close();
    },
  };
}
