import {
  type ArmMode,
  armModes,
  type CameraPlan,
  dangerTypes,
  isVisibleZone,
  type PartitionPlan,
  type SitePlan,
  type ZonePlan,
} from '#site/model/index.ts';
import { haEventTypes } from './home-assistant-state.ts';
import { audioWords } from './schemas.ts';
import { hasSpeakers } from './state.ts';

/** Home Assistant's device-based discovery: what it is told of the site. Pure. */

export interface HaComponent {
  readonly platform: string;
  readonly [key: string]: unknown;
}

export interface HaConfig {
  readonly device: Readonly<Record<string, unknown>>;
  readonly origin: Readonly<Record<string, unknown>>;
  readonly components: Readonly<Record<string, HaComponent>>;
  readonly [key: string]: unknown;
}

export interface HaDevice {
  /** Its level in the discovery topic, and its identifier. */
  readonly id: string;
  readonly config: HaConfig;
}

export interface HaAbout {
  readonly root: string;
  readonly slug: string;
  readonly version: string;
  /** What people call the site. */
  readonly siteName: string;
  /** Of the bridge. */
  readonly serial: string;
  /** Names of the messages that can be played. */
  readonly messages: readonly string[];
}

/** More zones than this, or more bytes, and each partition becomes a device of its own. */
export const zonesPerDevice = 200;
/** Below the 64 KiB that siteward itself takes in one packet, with its topic. */
export const configBytes = 64_000;

type Entry = readonly [key: string, component: HaComponent];
interface Group {
  readonly id: string;
  readonly name: string;
  readonly entries: readonly Entry[];
}

const siteDeviceId = (slug: string): string => `siteward_${slug}`;

/** Whether a discovery id is one of this site's. A slug has no `_`, so that `hq` never takes what `hq-2` has. */
export function isDeviceOf(slug: string, id: string): boolean {
  const site = siteDeviceId(slug);
  return id === site || id.startsWith(`${site}_`);
}

export function haDevices(plan: SitePlan, about: HaAbout): HaDevice[] {
  // Silent hold-up changes nothing visible (safety 4).
  const zones = plan.zones.filter(isVisibleZone);
  const site = [
    ...siteEntries(about),
    ...plan.cameras.flatMap((camera) => cameraEntries(camera, about)),
    ...(hasSpeakers(plan) ? audioEntries(about) : []),
  ];
  const panels = plan.partitions.map((partition) => partitionEntry(partition, plan, about));
  const whole = groupOf(about, [...panels, ...zones.map((zone) => zoneEntry(zone, about)), ...site]);
  if (zones.length <= zonesPerDevice && fits(whole, about)) return [deviceOf(whole, about)];
  const parts = plan.partitions.map((partition, index): Group => {
    const own = zones.filter(({ partitions: [first] }) => first === partition.id);
    const entries = [panels[index], ...own.map((zone) => zoneEntry(zone, about))].filter((one) => one !== undefined);
    return { id: `${siteDeviceId(about.slug)}_${partition.id}`, name: partition.name, entries };
  });
  const known = new Set(plan.partitions.map(({ id }) => id));
  const stray = zones.filter(({ partitions: [first] }) => first === undefined || !known.has(first));
  const rest = groupOf(about, [...site, ...stray.map((zone) => zoneEntry(zone, about))]);
  return [rest, ...parts].flatMap((group) => split(group, about)).map((group) => deviceOf(group, about));
}

const groupOf = ({ slug, siteName }: HaAbout, entries: readonly Entry[]): Group => ({
  id: siteDeviceId(slug),
  name: siteName,
  entries,
});

function fits(group: Group, about: HaAbout): boolean {
  return Buffer.byteLength(JSON.stringify(deviceOf(group, about).config)) <= configBytes;
}

/** In order, each device as full as it may be. */
function split(group: Group, about: HaAbout): Group[] {
  const { id, name } = group;
  const shell = Buffer.byteLength(JSON.stringify(deviceOf({ ...group, entries: [] }, about).config));
  const pages: Entry[][] = [];
  let bytes = configBytes;
  for (const entry of group.entries) {
    const more = Buffer.byteLength(JSON.stringify(entry)) + 2;
    const page = pages.at(-1);
    if (page === undefined || page.length >= zonesPerDevice || bytes + more > configBytes) {
      pages.push([entry]);
      // Numbers behind the id and the name.
      bytes = shell + 32 + more;
    } else {
      page.push(entry);
      bytes += more;
    }
  }
  return pages.map((entries, index) =>
    index === 0 ? { id, name, entries } : { id: `${id}_${index + 1}`, name: `${name} ${index + 1}`, entries },
  );
}

function deviceOf({ id, name, entries }: Group, about: HaAbout): HaDevice {
  const { root, slug, version, serial } = about;
  const site = siteDeviceId(slug);
  return {
    id,
    config: {
      device: {
        identifiers: [id],
        name,
        manufacturer: 'siteward',
        model: id === site ? 'bridge' : 'partition',
        sw_version: version,
        ...(id === site ? { serial_number: serial } : { via_device: site }),
      },
      origin: { name: 'siteward', sw_version: version },
      // A list here and in the components: one that has its own takes the place of this one.
      availability: [{ topic: `${root}/status` }],
      availability_mode: 'all',
      qos: 1,
      components: Object.fromEntries(entries),
    },
  };
}

/** siteward is there, and so is what this hangs on. */
const hangsOn = ({ root }: HaAbout, topic: string) => ({
  availability: [{ topic: `${root}/status` }, { topic: `${root}/${topic}` }],
});

const entry = ({ slug }: HaAbout, key: string, component: HaComponent): Entry => {
  const { platform, ...rest } = component;
  return [key, { platform, unique_id: `${siteDeviceId(slug)}_${key}`, ...rest }];
};

/** What HA makes of a key press. `code` is `None` where nobody typed one. */
const commandTemplate =
  '{"action":"{{ action }}","code":"{{ code or \'\' }}","issued_at":"{{ utcnow().isoformat() }}"}';

const features: Readonly<Record<ArmMode, string>> = {
  home: 'arm_home',
  away: 'arm_away',
  night: 'arm_night',
  vacation: 'arm_vacation',
  custom: 'arm_custom_bypass',
};

function partitionEntry(partition: PartitionPlan, plan: SitePlan, about: HaAbout): Entry {
  const { id, name, authority, modes = armModes } = partition;
  const { root } = about;
  const arms = modes.map((mode) => features[mode]);
  return entry(about, id, {
    platform: 'alarm_control_panel',
    name,
    state_topic: `${root}/partition/${id}/ha`,
    command_topic: `${root}/cmd/ha/${id}`,
    command_template: commandTemplate,
    supported_features: [...(authority === 'external' ? [] : arms), 'trigger'],
    code: 'REMOTE_CODE',
    code_arm_required: false,
    code_disarm_required: plan.disarmNeedsCode,
    code_trigger_required: false,
    json_attributes_topic: `${root}/partition/${id}/ha_attributes`,
    retain: false,
    ...hangsOn(about, `partition/${id}/availability`),
  });
}

const deviceClasses: Readonly<Partial<Record<ZonePlan['type'], string>>> = {
  entry_exit_1: 'door',
  entry_exit_2: 'door',
  final_exit: 'door',
  perimeter: 'opening',
  '24h_burglary': 'opening',
  interior_follower: 'motion',
  interior_delay: 'motion',
  video_person_perimeter: 'occupancy',
  video_person_interior: 'occupancy',
  video_line_cross: 'motion',
  tamper_24h: 'tamper',
  fire: 'smoke',
  co: 'carbon_monoxide',
  gas: 'gas',
  water: 'moisture',
  medical: 'safety',
  panic_audible: 'safety',
};

function zoneEntry({ number, name, type }: ZonePlan, about: HaAbout): Entry {
  const { root } = about;
  const deviceClass = deviceClasses[type];
  return entry(about, `z${number}`, {
    platform: 'binary_sensor',
    name,
    ...(deviceClass !== undefined && { device_class: deviceClass }),
    // A detector of danger tells its alarm, and need not tell that it opens.
    ...(dangerTypes.has(type)
      ? {
          state_topic: `${root}/zone/${number}/detail`,
          value_template:
            "{{ 'ON' if value_json.alarm or value_json.open else 'None' if value_json.open is none else 'OFF' }}",
        }
      : // Empty means that nothing is known, which HA would take for no news.
        { state_topic: `${root}/zone/${number}/state`, value_template: "{{ value or 'None' }}" }),
    ...hangsOn(about, `zone/${number}/availability`),
  });
}

function cameraEntries({ id, name }: CameraPlan, about: HaAbout): Entry[] {
  const { root } = about;
  const camera = hangsOn(about, `camera/${id}/availability`);
  return [
    entry(about, `image_${id}`, {
      platform: 'image',
      name,
      image_topic: `${root}/camera/${id}/image`,
      content_type: 'image/jpeg',
      ...camera,
    }),
    entry(about, `shot_${id}`, {
      platform: 'button',
      name: `${name} picture`,
      command_topic: `${root}/cmd/ha/snapshot/${id}`,
      payload_press: 'PRESS',
      ...camera,
    }),
  ];
}

/** There is no media player in MQTT discovery: a message, a volume, two buttons and what is heard. */
function audioEntries(about: HaAbout): Entry[] {
  const { root, messages } = about;
  const command = (what: string) => ({ command_topic: `${root}/cmd/ha/audio/${what}`, retain: false });
  return [
    entry(about, 'audio_msg', {
      platform: 'select',
      name: 'Audio message',
      ...command('select'),
      state_topic: `${root}/audio/selected`,
      options: [...messages],
    }),
    entry(about, 'audio_vol', {
      platform: 'number',
      name: 'Audio volume',
      ...command('volume'),
      state_topic: `${root}/audio/volume`,
      ...{ min: 0, max: 100, step: 1, mode: 'slider', unit_of_measurement: '%' },
    }),
    entry(about, 'audio_play', { platform: 'button', name: 'Play audio', ...command('play'), payload_press: 'PRESS' }),
    entry(about, 'audio_stop', { platform: 'button', name: 'Stop audio', ...command('stop'), payload_press: 'PRESS' }),
    entry(about, 'audio_state', {
      platform: 'sensor',
      name: 'Audio',
      device_class: 'enum',
      state_topic: `${root}/audio/state`,
      options: [...audioWords],
    }),
  ];
}

function siteEntries(about: HaAbout): Entry[] {
  const { root } = about;
  const diagnostic = { entity_category: 'diagnostic' };
  return [
    entry(about, 'problem', {
      platform: 'binary_sensor',
      name: 'Trouble',
      device_class: 'problem',
      ...diagnostic,
      state_topic: `${root}/problem`,
      json_attributes_topic: `${root}/trouble`,
    }),
    entry(about, 'cloud', {
      platform: 'binary_sensor',
      name: 'Monitoring link',
      device_class: 'connectivity',
      ...diagnostic,
      state_topic: `${root}/link/cloud`,
      payload_on: 'online',
      payload_off: 'offline',
    }),
    entry(about, 'outbox', {
      platform: 'sensor',
      name: 'Outbox depth',
      state_class: 'measurement',
      ...diagnostic,
      state_topic: `${root}/outbox`,
      value_template: '{{ value_json.depth }}',
    }),
    entry(about, 'event', {
      platform: 'event',
      name: 'Event',
      state_topic: `${root}/event/ha`,
      event_types: [...haEventTypes],
    }),
  ];
}
