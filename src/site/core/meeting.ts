import type { Command, PartitionId } from '#site/model/index.ts';
import { isPerson } from './gate.ts';
import { now, since } from './timers.ts';
import type { Failure, Given, InFlight } from './types.ts';
import { own, type Work } from './work.ts';

/** An arm and a disarm of one partition that come within less than this have met, milliseconds. */
const meetMs = 2_000;
/** Others of the same verb that are remembered within that time. */
const othersCap = 16;

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
  const prevails = (given: Given) =>
    given.verb === command.verb || !isRecent(work, given) || outranks(command, given) || changesMind(command, given);
  if (givenFor(work, id).every(prevails)) return undefined;
  work.rules.add('safety 5');
  return { outcome: 'superseded', code: 'NEWER_LOCAL_CHANGE' };
}

/** The last one, then what others gave of the same verb before it. */
function givenFor(work: Work, id: PartitionId): readonly Given[] {
  const last = own(work.state.given ?? {}, id);
  if (last === undefined) return [];
  const { others = [], ...given } = last;
  return [given, ...others];
}

function isRecent(work: Work, { at }: Given): boolean {
  const agoMs = since(work.at, at);
  return agoMs >= 0 && agoMs < meetMs;
}

/**
 * Whoever thinks again has not met anybody: one person with a code, one schedule, the cloud, one account or API key. Of what else
 * comes on the site without a code nobody knows who gave it.
 */
function changesMind(command: Command, given: Given): boolean {
  const isNamed = isPerson(command) || command.source === 'cloud' || command.source === 'schedule';
  const isSame = isNamed || (command.isProven === true && command.client === given.client);
  return isSame && command.source === given.source && command.actor === given.actor;
}

/** The command acted on the partition, found it as wanted, or is on its way to a panel. */
export function noteGiven(work: Work, command: Command, id: PartitionId): void {
  if (command.verb !== 'arm' && command.verb !== 'disarm') return;
  const { verb, source, actor, client } = command;
  const entry = {
    verb,
    source,
    person: isPerson(command),
    ...(actor === undefined ? {} : { actor }),
    ...(command.isProven === true && !isPerson(command) && { client }),
    at: now(work.at),
  };
  // Whoever gives it, too, does not take back what another one gave.
  const others = givenFor(work, id)
    .filter((one) => one.verb === verb && isRecent(work, one) && !isSameGiver(one, entry))
    .slice(0, othersCap);
  const given = { ...entry, ...(others.length > 0 && { others }) };
  work.state = { ...work.state, given: { ...work.state.given, [id]: given } };
}

const isSameGiver = (one: Given, other: Given): boolean =>
  one.source === other.source &&
  one.person === other.person &&
  one.actor === other.actor &&
  one.client === other.client;
