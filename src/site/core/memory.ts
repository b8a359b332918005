import { alarming, type Command, type PartitionId, type PartitionPlan } from '#site/model/index.ts';
import { localEvent, place } from './events.ts';
import { checkExpected, refuse } from './gate.ts';
import type { Done, Failure } from './types.ts';
import { own, partitionOf, setPartition, type Work } from './work.ts';

/**
 * Forgets the alarms since the last arming (alarm memory); the next arming does so by itself. False
 * while an alarm runs: what is in it is not memory yet.
 */
export function clearMemory(work: Work, id: PartitionId): boolean {
  const partition = own(work.state.partitions, id);
  if (partition === undefined || alarming(partition.state) || partition.alarm !== undefined) return false;
  if (partition.memory.length > 0) setPartition(work, id, { memory: [] });
  return true;
}

/**
 * The same by command: all partitions it is for, or none. It needs no code, as the arming that does it needs none. The
 * memory is siteward's own, whoever decides the arming.
 */
export function clearMemoryCommand(work: Work, command: Command, targets: readonly PartitionPlan[]): Failure | Done {
  for (const { id } of targets) {
    const { state, alarm } = partitionOf(work, id);
    const failure = checkExpected(work, command, partitionOf(work, id));
    if (failure !== undefined) return failure;
    if (alarming(state) || alarm !== undefined) return refuse('NOT_ALLOWED', { field: 'state' });
  }
  const { source, actor } = command;
  const full = targets.filter(({ id }) => partitionOf(work, id).memory.length > 0);
  for (const { id } of full) {
    clearMemory(work, id);
    const by = actor === undefined ? {} : { actor };
    localEvent(work, { class: 'system', kind: 'memory_cleared', ...place(work, { partition: id }), source, ...by });
  }
  return { changed: full.length > 0 };
}
