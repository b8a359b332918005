import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { loadConfig, type Settings } from '#config/index.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import { watchClock } from '#site/clock-quality.ts';
import type { AudioPort } from '#site/model/index.ts';
import { audioPort } from '../../src/daemon/audio-port.ts';
import { noteIn } from '../../src/daemon/audit-wiring.ts';
import type { House } from '../../src/daemon/house.ts';
import { outboxCount } from '../../src/daemon/outbox-count.ts';
import { siteSlots } from '../../src/daemon/site.ts';
import { createSlots, type Slots } from '../../src/daemon/slots.ts';
import { quiet } from '../cloud/support.ts';

/** The parts of a daemon that messages on speakers need, over a state directory. */
export interface AudioSite {
  readonly house: House;
  readonly slots: Slots<Settings>;
  readonly port: AudioPort;
  start(yaml: string): Promise<void>;
  reload(yaml: string): Promise<readonly string[]>;
}

/** Alarm panel-less: siteward's own engine, with a detector on a camera, a hold-up button and a silent one. */
export const place = (
  dir: string,
  siteId = '4711',
  language = 'en-US',
) => `site: { id: "${siteId}", language: ${language}, external_id: sound, timezone: Europe/Berlin, security_type: 3 }
bridge: { external_id: b }
store: { dir: ${dir} }
partitions: [ { id: p1, name: Home, exit_delay: 0s, entry_delay: 0s }, { id: p2, name: Barn, exit_delay: 0s } ]
users: [ { id: anna, name: Anna, code: { env: AUDIO_CODE }, duress_code: { env: AUDIO_DURESS } } ]
`;
export const codes = { AUDIO_CODE: '2580', AUDIO_DURESS: '2581' };

export function audioSite(
  dir: string,
  {
    siteId,
    language,
    log = quiet,
    clock = systemClock(),
  }: { siteId?: string; language?: string; log?: Logger; clock?: Clock } = {},
): AudioSite {
  Object.assign(process.env, codes);
  const house: House = {};
  const quality = watchClock({ clock, log: quiet, isSynchronised: () => true });
  let current: Settings | undefined;
  const settings = () => {
    if (current === undefined) throw new Error('no settings were read');
    return current;
  };
  const read = (yaml: string) => {
    mkdirSync(dir, { recursive: true });
    const file = join(dir, 'siteward.yaml');
    writeFileSync(file, `${place(dir, siteId, language)}${yaml}`);
    current = loadConfig(file).settings;
    return current;
  };
  const all = siteSlots(house, {
    ...{ clock, quality, settings, profiles: [] },
    count: outboxCount(house),
    log,
    lan: fakeLanPort(0),
  });
  const names = ['store', 'controller', 'codes', 'audio', 'audio-catalogue', 'cameras'];
  const slots = createSlots({
    slots: all.filter(({ name }) => names.includes(name)),
    processMetrics: new Registry(),
    log: quiet,
  });
  return {
    ...{ house, slots },
    port: audioPort({ house, settings, note: noteIn(house), clock }),
    start: (yaml) => slots.start(read(yaml)),
    reload: (yaml) => slots.reload(read(yaml)),
  };
}

/** What a capturing speaker has heard, the oldest first. */
export function heardFiles(dir: string, speaker: string): string[] {
  const folder = join(dir, 'speakers', speaker);
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.wav'))
      .sort()
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}
