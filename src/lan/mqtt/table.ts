import type { z } from 'zod';
import { armingWords, playbackShown } from '#site/model/index.ts';
import { auditLine } from './audit-feed.ts';
import * as ha from './home-assistant-schemas.ts';
import * as schemas from './schemas.ts';

/**
 * The MQTT surface as one table. From it come validation, the authoriser of the embedded broker and the ACL file of
 * mosquitto; later verbs, roles and discovery are added here and nowhere else.
 */

export const roles = [
  'siteward',
  'viewer',
  'keypad',
  'ha',
  'ha-trusted',
  'guard',
  'audio',
  'bridge',
  'technician',
  'platform',
  'auditor',
  'local',
] as const;
/**
 * `local` is whoever connects to a loopback listener without a name: what keypad, technician and Home Assistant may do.
 * `ha-trusted` is `ha`, and may disarm by the bare word where the site asks for no code.
 */
export type Role = (typeof roles)[number];

export type Payload =
  /** One of these words; where `or` stands, such an object too. */
  | { readonly words: readonly string[]; readonly or?: z.ZodType }
  | { readonly json: z.ZodType }
  /** Free text, and what it says. */
  | { readonly text: string };

export interface TopicSpec {
  /** Below the root. `{name}` stands for one level; `{client}` for the client's own name. */
  readonly topic: string;
  readonly payload: Payload;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  readonly read: readonly Role[];
  readonly write: readonly Role[];
}

const availability: Payload = { words: ['online', 'offline'] };
const onOff: Payload = { words: ['ON', 'OFF'] };

const homeAssistant = ['ha', 'ha-trusted'] as const;
const watchers = ['siteward', 'viewer', 'keypad', ...homeAssistant, 'guard', 'technician', 'local'] as const;
const fullState = ['siteward', ...homeAssistant, 'technician', 'local'] as const;
const haCopy = ['siteward', ...homeAssistant, 'local'] as const;
const listeners = [...fullState, 'audio'] as const;
const siteward = ['siteward'] as const;
const askers = ['siteward', 'keypad', ...homeAssistant, 'guard', 'audio', 'technician', 'platform', 'local'] as const;

const state = { qos: 1, retain: true, write: siteward } as const;
const live = { qos: 1, retain: false, write: siteward } as const;
/** siteward may write here too, only to clear a retained command away. */
const command = { qos: 1, retain: false, read: siteward } as const;

/** Order matters to nobody but the reader: sections 2 and 5 of the MQTT notes. */
export const topicTable = {
  status: { topic: 'status', payload: availability, ...state, read: watchers },
  info: { topic: 'info', payload: { json: schemas.info }, ...state, read: watchers },
  linkCloud: { topic: 'link/cloud', payload: availability, ...state, read: fullState },
  linkPanel: { topic: 'link/panel/{id}', payload: availability, ...state, read: fullState },
  linkNvr: { topic: 'link/nvr/{id}', payload: availability, ...state, read: fullState },
  partitionState: { topic: 'partition/{id}/state', payload: { words: armingWords }, ...state, read: watchers },
  partitionDetail: {
    topic: 'partition/{id}/detail',
    payload: { json: schemas.partitionDetail },
    ...state,
    read: watchers,
  },
  partitionAvailability: { topic: 'partition/{id}/availability', payload: availability, ...state, read: watchers },
  partitionHa: { topic: 'partition/{id}/ha', payload: { words: ha.haWords }, ...state, read: haCopy },
  partitionHaAttributes: {
    topic: 'partition/{id}/ha_attributes',
    payload: { json: ha.haAttributes },
    ...state,
    read: haCopy,
  },
  zoneState: { topic: 'zone/{id}/state', payload: onOff, ...state, read: watchers },
  zoneDetail: { topic: 'zone/{id}/detail', payload: { json: schemas.zoneDetail }, ...state, read: watchers },
  zoneAvailability: { topic: 'zone/{id}/availability', payload: availability, ...state, read: watchers },
  problem: { topic: 'problem', payload: onOff, ...state, read: watchers },
  trouble: { topic: 'trouble', payload: { json: schemas.trouble }, ...state, read: fullState },
  outbox: { topic: 'outbox', payload: { json: schemas.outbox }, ...state, qos: 0, read: fullState },
  cameraAvailability: { topic: 'camera/{id}/availability', payload: availability, ...state, read: watchers },
  cameraMeta: { topic: 'camera/{id}/meta', payload: { json: schemas.cameraMeta }, ...state, read: fullState },
  /** Not retained unless the site wants it: who comes later need not see it (safety 11). */
  cameraImage: {
    topic: 'camera/{id}/image',
    payload: { text: 'a JPEG of at most 512 KiB; retained with `mqtt.retain_images`' },
    ...live,
    qos: 0,
    read: [...fullState, 'guard'],
  },
  audioMessages: { topic: 'audio/messages', payload: { json: schemas.audioMessages }, ...state, read: listeners },
  audioState: { topic: 'audio/state', payload: { words: schemas.audioWords }, ...state, read: listeners },
  audioPlayback: { topic: 'audio/playback/{id}', payload: { json: playbackShown }, ...state, read: listeners },
  /** What Home Assistant has set for its button. */
  audioSelected: {
    topic: 'audio/selected',
    payload: { text: 'the name of a message, or `(none)`' },
    ...state,
    read: [...haCopy, 'audio'],
  },
  audioVolume: { topic: 'audio/volume', payload: { text: '0 to 100' }, ...state, read: [...haCopy, 'audio'] },
  verification: {
    topic: 'verification/{id}',
    payload: { json: schemas.verification },
    ...state,
    read: [...fullState, 'guard'],
  },
  eventArming: {
    topic: 'event/arming',
    payload: { json: schemas.eventPayload },
    ...live,
    read: ['siteward', 'keypad', 'guard', 'local'],
  },
  eventHa: { topic: 'event/ha', payload: { json: schemas.eventPayload }, ...live, read: haCopy },
  event: {
    topic: 'event/{class}',
    payload: { json: schemas.eventPayload },
    ...live,
    read: ['siteward', 'guard', 'local'],
  },
  /** Only what everybody may see: brokers, and who runs them, are no auditors (safety 4). */
  logAudit: { topic: 'log/audit', payload: { json: auditLine }, ...live, read: ['siteward', 'auditor'] },
  cmdArm: {
    topic: 'cmd/arm',
    payload: { json: schemas.armBody },
    ...command,
    write: ['siteward', 'keypad', 'local'],
  },
  cmdDisarm: {
    topic: 'cmd/disarm',
    payload: { json: schemas.disarmBody },
    ...command,
    write: ['siteward', 'keypad', 'local'],
  },
  cmdBypass: {
    topic: 'cmd/bypass',
    payload: { json: schemas.bypassBody },
    ...command,
    write: ['siteward', 'technician', 'local'],
  },
  cmdPanic: {
    topic: 'cmd/panic',
    payload: { json: schemas.panicBody },
    ...command,
    write: ['siteward', 'keypad', 'guard', 'local'],
  },
  cmdSilence: {
    topic: 'cmd/silence',
    payload: { json: schemas.silenceBody },
    ...command,
    write: ['siteward', 'keypad', 'guard', 'local'],
  },
  cmdClearMemory: {
    topic: 'cmd/clear_memory',
    payload: { json: schemas.clearMemoryBody },
    ...command,
    write: ['siteward', 'keypad', 'technician', 'local'],
  },
  cmdTest: {
    topic: 'cmd/test',
    payload: { json: schemas.testBody },
    ...command,
    write: ['siteward', 'technician', 'local'],
  },
  cmdPostpone: {
    topic: 'cmd/postpone',
    payload: { json: schemas.postponeBody },
    ...command,
    write: ['siteward', 'keypad', 'local'],
  },
  cmdQuery: {
    topic: 'cmd/query',
    payload: { json: schemas.queryBody },
    ...command,
    write: ['siteward', 'keypad', 'technician', 'local'],
  },
  cmdPing: {
    topic: 'cmd/ping',
    payload: { json: schemas.pingBody },
    ...command,
    // The platform hands on requests and may do nothing else.
    write: askers.filter((role) => role !== 'platform'),
  },
  cmdSnapshot: {
    topic: 'cmd/snapshot',
    payload: { json: schemas.snapshotBody },
    ...command,
    write: ['siteward', ...homeAssistant, 'guard', 'technician', 'local'],
  },
  cmdPlay: {
    topic: 'cmd/play',
    payload: { json: schemas.playBody },
    ...command,
    write: ['siteward', ...homeAssistant, 'guard', 'audio', 'technician', 'local'],
  },
  cmdCancel: {
    topic: 'cmd/cancel',
    payload: { json: schemas.cancelBody },
    ...command,
    write: ['siteward', ...homeAssistant, 'audio', 'local'],
  },
  cmdDispatch: {
    topic: 'cmd/dispatch',
    payload: { json: schemas.dispatchBody },
    ...command,
    write: ['siteward', 'guard', 'local'],
  },
  cmdVerify: {
    topic: 'cmd/verify',
    payload: { json: schemas.verifyBody },
    ...command,
    write: ['siteward', 'guard', 'local'],
  },
  cmdHa: {
    topic: 'cmd/ha/{id}',
    payload: { words: ha.haActions, or: ha.haCommand },
    ...command,
    write: haCopy,
  },
  cmdHaSnapshot: { topic: 'cmd/ha/snapshot/{id}', payload: { words: ['PRESS'] }, ...command, write: haCopy },
  cmdHaAudio: {
    topic: 'cmd/ha/audio/{id}',
    payload: { text: 'PRESS, the name of a message, or a volume' },
    ...command,
    write: haCopy,
  },
  cmdWatch: {
    topic: 'cmd/watch',
    payload: { json: schemas.watchBody },
    ...command,
    write: ['siteward', 'technician', 'local'],
  },
  panelRaw: {
    topic: 'panel/raw/{id}',
    payload: { json: schemas.panelRaw },
    ...live,
    qos: 0,
    read: ['siteward', 'technician', 'local'],
  },
  inVerification: {
    topic: 'in/verification',
    payload: { json: schemas.verificationIn },
    ...command,
    write: ['siteward', 'platform'],
  },
  reply: { topic: 'reply/{client}/{id}', payload: { json: schemas.reply }, ...live, read: askers },
} as const satisfies Record<string, TopicSpec>;

export const topicSpecs: readonly TopicSpec[] = Object.values(topicTable);

/** What somebody asks of this site: a command, or a verification. */
export const isForSite = (root: string, topic: string): boolean =>
  topic.startsWith(`${root}/cmd/`) || topic === `${root}/in/verification`;

/** Of a command; what else a client writes there stands in no log of ours. */
export const isVerb = (text: string): boolean => topicSpecs.some(({ topic }) => topic === `cmd/${text}`);

/** Slugs of `site.external_id`: the only text of a site in a topic. */
const siteSlug = /^[a-z0-9-]{1,32}$/;

export function rootOf(slug: string): string {
  if (!siteSlug.test(slug)) throw new TypeError('the site slug must be 1 to 32 lower-case letters, digits or -');
  return `siteward/1/${slug}`;
}

/** The filters below `root` a role may read or write; `self` is the client's own name. */
export function filtersOf(root: string, role: Role, self: string, access: 'read' | 'write'): string[] {
  return topicSpecs
    .filter((spec) => spec[access].includes(role))
    .map((spec) => `${root}/${fill(spec.topic, role, self)}`);
}

/**
 * The filters of Home Assistant's own topics, which are not below the root: discovery under `prefix`, and its birth and
 * will. It reads what everybody announces.
 */
export function discoveryFilters(prefix: string | undefined, role: Role, access: 'read' | 'write'): string[] {
  if (prefix === undefined) return [];
  const [status, devices] = [`${prefix}/status`, `${prefix}/device/+/config`];
  if (role === 'siteward') return access === 'read' ? [status, devices] : [devices];
  if (role !== 'ha' && role !== 'ha-trusted') return [];
  return access === 'read' ? [`${prefix}/#`] : [status];
}

/**
 * Names of clients without a name prove nothing, so `local` reads every reply. A reply id may have several levels
 * (`reply/kp1/door/7`), hence the `#`.
 */
function fill(topic: string, role: Role, self: string): string {
  const anyone = role === 'local' || role === 'siteward';
  return topic.replace('{client}/{id}', `${anyone ? '+' : self}/#`).replaceAll(/\{\w+\}/g, '+');
}
