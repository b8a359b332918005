import { z } from 'zod';
import { duration, size } from '#lib/duration.ts';
import { fingerprint } from '#lib/fingerprint.ts';
import type { Secret } from '#lib/secret.ts';
import { secretRef } from '#lib/secret-ref.ts';
import { deviceId, localTime, partitionId, weekday, zoneNumber } from '#site/model/index.ts';
import { volumeCurves } from './gain.ts';
import { callOptions, pushOptions, streamUrl, triggerOptions, word } from './network-options.ts';

const name = z.string().min(1).max(64);
const program = z.array(word(500)).min(1).max(32);
const path = z.string().max(1000).regex(/^\//, 'must be an absolute path');

const speakerDrivers = ['alsa', 'pulse', 'onvif', 'http', 'command', 'capture', 'null'] as const;
export type SpeakerDriverName = (typeof speakerDrivers)[number];

const quietHours = z
  .strictObject({
    days: z
      .array(weekday)
      .min(1)
      .max(7)
      .optional()
      .describe('Days on which they begin, such as [mon, tue]; else every day.'),
    from: localTime.describe("When they begin, on the site's own clocks, in quotes."),
    to: localTime.describe('When they end; before `from`, it is on the day after.'),
    volume_cap: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .describe('Greatest volume of what is no alarm, in percent; left out, alarms alone are played.'),
  })
  .refine(({ from, to }) => from !== to, { path: ['to'], error: 'must be another time than from' });

const speaker = z.strictObject({
  id: deviceId.describe('Name of this speaker in topics, events and logs; never changes.'),
  name: name.optional().describe('What people call this speaker.'),
  driver: z
    .enum(speakerDrivers)
    .describe(
      'How it is reached: alsa a sound card, pulse a sink of PulseAudio or PipeWire, onvif the speaker of a camera or intercom, http a device that is sent sounds or told to play, command a program of yours, capture files, "null" (in quotes) nothing.',
    ),
  device: word(200)
    .optional()
    .describe('Of driver alsa, required: the device as `aplay -L` names it, by the name of the card.'),
  sink: word(200).optional().describe('Of driver pulse, required: the sink as `pactl list short sinks` names it.'),
  server: word(200)
    .optional()
    .describe("Of driver pulse: its server, such as tcp:127.0.0.1:4713; else that of siteward's user."),
  command: program
    .optional()
    .describe(
      'Of driver command, required: program and arguments; no shell reads them. {file} stands for a wav file; without it the wav comes to its input.',
    ),
  probe: program.optional().describe('Of driver command: what ends with 0 while the speaker is well.'),
  camera: deviceId
    .optional()
    .describe(
      'Of drivers onvif and http: the camera or channel whose speaker it is; its account counts, with onvif its address, too.',
    ),
  url: streamUrl
    .optional()
    .describe(
      "Of driver onvif: address of the stream whose backchannel it is, without camera, or where it is another than the camera's.",
    ),
  username: word(64)
    .optional()
    .describe(
      'Of drivers onvif and http, for a device that is no camera here: user of the device; make one for siteward alone.',
    ),
  password: secretRef.optional().describe('Where the password of that user lies.'),
  basic_login: z
    .boolean()
    .optional()
    .describe(
      'Of driver onvif without camera: whether the device may have the password in clear (Basic), where it takes nothing else.',
    ),
  auth: z
    .enum(['none', 'basic', 'digest'])
    .optional()
    .describe('Of driver http: how the password is proved; digest where there is one, else none.'),
  tls_fingerprint: fingerprint
    .optional()
    .describe(
      'Of rtsps and https addresses without camera: SHA-256 fingerprint of the certificate of a device that made its own.',
    ),
  push: pushOptions.optional(),
  trigger: triggerOptions.optional(),
  stop: callOptions('Of driver http: what silences the device.').optional(),
  status: callOptions(
    'Of driver http: what succeeds while the device is well; else it has to take a connection.',
  ).optional(),
  folder: path
    .optional()
    .describe('Of driver capture: where it writes 000001.wav and so on; else below the state directory.'),
  rate: z
    .literal([8000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000])
    .optional()
    .describe('Samples per second the device gets; 48000 unless set, 8000 where a sound is sent by http.'),
  channels: z.literal([1, 2]).optional().describe('1 mono, 2 the same on both; alsa gets 2 unless set, others 1.'),
  partitions: z
    .array(partitionId)
    .min(1)
    .max(32)
    .optional()
    .describe('The partitions it is heard in, such as [p1]; else all.'),
  zone: zoneNumber.optional().describe('The zone it is heard in.'),
  trim_db: z
    .int()
    .min(-30)
    .max(6)
    .default(0)
    .describe('Louder or less loud than the others, in dB; above 0 a loud message may be distorted.'),
  volume_curve: z
    .enum(volumeCurves)
    .default('cubic')
    .describe('How percent become loudness: cubic in even steps to the ear, linear as some devices do.'),
  lead: duration({ min: '0s', max: '5s' })
    .prefault('0s')
    .describe('Silence before each message, for a device that wakes late, or beside one that is slower.'),
  tail: duration({ min: '0s', max: '5s' })
    .prefault('0s')
    .describe('Silence after each message, for a device that cuts its end.'),
  quiet_hours: z.array(quietHours).max(16).default([]).describe('When it plays alarms alone, or the rest less loud.'),
  enabled: z.boolean().default(true).describe('Whether it is used at all.'),
  cloud_device_id: word(255)
    .optional()
    .describe(
      'Id of the device at the service that is this speaker, for messages that only the service holds; the paths of the service on the LAN know it by it, too.',
    ),
});

type Value = z.output<typeof speaker>;
type Key = keyof Value;

interface Keys {
  readonly required: readonly Key[];
  readonly may: readonly Key[];
}

const account: readonly Key[] = ['camera', 'username', 'password', 'tls_fingerprint'];
const samples: readonly Key[] = ['rate', 'channels'];

/** The keys that belong to some drivers alone. */
const keysOf: Readonly<Record<SpeakerDriverName, Keys>> = {
  alsa: { required: ['device'], may: samples },
  pulse: { required: ['sink'], may: ['server', ...samples] },
  onvif: { required: [], may: ['url', 'basic_login', ...account] },
  http: { required: [], may: ['push', 'trigger', 'stop', 'status', 'auth', ...account, ...samples] },
  command: { required: ['command'], may: ['probe', ...samples] },
  capture: { required: [], may: ['folder', ...samples] },
  null: { required: [], may: samples },
};
const allKeys = new Set(Object.values(keysOf).flatMap(({ required, may }) => [...required, ...may]));

/** What is wrong with the keys of a speaker, and at which. */
function* problems(value: Value): Generator<readonly [key: Key, message: string]> {
  const { driver, camera, url, username, password, push, trigger, stop, auth = 'none' } = value;
  const { required, may } = keysOf[driver];
  const has = (key: Key) => value[key] !== undefined;
  for (const key of required) if (!has(key)) yield [key, `driver ${driver} needs it`];
  for (const key of allKeys)
    if (has(key) && !required.includes(key) && !may.includes(key))
      yield [key, `driver ${driver} does not take it; leave it out`];
  const ofCamera = (['username', 'password', 'tls_fingerprint', 'basic_login'] as const).filter(has);
  if (camera !== undefined)
    for (const key of ofCamera) yield [key, 'is that of the camera; leave it out, or the camera'];
  else if ((username === undefined) !== (password === undefined))
    yield username === undefined
      ? ['username', 'is needed with a password']
      : ['password', 'is needed with a username'];
  if (driver === 'onvif' && camera === undefined && url === undefined)
    yield ['camera', 'driver onvif needs it, or a url for a device that is no camera here'];
  if (driver !== 'http') return;
  if ((push === undefined) === (trigger === undefined)) yield ['push', 'or trigger is needed, and only one of them'];
  // A disarm has to silence it within 300 ms (safety 9).
  if (trigger !== undefined && stop === undefined)
    yield ['stop', 'a trigger needs it: what siteward cannot silence must not be made to sound'];
  for (const key of samples)
    if (trigger !== undefined && has(key)) yield [key, 'a trigger does not take it; leave it out'];
  if (auth !== 'none' && camera === undefined && username === undefined)
    yield ['auth', 'needs username and password, or a camera'];
}

/** An entry of `speakers:`. */
export const speakerOptions = speaker.superRefine((value, { addIssue }) => {
  for (const [key, message] of problems(value)) addIssue({ code: 'custom', path: [key], message });
});
/** As configured, the secret still a reference. */
type SpeakerEntry = z.output<typeof speakerOptions>;
/** As the room takes them, the secret resolved. */
export type SpeakerOptions = Omit<SpeakerEntry, 'password'> & { readonly password?: Secret };

/** The `audio:` section: bounds of what is heard on the speakers. */
const selfTest = z.strictObject({
  day: z
    .int()
    .min(1)
    .max(26)
    .default(1)
    .describe('Day of the month, a holiday too; where it is a Saturday or Sunday, the Monday after.'),
  at: localTime.default('11:00').describe("Time of day on the site's own clocks, in quotes."),
  volume: z.int().min(1).max(100).default(20).describe('Percent.'),
});

export const audioOptions = z.strictObject({
  via_cloud: z
    .boolean()
    .default(false)
    .describe(
      'Whether a message that only the service holds is played through it; it cannot be stopped, and nobody tells whether it was heard.',
    ),
  alarm_floor: z
    .int()
    .min(0)
    .max(100)
    .default(0)
    .describe('Least volume of alarms, in percent, whatever was asked for.'),
  longest_alarm: duration({ min: '10s', max: '30m' })
    .prefault('3m')
    .describe('How long one alarm sounds at most; after a minute of silence it may sound anew.'),
  longest_life_safety: duration({ min: '1m', max: '2h' })
    .prefault('30m')
    .describe('The same of fire, gas, a medical alarm and an audible call for help.'),
  probe: duration({ min: '10s', max: '1h' })
    .prefault('5m')
    .describe('How often each speaker is asked, without a sound, whether it is there.'),
  self_test: z
    .union([z.literal('off'), selfTest], 'must be off, or keys with values')
    .prefault({})
    .describe('Once a month each speaker plays a quiet test tone; or off.'),
  memory: size()
    .refine((bytes) => bytes >= 4_000_000, 'must be at least 4MB')
    .default(64_000_000)
    .describe('Memory for messages that are ready to be played.'),
});
export type AudioOptions = z.output<typeof audioOptions>;
