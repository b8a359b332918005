import { z } from 'zod';
import { cloudOptions } from '#cloud/client/options.ts';
import { audioOptions, speakerOptions } from '#devices/audio/options.ts';
import { ruleOptions } from '#devices/audio/rules/options.ts';
import { mediaOptions } from '#devices/media/options.ts';
import { cameraOptions, nvrOptions } from '#devices/onvif/options.ts';
import { dc09Options, panelOptions } from '#devices/panels/options.ts';
import { httpOptions } from '#lan/http/options.ts';
import { mqttOptions } from '#lan/mqtt/options.ts';
import type { Secret } from '#lib/secret.ts';
import type { SecretRef } from '#lib/secret-ref.ts';
import { storeOptions } from '#site/store/options.ts';
import { verificationOptions } from '#site/verification/options.ts';
import { holidayOptions, scheduleOptions } from './schedule-options.ts';
import {
  armingOptions,
  bridgeOptions,
  crossZonesOptions,
  logOptions,
  partitionOptions,
  siteOptions,
  userOptions,
} from './sections.ts';
import { supervisionOptions } from './supervision.ts';

/** The configuration file. Each room describes its own section in its `options.ts`. */
export const configSchema = z.strictObject({
  site: siteOptions.describe('The site as the cloud service and the monitoring station know it.'),
  bridge: bridgeOptions.describe('This box.'),
  cloud: cloudOptions.optional().describe('The cloud service; without this section siteward works on its own.'),
  mqtt: mqttOptions.prefault({}).describe('The broker of the LAN.'),
  http: httpOptions.prefault({}).describe('The LAN API: its control socket and its HTTPS address (docs/lan-api.md).'),
  partitions: z.array(partitionOptions).min(1).max(32).describe('The parts of the site that are armed on their own.'),
  panels: z.array(panelOptions).max(16).default([]).describe('Alarm panels, each read by a profile.'),
  dc09: dc09Options
    .optional()
    .describe('The receiver of panels that report by SIA DC-09 themselves; without this section nothing listens.'),
  cameras: z.array(cameraOptions).max(64).default([]).describe('ONVIF cameras.'),
  nvrs: z
    .array(nvrOptions)
    .max(16)
    .default([])
    .describe('Network video recorders; each channel that is watched is a camera.'),
  cross_zones: z
    .array(crossZonesOptions)
    .max(64)
    .default([])
    .describe('Pairs of zones that make an alarm only together.'),
  schedules: z.array(scheduleOptions).max(64).default([]).describe('What is done by the clock (docs/schedules.md).'),
  holidays: z.array(holidayOptions).max(366).default([]).describe('Days on which schedules have rules of their own.'),
  users: z.array(userOptions).max(500).default([]).describe('People who may disarm with a code.'),
  arming: armingOptions.prefault({}).describe('How arming and disarming work.'),
  verification: verificationOptions.prefault({}).describe('Who answers requests to verify an alarm.'),
  media: mediaOptions.prefault({}).describe('Pictures that go with alarms.'),
  store: storeOptions.prefault({}).describe('Where events are kept.'),
  supervision: supervisionOptions.prefault({}).describe('How losses of links and devices are noticed and told.'),
  log: logOptions.prefault({}).describe('The log on standard output.'),
  speakers: z.array(speakerOptions).max(64).default([]).describe('Speakers messages are played on (docs/audio.md).'),
  audio: audioOptions.prefault({}).describe('Bounds of what is heard on the speakers.'),
  rules: z
    .array(ruleOptions)
    .max(64)
    .default([])
    .describe('What is played by itself, with an event or by the clock (docs/audio.md).'),
});

/** As written and checked, secrets still references. */
export type Config = z.output<typeof configSchema>;

type Resolved<T> = T extends SecretRef
  ? Secret
  : T extends readonly (infer Item)[]
    ? Resolved<Item>[]
    : T extends object
      ? { [K in keyof T]: Resolved<Exclude<T[K], undefined>> }
      : T;

/** As the rooms get it: secrets resolved, frozen all the way down. A reload makes a new one. */
export type Settings = Readonly<Resolved<Config>>;
