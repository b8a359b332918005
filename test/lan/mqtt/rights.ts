import type { Role } from '../../../src/lan/mqtt/table.ts';
import { root } from './harness.ts';

/**
 * Who may read and write what, by hand from what each role is for and not from the table, so that a mistake in the table
 * shows. A new row of the table needs its topic here (`acl-matrix.test.ts`).
 */

const words = (text: string) => text.split(/\s+/).filter((word) => word !== '');

/** Below the root. What a viewer sees; `full` is what stands on it. */
const viewer = `status info problem partition/p1/state partition/p1/detail partition/p1/availability
  zone/1/state zone/1/detail zone/1/availability camera/yard/availability`;
const sound = 'audio/messages audio/state audio/playback/pb-1';
const full = `${viewer} ${sound} link/cloud link/panel/main link/nvr/lobby trouble outbox camera/yard/meta camera/yard/image verification/v1`;
const set = 'audio/selected audio/volume';
const haCopies = `partition/p1/ha partition/p1/ha_attributes event/ha ${set}`;
const haCommands = 'cmd/ha/p1 cmd/ha/snapshot/yard cmd/ha/audio/play';

const discovery = ['homeassistant/status', 'homeassistant/device/siteward_hq/config'];
/** Not siteward's: what a panel's bridge tells and takes, and another site. */
export const panelTopics = ['paradox/states/zones/Front/open', 'paradox/control/partitions/Area_1'];

export const topics: readonly string[] = [
  ...words(`${full} ${haCopies} ${haCommands}`),
  ...words('event/alarm event/arming event/trouble reply/me/1 reply/me/door/7 reply/you/1 in/verification log/audit'),
  ...words(
    'cmd/arm cmd/disarm cmd/bypass cmd/clear_memory cmd/test cmd/postpone cmd/query cmd/verify cmd/panic cmd/silence cmd/ping',
  ),
  ...words('cmd/snapshot cmd/play cmd/cancel cmd/dispatch cmd/watch panel/raw/main'),
]
  .map((topic) => `${root}/${topic}`)
  .concat(discovery, panelTopics)
  .concat(['siteward/1/other/status', 'siteward/1/other/cmd/arm', 'siteward/2/x', '$SYS/broker/version']);

const own = 'reply/me/1 reply/me/door/7';
/** Names behind the mark are not below the root. */
export const readable: Partial<Record<Role, string>> = {
  viewer,
  keypad: `${viewer} event/arming ${own}`,
  ha: `${full} ${haCopies} ${own} ! ${discovery.join(' ')}`,
  'ha-trusted': `${full} ${haCopies} ${own} ! ${discovery.join(' ')}`,
  guard: `${viewer} camera/yard/image verification/v1 event/alarm event/arming event/trouble event/ha ${own}`,
  audio: `${sound} ${set} ${own}`,
  bridge: `! homeassistant/status ${panelTopics.join(' ')}`,
  technician: `${full} panel/raw/main ${own}`,
  platform: own,
  auditor: 'log/audit',
  local: `${full} panel/raw/main ${haCopies} event/alarm event/arming event/trouble ${own} reply/you/1 ! ${discovery.join(' ')} ${panelTopics.join(' ')}`,
};
export const writable: Partial<Record<Role, string>> = {
  keypad: 'cmd/arm cmd/disarm cmd/clear_memory cmd/postpone cmd/query cmd/panic cmd/silence cmd/ping',
  technician: 'cmd/bypass cmd/clear_memory cmd/test cmd/query cmd/ping cmd/snapshot cmd/play cmd/watch',
  audio: 'cmd/ping cmd/play cmd/cancel',
  guard: 'cmd/verify cmd/panic cmd/silence cmd/ping cmd/snapshot cmd/play cmd/dispatch',
  ha: `${haCommands} cmd/ping cmd/snapshot cmd/play cmd/cancel ! homeassistant/status`,
  'ha-trusted': `${haCommands} cmd/ping cmd/snapshot cmd/play cmd/cancel ! homeassistant/status`,
  platform: 'in/verification',
  bridge: `! homeassistant/status ${panelTopics.join(' ')}`,
  local: `cmd/arm cmd/disarm cmd/bypass cmd/clear_memory cmd/test cmd/postpone cmd/query cmd/verify cmd/panic cmd/silence cmd/ping cmd/snapshot cmd/play cmd/cancel cmd/dispatch cmd/watch ${haCommands} ! ${discovery.join(' ')} ${panelTopics.join(' ')}`,
};

/** The topics of such a text, whole. */
export function expand(text = ''): readonly string[] {
  const [ours = '', others = ''] = text.split('!');
  return [...words(ours).map((topic) => `${root}/${topic}`), ...words(others)];
}

/** Those of `topics` that the text names. */
export const among = (text = ''): readonly string[] => topics.filter((topic) => expand(text).includes(topic));
