import type { Command, PartitionId, PartitionPlan } from '#site/model/index.ts';
import { localEvent, place } from './events.ts';
import { undoneOf } from './flight.ts';
import { checkExpected, mayChange, refuse } from './gate.ts';
import { runningAlarms } from './running.ts';
import type { Done, Effect, Failure } from './types.ts';
import { own, partitionOf, periodOf, setPeriod, type Work } from './work.ts';
import { staysKind } from './zones.ts';

/**
 * Ends the sound of a burglary alarm and nothing else: the alarm and the arming stay, and the next alarm sounds again. It takes what a disarm takes. Life
 * safety and calls for help are nobody's to silence from here (safety 1).
 */
export function silenceCommand(work: Work, command: Command, targets: readonly PartitionPlan[]): Failure | Done {
  const refused = mayChange(work, command, 'disarm');
  if (refused !== undefined) return refused;
  let changed = false;
  const undone = [];
  const failures: Failure[] = [];
  for (const plan of targets) {
    const step = silence(work, command, plan);
    if (step === 'done') changed = true;
    else if (step !== 'already') {
      failures.push(step);
      undone.push(undoneOf(plan.id, step));
    }
  }
  const [failure] = failures;
  return failure === undefined ? { changed } : { changed, failure, undone };
}

function silence(work: Work, command: Command, plan: PartitionPlan): 'done' | 'already' | Failure {
  if (plan.authority === 'external') return refuse('NOT_CONTROLLED');
  const partition = partitionOf(work, plan.id);
  const failure = checkExpected(work, command, partition);
  if (failure !== undefined) return failure;
  // No profile tells a panel to be quiet: its siren goes on until it is disarmed.
  if (plan.authority === 'panel') return refuse('NOT_ALLOWED', { field: 'profile' });
  // Each that runs, not only the one its state names.
  if (own(runningAlarms(work), plan.id)?.some(({ kind }) => staysKind(kind)))
    return refuse('NOT_ALLOWED', { field: 'alarm' });
  // Also where no alarm is known: a rule may play something there.
  work.effects.push({ kind: 'silence', partition: plan.id });
  if (partition.state !== 'triggered' || periodOf(work.state, plan.id).silenced === true) return 'already';
  setPeriod(work, plan.id, { silenced: true });
  const { source, actor } = command;
  const by = actor === undefined ? {} : { actor };
  localEvent(work, { class: 'command', kind: 'silenced', ...place(work, { partition: plan.id }), source, ...by });
  return 'done';
}

/** Partitions where the sound of a burglary ends with these effects, by a disarm or by `silence` (safety 9). By either also where nothing changes. */
export const hushedBy = (effects: readonly Effect[]): readonly PartitionId[] =>
  effects.flatMap((effect) => {
    if (effect.kind === 'silence') return [effect.partition];
    return effect.kind === 'transition' && effect.record.state === 'disarmed' ? [effect.record.partition] : [];
  });
