import type { ArmingWord, PartitionId, PartitionState, SignalOf, ZoneNumber } from '#site/model/index.ts';
import { isCalmer } from '#site/model/index.ts';
import { now, since } from './timers.ts';
import { periodOf, setPartition, setPeriod, type Work } from './work.ts';

type PartitionSignal = SignalOf<'partition'>;

/** A broker that is kept running writes its retained words to its disk far more often than this. */
const calledOffMs = 12 * 3_600_000;

/**
 * A word that was retained, or that waited in a queue, against what is on disk. A broker that crashes, and a box whose power was
 * cut, come back with older words than the site has heard, and no mark tells them from true ones. So such a word never disarms
 * and never ends an alarm (safety 2, I3), nor does it set off again what was called off: only a live word does, however long that takes.
 */
export function isDoubtful(work: Work, before: PartitionState, signal: PartitionSignal): boolean {
  const { state, replay, waited } = signal;
  if (!replay && waited === undefined) return false;
  if (isCalmer(before.state, state)) return true;
  // What waited is told all the same: it may be another alarm, and one told twice is better than one lost.
  const { calledOff } = periodOf(work.state, before.id);
  return (
    replay &&
    state === 'triggered' &&
    before.state !== state &&
    calledOff !== undefined &&
    since(work.at, calledOff.at) < calledOffMs
  );
}

/** What is known stays and is shown as not certain, so that alarms of zones go up meanwhile (safety 2). */
export function doubt(work: Work, { id, stale, state }: PartitionState, said: ArmingWord): void {
  work.rules.add('safety 2');
  if (!stale) setPartition(work, id, { stale: true });
  if (isCalmer(state, said) && state === 'triggered') setPeriod(work, id, { endDoubted: true });
}

/** A live word has called off an alarm. */
export function noteCalledOff(work: Work, before: PartitionState): void {
  const { id, memory, alarm } = before;
  const zones = alarm?.zone === undefined || memory.includes(alarm.zone) ? memory : [...memory, alarm.zone];
  setPeriod(work, id, { calledOff: { at: now(work.at), zones } });
}

/** A retained alarm may be the one that was called off, or another. It is told once; by a zone of its own, each other zone is told too. */
export function noteRetold(work: Work, id: PartitionId, by: 'partition' | 'zone'): void {
  const { calledOff } = periodOf(work.state, id);
  if (calledOff === undefined) return;
  setPeriod(work, id, { calledOff: { ...calledOff, retold: true, ...(by === 'zone' && { zones: [] }) } });
}

/** Whether the retained alarm of a zone is the one that was told again of its partition. */
export function isRetold(work: Work, id: PartitionId, zone: ZoneNumber): boolean {
  const { calledOff } = periodOf(work.state, id);
  return calledOff?.retold === true && calledOff.zones.includes(zone) && since(work.at, calledOff.at) < calledOffMs;
}
