import type { DeviceId } from '#site/model/index.ts';
import type { SpeakerDoor } from './speaker-door.ts';

/** What a camera session is doing. `pulling` and `renewing` mean that events arrive. */
export type CameraState = 'connecting' | 'subscribing' | 'pulling' | 'renewing' | 'backoff' | 'auth_failed' | 'stopped';

export interface Snapshot {
  readonly bytes: Uint8Array;
  readonly mime: 'image/jpeg';
  /** Wall clock when the picture was asked for, milliseconds. */
  readonly takenAt: number;
}

/** A topic the table does not know, for the technician who wants it supported. */
export interface UnknownTopic {
  readonly topic: string;
  readonly count: number;
  /** Item names and values of the last message, at most 200 characters. */
  readonly items: string;
  /** Wall clock, milliseconds. */
  readonly lastAt: number;
  /** An entry of the camera's `topics:` to begin with. */
  readonly line: string;
}

/**
 * `taken_over`: its event subscription vanishes again and again; `event_flood`: it sends more than is taken; `mute`: it
 * answers, but sends nothing where it did before; `basic_asked`: it asks for the password in clear, and is not given it.
 */
export type CameraWarningCode = 'taken_over' | 'event_flood' | 'mute' | 'basic_asked' | 'other_device' | 'no_password';

/** What a technician should know though events arrive. */
export interface CameraWarning {
  readonly code: CameraWarningCode;
  readonly text: string;
}

/** One channel of a recorder. */
export interface ChannelStatus {
  readonly id: DeviceId;
  readonly name?: string;
  /** gone: the recorder does not list it; doubtful: it may be another's picture; unknown: not read yet. */
  readonly state: 'bound' | 'no_signal' | 'gone' | 'doubtful' | 'unknown';
  /** Token of its video source, and its place in the recorder's list, from 1. */
  readonly source?: string;
  readonly position?: number;
  readonly resolution?: string;
  readonly profiles?: number;
  /** How its events are known to be its own. */
  readonly mapping?: 'exact' | 'guessed';
  /** Why it is not bound, in words. */
  readonly reason?: string;
  readonly lastEventAt?: number;
  readonly stream?: string;
}

export interface CameraStatus {
  readonly kind: 'camera' | 'nvr';
  readonly id: DeviceId;
  readonly name?: string;
  /** Host of the configured address. */
  readonly host: string;
  /** Of a recorder. */
  readonly channels?: readonly ChannelStatus[];
  /** What the installer should see to, in words. */
  readonly hints?: readonly string[];
  /** The device that belongs here, by which it is recognised under another address. */
  readonly identity?: { readonly model: string; readonly serial: string; readonly mac?: string };
  readonly state: CameraState;
  /** Wall clock of the last change of state, milliseconds. */
  readonly since: number;
  /** Why events do not arrive, in words. */
  readonly reason?: string;
  /** Whether the last request was answered at all. */
  readonly reachable: boolean;
  /** Whether user and password were accepted last; absent while the camera wanted none. */
  readonly authenticated?: boolean;
  /** For so long no password is tried: it was refused, and the account shall not be locked. */
  readonly loginHeldS?: number;
  /** It shows another certificate than the one that counts, and is sent nothing. */
  readonly certificateRefused?: true;
  /** `unknown`: pulls are answered, but nothing came yet, or not for long. */
  readonly flowing: 'yes' | 'no' | 'unknown';
  /** Wall clock when the camera was back after what looked like a start of its own. */
  readonly rebootSeenAt?: number;
  readonly warnings: readonly CameraWarning[];
  readonly lastEventAt?: number;
  readonly lastPullAt?: number;
  /** How far the camera's clock is ahead of ours. */
  readonly clockOffsetS?: number;
  readonly manufacturer?: string;
  readonly model?: string;
  readonly firmware?: string;
  readonly serial?: string;
  readonly profiles?: number;
  /** RTSP address of the stream that is read, without credentials. */
  readonly stream?: string;
  readonly unknownTopics: readonly UnknownTopic[];
}

/** How a picture or stream is asked for. */
export interface Ask {
  /** The device is asked now; a recorder is asked for one picture after the other. */
  readonly onTurn?: (() => void) | undefined;
  /** For a silent event: no warning comes or goes by it (safety 4). */
  readonly silent?: boolean | undefined;
}

/** The port: one camera as the rest of siteward sees it. */
export interface Camera {
  readonly id: DeviceId;
  /**
   * One still picture, asked for now; callers that come while one is under way share it. Ends within 10 s. Throws
   * `picture_invalid`, `camera_auth`, `camera_unreachable`, `camera_fault`, `camera_bad_answer`, `deadline` or `stopped`.
   */
  snapshot(signal: AbortSignal, ask?: Ask): Promise<Snapshot>;
  /**
   * Runs `work` with an rtsp address of this machine at which its stream can be read, once, by TCP and without a password,
   * until `work` settles. Where the camera is to blame throws as `snapshot`, otherwise as `work`.
   */
  readStream<T>(signal: AbortSignal, work: (url: string) => Promise<T>, ask?: Ask): Promise<T>;
  /** Address of its stream, rtsp or rtsps, by which its speaker is reached as well. Throws as `readStream`. */
  streamAddress(signal: AbortSignal): Promise<string>;
  /** Of its device, as the status: a channel's is its recorder's. */
  readonly speaker: SpeakerDoor;
  status(): CameraStatus;
}

/** A device is not who it was. */
export interface OtherDevice {
  readonly was: string;
  readonly is: string;
}

/** SHA-256 fingerprints of an https device. */
export interface Certificates {
  /** The one that counts; undefined while there is none. */
  readonly trusted: string | undefined;
  /** Another one, which was refused last. */
  readonly shown: string | undefined;
  /** The configuration names the one that counts: another is accepted there. */
  readonly configured: boolean;
  readonly device: OtherDevice | undefined;
  /** Of its stream, and of pictures at another port, where another one was refused there. */
  readonly stream: { readonly trusted: string | undefined; readonly shown: string } | undefined;
}

/** A small durable store for what must be known after a restart; keys begin with the room's name. */
export interface MemoryPort {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<void>;
  delete(key: string): Promise<void>;
  keys(): Promise<readonly string[]>;
}
