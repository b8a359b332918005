import type { Effect, Input } from '#site/core/index.ts';
import type { ArmingRecord, CommandResult, EventDraft, SitePlan } from '#site/model/index.ts';
import type { Decided, Entry, History } from './machine.ts';

/** Reading what happened. */

export const isDecided = (entry: Entry): entry is Decided => entry.what === 'decided';
export const decisions = (history: History): readonly Decided[] => history.filter(isDecided);
/** What the store holds of it. */
export const committed = (history: History): readonly Decided[] => decisions(history).filter(({ lost }) => !lost);

type With<K extends Effect['kind']> = Extract<Effect, { kind: K }>;
export const effectsOf = <K extends Effect['kind']>({ effects }: Decided, kind: K): readonly With<K>[] =>
  effects.filter((effect): effect is With<K> => effect.kind === kind);

export const transitions = (entry: Decided): readonly Omit<ArmingRecord, 'epoch'>[] =>
  effectsOf(entry, 'transition').map(({ record }) => record);
export const events = (entry: Decided): readonly EventDraft[] => effectsOf(entry, 'event').map(({ event }) => event);
export const replies = (entry: Decided): readonly CommandResult[] =>
  effectsOf(entry, 'reply').map(({ result }) => result);

export const commandOf = (input: Input) => (input.kind === 'command' ? input.command : undefined);
export const signalOf = (input: Input) => (input.kind === 'signal' ? input.signal : undefined);

export const partitionIn = (plan: SitePlan, id: string) => plan.partitions.find((one) => one.id === id);
export const zoneIn = (plan: SitePlan, number: string) => plan.zones.find((one) => one.number === number);

/** One line about an entry, for whoever reads a failure. */
export function shown(entry: Entry): string {
  if (!isDecided(entry)) return `${entry.why} at ${entry.at.mono}`;
  const { at, ...rest } = entry.input;
  return `${JSON.stringify(rest)} at ${at.mono} ${at.clock} [${entry.rules.join(', ')}]`;
}
