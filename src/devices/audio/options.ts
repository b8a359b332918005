import { z } from 'zod';
import { duration, size } from '#lib/duration.ts';
import { deviceId, localTime, partitionId, weekday, zoneNumber } from '#site/model/index.ts';
import { volumeCurves } from './gain.ts';

const name = z.string().min(1).max(64);
/** One line, of which programs may see every character. */
const word = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^\P{Cc}*$/u, 'must not hold control characters');
const program = z.array(word(500)).min(1).max(32);
const path = z.string().max(1000).regex(/^\//, 'must be an absolute path');

export const speakerDrivers = ['alsa', 'pulse', 'command', 'capture', 'null'] as const;
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
      'How it is reached: alsa a sound card, pulse a sink of PulseAudio or PipeWire, command a program of yours, capture files, "null" (in quotes) nothing.',
    ),
  device: word(200)
    .optional()
    .describe('Of driver alsa, required: the device as `aplay -L` names it, by the name of the card.'),
  sink: word(200).optional().describe('Of driver pulse, required: the sink as `pactl list short sinks` names it.'),
  server: word(200)
    .optional()
    .describe("Of driver pulse: its server, such as unix:/run/user/1000/pulse/native; else that of siteward's user."),
  command: program
    .optional()
    .describe(
      'Of driver command, required: program and arguments; no shell reads them. {file} stands for a wav file; without it the wav comes to its input.',
    ),
  probe: program.optional().describe('Of driver command: what ends with 0 while the speaker is well.'),
  folder: path
    .optional()
    .describe('Of driver capture: where it writes 000001.wav and so on; else below the state directory.'),
  rate: z
    .literal([8000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000])
    .default(48_000)
    .describe('Samples per second the device gets.'),
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
    .describe('Id of the device at the service that is this speaker, for messages that only the service holds.'),
});

type Key = keyof z.output<typeof speaker>;

/** The keys that belong to one driver alone; the first of each is required. */
const keysOf: Readonly<Record<SpeakerDriverName, { readonly required: readonly Key[]; readonly may: readonly Key[] }>> =
  {
    alsa: { required: ['device'], may: [] },
    pulse: { required: ['sink'], may: ['server'] },
    command: { required: ['command'], may: ['probe'] },
    capture: { required: [], may: ['folder'] },
    null: { required: [], may: [] },
  };
const allKeys = Object.values(keysOf).flatMap(({ required, may }) => [...required, ...may]);

/** An entry of `speakers:`. */
export const speakerOptions = speaker.superRefine((value, { addIssue }) => {
  const { required, may } = keysOf[value.driver];
  for (const key of required)
    if (value[key] === undefined) addIssue({ code: 'custom', path: [key], message: `driver ${value.driver} needs it` });
  for (const key of allKeys)
    if (value[key] !== undefined && !required.includes(key) && !may.includes(key))
      addIssue({ code: 'custom', path: [key], message: `driver ${value.driver} does not take it; leave it out` });
});
export type SpeakerOptions = z.output<typeof speakerOptions>;

/** The `audio:` section: bounds of what is heard on the speakers. */
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
  memory: size()
    .refine((bytes) => bytes >= 4_000_000, 'must be at least 4MB')
    .default(64_000_000)
    .describe('Memory for messages that are ready to be played.'),
});
export type AudioOptions = z.output<typeof audioOptions>;
