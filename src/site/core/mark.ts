import type { PartitionId, PartitionState } from '#site/model/index.ts';
import type { Decision, SiteState } from './types.ts';

/** What came of an input, in words that can be compared between two versions of siteward. */
export interface DecisionMark {
  /** Rules that decided, such as "C3". */
  readonly rules: readonly string[];
  /** How the partitions stand that changed, such as "armed_away away 7". */
  readonly partitions?: Readonly<Record<PartitionId, string>>;
  /** Outcomes of commands, such as "refused BAD_CODE". */
  readonly replies?: readonly string[];
  /** Events, such as "alarm burglary active". */
  readonly events?: readonly string[];
}

/** Nothing silent is in it (safety 4). */
export function markOf(before: SiteState, { state, effects, rules }: Decision): DecisionMark {
  const partitions = changedStandings(before, state);
  const replies = effects.flatMap((effect) =>
    effect.kind === 'reply' ? [[effect.result.outcome, effect.result.error?.code].filter(Boolean).join(' ')] : [],
  );
  const events = effects.flatMap((effect) =>
    effect.kind === 'event' && effect.event.silent !== true
      ? [[effect.event.class, effect.event.kind, effect.event.status].join(' ')]
      : [],
  );
  return {
    rules,
    ...(Object.keys(partitions).length > 0 && { partitions }),
    ...(replies.length > 0 && { replies }),
    ...(events.length > 0 && { events }),
  };
}

/** State, mode, sequence, and what else of a partition is shown. */
function standingOf({ state, mode, seq, stale, alarm, memory }: PartitionState): string {
  const more = [
    ...(stale ? ['stale'] : []),
    ...(alarm === undefined ? [] : [`alarm:${alarm.zone ?? alarm.camera ?? alarm.kind}`]),
    ...(memory.length === 0 ? [] : [`memory:${memory.join(',')}`]),
  ];
  return [state, mode ?? '-', seq, ...more].join(' ');
}

export const standings = (state: SiteState): Readonly<Record<PartitionId, string>> =>
  Object.fromEntries(Object.entries(state.partitions).map(([id, partition]) => [id, standingOf(partition)]));

function changedStandings(before: SiteState, after: SiteState): Readonly<Record<PartitionId, string>> {
  if (before.partitions === after.partitions) return {};
  const changed = Object.entries(after.partitions).flatMap(([id, partition]) => {
    const was = before.partitions[id];
    if (was === partition) return [];
    const now = standingOf(partition);
    return was !== undefined && standingOf(was) === now ? [] : [[id, now] as const];
  });
  return Object.fromEntries(changed);
}
