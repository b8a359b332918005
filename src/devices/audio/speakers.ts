import { join } from 'node:path';
import { type Holiday, minuteOf, weekdays } from '#site/model/index.ts';
import type { SoundFormat, SpeakerDriver } from './driver.ts';
import { createAlsaDriver } from './drivers/alsa.ts';
import { createCaptureDriver } from './drivers/capture.ts';
import type { Players } from './drivers/child.ts';
import { createCommandDriver } from './drivers/command.ts';
import { createHttpDriver, type HttpPush } from './drivers/http.ts';
import { networkStopMs } from './drivers/network.ts';
import { createNullDriver } from './drivers/null.ts';
import { createOnvifDriver } from './drivers/onvif.ts';
import { createPulseDriver } from './drivers/pulse.ts';
import { type EnginePlan, engineLimits, type QuietHours, type SpeakerPlan } from './engine/index.ts';
import type { AudioOptions, SpeakerOptions } from './options.ts';
import type { SpeakerAccess } from './ports.ts';
import type { RuleOptions } from './rules/options.ts';

/** What messages are played on, and within which bounds. */
export interface AudioPlan {
  readonly speakers: readonly SpeakerOptions[];
  readonly audio: AudioOptions;
  readonly timezone: string;
  /** Which device a camera or channel is: what has the same name has one speaker. */
  readonly devices?: Readonly<Record<string, string>>;
  /** That of the site, such as de-DE. */
  readonly language?: string;
  /** What plays by itself; none where it is left out. */
  readonly rules?: readonly RuleOptions[];
  /** For rules by the clock. */
  readonly holidays?: readonly Holiday[];
}

export interface DriverPlaces {
  /** For what a driver keeps on disk. */
  readonly folder: string;
  readonly players: Players;
  readonly lane: string;
  /** Of one on the network. */
  readonly access?: SpeakerAccess | undefined;
}

/** A speaker as it is used now. */
export interface Speaker {
  readonly options: SpeakerOptions;
  readonly lane: string;
  /** As the device takes it, where that need not be asked. */
  readonly format: SoundFormat;
  readonly driver: SpeakerDriver;
  /** Another driver takes its place: this one still hangs on a sound that did not end. */
  renew(): void;
}

/** What sounds at a stop of siteward. The daemon ends within 4.5 s and gives each of its parts 2 s. */
export const endsByItselfMs = 1_000;

/** From the order to the first sample. */
const localStartMs = 3_000;
const networkStartMs = 8_000;

export function createSpeaker(options: SpeakerOptions, places: DriverPlaces): Speaker {
  const format = formatOf(options);
  const folder = join(places.folder, options.id);
  const create = () => createDriver(options, { ...places, folder, format });
  let driver = create();
  return {
    ...{ options, format, lane: places.lane },
    get driver() {
      return driver;
    },
    renew() {
      driver = create();
    },
  };
}

function formatOf({ driver, rate, channels, push }: SpeakerOptions): SoundFormat {
  // Any device that has a backchannel may be sent it; one that wants A-law gets that.
  if (driver === 'onvif') return { encoding: 'ulaw', rate: 8_000, channels: 1 };
  const encoding = push === undefined || push.encoding === 'wav' ? 's16le' : push.encoding;
  const usual = { rate: driver === 'http' ? 8_000 : 48_000, channels: driver === 'alsa' ? 2 : 1 } as const;
  return { encoding, rate: rate ?? usual.rate, channels: channels ?? usual.channels };
}

function createDriver(
  options: SpeakerOptions,
  { folder, players, format, access }: DriverPlaces & { readonly format: SoundFormat },
): SpeakerDriver {
  const { device, sink, server, command, probe, folder: named } = options;
  const samples = { rate: format.rate, channels: format.channels };
  switch (options.driver) {
    case 'alsa':
      return createAlsaDriver({ device: given(device), players, ...samples });
    case 'pulse':
      return createPulseDriver({ sink: given(sink), ...(server !== undefined && { server }), players, ...samples });
    case 'onvif':
      return createOnvifDriver(given(access));
    case 'http':
      return createHttp(options, format, given(access));
    case 'command':
      return createCommandDriver({
        command: programOf(given(command)),
        ...(probe !== undefined && { probe: programOf(probe) }),
        ...{ folder, players, ...samples },
      });
    case 'capture':
      return createCaptureDriver({ folder: named ?? folder, ...samples });
    case 'null':
      return createNullDriver(samples);
  }
}

function createHttp(options: SpeakerOptions, format: SoundFormat, { login, trust }: SpeakerAccess): SpeakerDriver {
  const { push, trigger, stop, status, camera, username } = options;
  const hasAccount = camera !== undefined || username !== undefined;
  return createHttpDriver({
    play: push === undefined ? { kind: 'trigger', ...given(trigger) } : pushOf(push, format),
    ...(stop !== undefined && { stop }),
    ...(status !== undefined && { probe: status }),
    auth: options.auth ?? (hasAccount ? 'digest' : 'none'),
    ...{ login, trust },
  });
}

function pushOf(push: NonNullable<SpeakerOptions['push']>, format: SoundFormat): HttpPush {
  const { url, method, content_type: contentType, encoding, answers_early } = push;
  const delivered = answers_early ? 'accepted' : 'sent';
  return { kind: 'push', ...{ url, method, contentType, format, delivered }, wav: encoding === 'wav' };
}

/** What the options of the driver require is there (`options.ts`). */
function given<T>(value: T | undefined): T {
  if (value === undefined) throw new TypeError('the options of a speaker were not checked');
  return value;
}

const programOf = ([program = '', ...args]: readonly string[]): [string, ...string[]] => [program, ...args];

/** One sound at a time: speakers of one card, of one sink or of one device take turns. */
export function laneOf(options: SpeakerOptions, { devices = {} }: Pick<AudioPlan, 'devices'>): string {
  const { id, driver, device, server = '', sink, camera, url, push } = options;
  if (driver === 'alsa') return `alsa ${cardOf(given(device))}`;
  if (driver === 'pulse') return `pulse ${server} ${sink}`;
  if (camera !== undefined) return `device ${devices[camera] ?? camera}`;
  const address = driver === 'onvif' ? url : push?.url;
  // What is told to play by itself may stand behind a gateway, beside others.
  return address === undefined ? `speaker ${id}` : `device ${new URL(address).hostname.toLowerCase()}`;
}

/** `plughw:CARD=usb,DEV=0` and `hw:usb` are the same card. */
function cardOf(device: string): string {
  const card = /^(?:plug)?hw:(?:CARD=)?([^,]+)/.exec(device)?.[1];
  return card === undefined ? device : `hw ${card}`;
}

/** The engine's plan; a speaker that is not enabled stands in none. */
export function enginePlan(plan: AudioPlan): EnginePlan {
  const { speakers, audio, timezone } = plan;
  return {
    timezone,
    speakers: speakers.filter(({ enabled }) => enabled).map((one) => speakerPlan(one, laneOf(one, plan))),
    limits: {
      ...engineLimits,
      ...{ closeMs: endsByItselfMs, closeAlarmMs: endsByItselfMs },
      alarmFloor: audio.alarm_floor,
      longestAlarmMs: audio.longest_alarm,
      longestLifeSafetyMs: audio.longest_life_safety,
    },
  };
}

function speakerPlan({ id, name = id, driver, stop, quiet_hours }: SpeakerOptions, lane: string): SpeakerPlan {
  const isFar = driver === 'onvif' || driver === 'http';
  return {
    ...{ id, name, lane },
    startMs: isFar ? networkStartMs : localStartMs,
    stopMs: isFar ? networkStopMs : engineLimits.silenceMs,
    ...(stop !== undefined && { byOrder: true }),
    quiet: quiet_hours.map(quietOf),
  };
}

function quietOf({ days = [...weekdays], from, to, volume_cap }: SpeakerOptions['quiet_hours'][number]): QuietHours {
  return {
    // Sunday is 0.
    days: days.map((day) => (weekdays.indexOf(day) + 1) % 7),
    from: minuteOf(from),
    to: minuteOf(to),
    ...(volume_cap !== undefined && { cap: volume_cap }),
  };
}
