import {
  alarming,
  type Command,
  type CommandResult,
  type EventDraft,
  isSet,
  type PartitionId,
  type ScheduleId,
  type ScheduleNote,
  type ZoneNumber,
} from '#site/model/index.ts';
import { coded, emit, localEvent, place } from './events.ts';
import { noteUnarmed } from './unarmed.ts';
import { own, type Work } from './work.ts';

/** How a schedule stands in records as the source of its commands. */
const clientPrefix = 'schedule:';
export const clientOf = (id: ScheduleId): string => `${clientPrefix}${id}`;

/** Something a schedule tells that calls nobody. */
export function scheduleEvent(
  work: Work,
  event: Pick<EventDraft, 'class' | 'kind'> & { readonly schedule: ScheduleNote } & Partial<EventDraft>,
): void {
  localEvent(work, { source: 'schedule', ...event });
}

/** Zone numbers that are named; their count is always told. */
const namedCap = 24;

/**
 * Safety 7: a partition that should be armed now and is not. It is signalled, because a station that supervises the
 * closing of a shop is the one who learns of it; `quiet` where it is not sure that the time was the true one. On the
 * site it shows until somebody has seen to it.
 */
export function failToArm(
  work: Work,
  partition: PartitionId,
  about: { schedule: ScheduleNote & { readonly reason: string }; zones?: readonly ZoneNumber[] | undefined },
  how: { readonly late?: boolean; readonly quiet?: boolean } = {},
): void {
  const { schedule, zones = [] } = about;
  work.rules.add('safety 7');
  const why = zones.length === 0 ? schedule.reason : `${schedule.reason}: zones ${zones.join(', ')}`;
  emit(work, {
    class: 'trouble',
    kind: 'fail_to_arm',
    status: 'active',
    lane: 'trouble',
    ...place(work, { partition }),
    ...coded('trouble', 'fail_to_arm', 'active'),
    source: 'schedule',
    actor: schedule.id,
    ...(how.late === true && { late: true }),
    schedule,
    detail: `not armed by schedule ${schedule.id}: ${why}`.slice(0, 512),
    ...(zones.length > 0 && {
      evidence: [{ type: 'not_ready', count: zones.length, zones: zones.slice(0, namedCap).join(' ') }],
    }),
    signalToStation: how.quiet !== true,
    toCloud: true,
    media: [],
  });
  if (how.quiet === true) return;
  const named = zones.length === 0 ? {} : { zones: zones.slice(0, namedCap) };
  noteUnarmed(work, partition, { schedule: schedule.id, at: work.at.wall, reason: schedule.reason, ...named });
}

/** It was time, and nothing was done; for the site's own history. */
export function notRun(
  work: Work,
  schedule: ScheduleNote & { readonly reason: string },
  partition?: PartitionId,
): void {
  scheduleEvent(work, { class: 'system', kind: 'schedule_not_run', ...place(work, { partition }), schedule });
}

/** Armed, also where an alarm runs on top of it. */
export function isArmedNow(work: Work, id: PartitionId): boolean {
  const partition = own(work.state.partitions, id);
  if (partition === undefined) return false;
  const { state, mode } = partition;
  return isSet(state) && (!alarming(state) || mode !== null);
}

/** What came of a command of a schedule, also of one that a panel was asked for. */
export function scheduleAnswered(
  work: Work,
  { verb, client }: Pick<Command, 'verb' | 'client'>,
  { error, outcome, partition }: CommandResult,
): void {
  if (error === undefined || partition === undefined || partition === 'all') return;
  const schedule = { id: client.slice(clientPrefix.length), reason: error.code };
  // Somebody on the site decided otherwise a moment before and knows; of a site that is only watched nobody expects it.
  const isOthers = outcome === 'superseded' || error.code === 'NOT_CONTROLLED';
  if (verb !== 'arm' || isOthers) notRun(work, schedule, partition);
  else if (!isArmedNow(work, partition)) failToArm(work, partition, { schedule, zones: error.zones });
}
