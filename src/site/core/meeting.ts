import type { Command, PartitionId } from '#site/model/index.ts';
import { isPerson } from './gate.ts';
import { now, since } from './timers.ts';
import type { Failure, GivenCommand, InFlight } from './types.ts';
import { own, type Work } from './work.ts';

/** An arm and a disarm of one partition that come within less than this have met, milliseconds (arming-sync 3). */
const meetMs = 2_000;

/**
 * Which of two commands prevails (safety 5): a person on the site with a code before schedule, cloud and whatever
 * comes without a code; otherwise the safer one, arm.
 */
export function outranks(command: Command, earlier: Pick<InFlight, 'verb' | 'person'>): boolean {
  const person = isPerson(command);
  if (person !== earlier.person) return person;
  return command.verb === 'arm' && earlier.verb === 'disarm';
}

/** A command that met another one and does not prevail. Undefined: it may act. */
export function overruled(work: Work, command: Command, id: PartitionId): Failure | undefined {
  const given = own(work.state.given ?? {}, id);
  if (given === undefined || given.verb === command.verb) return undefined;
  const agoMs = since(work.at, given.at);
  if (agoMs < 0 || agoMs >= meetMs || outranks(command, given) || changesMind(command, given)) return undefined;
  work.rules.add('safety 5');
  return { outcome: 'superseded', code: 'NEWER_LOCAL_CHANGE' };
}

/**
 * Whoever thinks again has not met anybody: one person with a code, one schedule, the cloud. Of what comes on the site
 * without a code nobody knows who gave it.
 */
function changesMind(command: Command, given: GivenCommand): boolean {
  const isNamed = isPerson(command) || command.source === 'cloud' || command.source === 'schedule';
  return isNamed && command.source === given.source && command.actor === given.actor;
}

/** The command acted on the partition, found it as wanted, or is on its way to a panel. */
export function noteGiven(work: Work, command: Command, id: PartitionId): void {
  if (command.verb !== 'arm' && command.verb !== 'disarm') return;
  const { verb, source, actor } = command;
  const entry = {
    verb,
    source,
    person: isPerson(command),
    ...(actor === undefined ? {} : { actor }),
    at: now(work.at),
  };
  work.state = { ...work.state, given: { ...work.state.given, [id]: entry } };
}
