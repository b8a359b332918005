import { isArmed, type PartitionPlan, type SiteEvent, type SiteView } from '#site/model/index.ts';
import type { HaAttributes, HaWord } from './home-assistant-schemas.ts';
import type { PartitionDetail } from './schemas.ts';
import { detailOf, type TopicState } from './state.ts';

/** The site as Home Assistant shows it, where that is not as everybody else reads it. Pure. */

export const haEventTypes = [
  'alarm',
  'alarm_restored',
  'alarm_cancelled',
  'trouble',
  'trouble_restored',
  'armed',
  'disarmed',
  'arm_failed',
  'command_refused',
] as const;
export type HaEventType = (typeof haEventTypes)[number];

export function partitionCopies(view: SiteView, plan: PartitionPlan): TopicState[] {
  const detail = detailOf(view, plan);
  return [
    [`partition/${plan.id}/ha`, haWord(detail)],
    [`partition/${plan.id}/ha_attributes`, JSON.stringify(attributesOf(detail))],
  ];
}

/**
 * What is armed without some of its zones is never shown as armed in full: Home Assistant has a word for it. The mode stands
 * in the attributes.
 */
function haWord({ state, bypassed = [], shut_zones: shut = [] }: PartitionDetail): HaWord {
  if (state === 'unknown') return 'None';
  const isPartly = bypassed.length > 0 || shut.length > 0;
  return isPartly && isArmed(state) ? 'armed_custom_bypass' : state;
}

function attributesOf(detail: PartitionDetail): HaAttributes {
  const { partition: _, name: __, state: ___, seq: ____, epoch: _____, authority: ______, ...rest } = detail;
  const { changed_by, stale, exit_left_s, entry_left_s, abort_left_s, request, ...shown } = rest;
  return shown;
}

/** Its copy of an event; undefined for what it is not told. */
export function haEvent(event: SiteEvent): SiteEvent | undefined {
  const type = haEventType(event);
  return type === undefined ? undefined : { ...event, event_type: type };
}

function haEventType({ class: of, kind, status, late }: SiteEvent): HaEventType | undefined {
  if (of === 'alarm') {
    if (status === 'active') return 'alarm';
    return status === 'cancelled' ? 'alarm_cancelled' : 'alarm_restored';
  }
  if (of === 'trouble' && status !== 'active') return 'trouble_restored';
  if (of === 'trouble') return kind === 'fail_to_arm' ? 'arm_failed' : 'trouble';
  // Automations unlock doors at `disarmed`: what a panel tells out of its memory is no reason to.
  if (of !== 'arming' || late === true) return undefined;
  if (kind === 'disarmed') return 'disarmed';
  return kind.startsWith('armed_') ? 'armed' : undefined;
}
