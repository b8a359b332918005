import type { Deadline, PartitionId, PartitionPlan, PartitionState } from '#site/model/index.ts';
import type { Check } from './invariants.ts';
import type { Decided } from './machine.ts';
import { decisions, shown } from './read.ts';

const toleranceMs = 250;

const kinds = [
  {
    delay: 'exit',
    word: 'arming',
    ends: (of: PartitionState | undefined): Deadline | undefined => of?.exitEnds,
    wholeMs: ({ exitDelayMs }: PartitionPlan) => exitDelayMs,
  },
  {
    delay: 'entry',
    word: 'pending',
    ends: (of: PartitionState | undefined): Deadline | undefined => of?.entryEnds,
    wholeMs: ({ entryDelayMs }: PartitionPlan) => entryDelayMs,
  },
] as const;

/**
 * I12: on the monotonic clock of one boot each delay begins whole and ends when it is over, whatever the wall clock
 * does. After a start of the machine it is at most whole.
 */
export const delaysAreTrue: Check = (history) =>
  decisions(history).flatMap((entry) =>
    entry.plan.partitions
      .filter(({ authority }) => authority === 'engine')
      .flatMap((plan) => kinds.flatMap((kind) => delayIn(entry, plan, kind))),
  );

function delayIn(
  entry: Decided,
  plan: PartitionPlan,
  { delay, word, ends, wholeMs }: (typeof kinds)[number],
): string[] {
  const { input, before, after } = entry;
  const at = (id: PartitionId) => [before.partitions[id], after.partitions[id]] as const;
  const [was, is] = at(plan.id);
  const [old, due] = [ends(was), ends(is)];
  const { mono, boot } = input.at;
  const wrong: string[] = [];
  const tell = (what: string) => wrong.push(`${delay} delay of ${plan.id} ${what}: ${shown(entry)}`);
  if (is?.state === word && due === undefined) tell('has no end');
  if (input.kind === 'started') {
    if (due !== undefined && due.mono - mono > Math.max(wholeMs(plan), (old?.mono ?? 0) - mono))
      tell('is longer than whole');
    if (due !== undefined && due.boot !== boot) tell('counts by a clock that is gone');
    return wrong;
  }
  const isLate = was?.state === word && old !== undefined && old.boot === boot && mono - old.mono > toleranceMs;
  if (isLate) tell(`was over ${mono - old.mono} ms ago`);
  const begins = due !== undefined && due.mono !== old?.mono;
  if (begins && due.mono - mono !== wholeMs(plan)) tell(`begins with ${due.mono - mono} ms`);
  const ended = was?.state === word && is?.state !== word && input.kind === 'timer.fired';
  if (ended && old !== undefined && mono < old.mono - toleranceMs) tell(`ended ${old.mono - mono} ms early`);
  return wrong;
}
