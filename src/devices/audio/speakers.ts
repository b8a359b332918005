import { join } from 'node:path';
import { weekdays } from '#site/model/index.ts';
import type { SoundFormat, SpeakerDriver } from './driver.ts';
import { createAlsaDriver } from './drivers/alsa.ts';
import { createCaptureDriver } from './drivers/capture.ts';
import type { Players } from './drivers/child.ts';
import { createCommandDriver } from './drivers/command.ts';
import { createNullDriver } from './drivers/null.ts';
import { createPulseDriver } from './drivers/pulse.ts';
import { type EnginePlan, engineLimits, type QuietHours, type SpeakerPlan } from './engine/index.ts';
import type { AudioOptions, SpeakerOptions } from './options.ts';

/** What messages are played on, and within which bounds. */
export interface AudioPlan {
  readonly speakers: readonly SpeakerOptions[];
  readonly audio: AudioOptions;
  readonly timezone: string;
}

export interface DriverPlaces {
  /** For what a driver keeps on disk. */
  readonly folder: string;
  readonly players: Players;
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

/** From the order to the first sample; all drivers so far are local ones. */
const localStartMs = 3_000;

export function createSpeaker(options: SpeakerOptions, places: DriverPlaces): Speaker {
  const channels = options.channels ?? (options.driver === 'alsa' ? 2 : 1);
  const format: SoundFormat = { encoding: 's16le', rate: options.rate, channels };
  const folder = join(places.folder, options.id);
  const create = () => createDriver(options, { ...places, folder, format });
  let driver = create();
  return {
    ...{ options, format, lane: laneOf(options) },
    get driver() {
      return driver;
    },
    renew() {
      driver = create();
    },
  };
}

function createDriver(
  { driver, device, sink, server, command, probe, folder: named }: SpeakerOptions,
  { folder, players, format: { rate, channels } }: DriverPlaces & { readonly format: SoundFormat },
): SpeakerDriver {
  const format = { rate, channels };
  switch (driver) {
    case 'alsa':
      return createAlsaDriver({ device: given(device), players, ...format });
    case 'pulse':
      return createPulseDriver({ sink: given(sink), ...(server !== undefined && { server }), players, ...format });
    case 'command':
      return createCommandDriver({
        command: programOf(given(command)),
        ...(probe !== undefined && { probe: programOf(probe) }),
        ...{ folder, players, ...format },
      });
    case 'capture':
      return createCaptureDriver({ folder: named ?? folder, ...format });
    case 'null':
      return createNullDriver(format);
  }
}

/** What the options of the driver require is there (`options.ts`). */
function given<T>(value: T | undefined): T {
  if (value === undefined) throw new TypeError('the options of a speaker were not checked');
  return value;
}

const programOf = ([program = '', ...args]: readonly string[]): [string, ...string[]] => [program, ...args];

/** One sound at a time: speakers of one card, or of one sink, take turns. */
function laneOf({ id, driver, device, server = '', sink }: SpeakerOptions): string {
  if (driver === 'alsa') return `alsa ${cardOf(given(device))}`;
  return driver === 'pulse' ? `pulse ${server} ${sink}` : `speaker ${id}`;
}

/** `plughw:CARD=usb,DEV=0` and `hw:usb` are the same card. */
function cardOf(device: string): string {
  const card = /^(?:plug)?hw:(?:CARD=)?([^,]+)/.exec(device)?.[1];
  return card === undefined ? device : `hw ${card}`;
}

/** The engine's plan; a speaker that is not enabled stands in none. */
export function enginePlan({ speakers, audio, timezone }: AudioPlan): EnginePlan {
  return {
    timezone,
    speakers: speakers.filter(({ enabled }) => enabled).map(speakerPlan),
    limits: {
      ...engineLimits,
      ...{ closeMs: endsByItselfMs, closeAlarmMs: endsByItselfMs },
      alarmFloor: audio.alarm_floor,
      longestAlarmMs: audio.longest_alarm,
      longestLifeSafetyMs: audio.longest_life_safety,
    },
  };
}

function speakerPlan(options: SpeakerOptions): SpeakerPlan {
  const { id, name = id, quiet_hours } = options;
  return {
    ...{ id, name, lane: laneOf(options) },
    startMs: localStartMs,
    stopMs: engineLimits.silenceMs,
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

const minuteOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
