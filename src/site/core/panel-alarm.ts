import { isSet, type PartitionId, type Reported, type SignalOf, type ZonePlan } from '#site/model/index.ts';
import { raise, sourceOf } from './alarm.ts';
import { deviceName } from './events.ts';
import { isPastAlarm, noteSaid } from './panel.ts';
import { isToldAgain, silentKey } from './reports.ts';
import { type Transition, transition } from './transition.ts';
import { own, partitionOf, partitionPlan, setPartition, type Work, zonePlan } from './work.ts';
import { zoneSignal } from './zone.ts';
import { behaviour, staysKind } from './zones.ts';

/** An alarm its panel has judged: it becomes an alarm event in any case (safety 1), and none of its own where its zone makes one. */
export function panelAlarm(work: Work, signal: SignalOf<'alarm'>): void {
  const { source, alarm, report } = signal;
  const name = deviceName(source);
  if (signal.replay === true && isRunning(work, signal)) return;
  const silent = alarm === 'panic_silent';
  if (isToldAgain(work, silent ? silentKey(name) : `alarm:${name}`, signal)) return;
  const zone = signal.zone === undefined ? undefined : zonePlan(work.plan, signal.zone);
  const isAnywhere = signal.partition === undefined && (signal.elsewhere !== true || zone !== undefined);
  const now = alarm === 'burglary' && isAnywhere ? armedOf(work, source.id, zone) : [];
  const armed = now.filter((id) => !isPastAlarm(work, id, signal));
  const from = work.effects.length;
  if (zone !== undefined) {
    const facts = {
      zone: zone.number,
      alarm: true,
      replay: false,
      ...(signal.sentAt !== undefined && { sentAt: signal.sentAt }),
      ...(signal.ageMs !== undefined && { ageMs: signal.ageMs }),
    };
    zoneSignal(work, { kind: 'zone', source, ...facts, ...(report === undefined ? {} : { report }) });
    for (const id of armed) trigger(work, id, signal, {});
    const isTold = work.effects
      .slice(from)
      .some(({ kind, ...effect }) => kind === 'event' && 'event' in effect && isAlarm(effect.event));
    // The site says that nothing follows from some zones.
    if (isTold || ['none', 'key'].includes(behaviour(zone).group)) return;
  }
  const [one, more] = armed;
  const named = signal.partition ?? zone?.partitions[0] ?? (more === undefined ? one : undefined);
  const partition = named === undefined || partitionPlan(work, named) === undefined ? undefined : named;
  const kind = zone === undefined ? alarm : behaviour(zone).alarm;
  if (zone === undefined) for (const id of armed) trigger(work, id, signal, { alarm: { kind } });
  if (partition !== undefined && zone === undefined && !silent) showKind(work, partition, kind);
  raise(work, {
    kind,
    partition,
    zone,
    source: zone === undefined ? name : sourceOf(zone),
    silent,
    past: partition !== undefined && !staysKind(kind) && isPastAlarm(work, partition, signal),
    ...(signal.replay === true ? { late: true } : {}),
  });
}

/** The partitions a burglary can be in whose panel names none. */
function armedOf(work: Work, panel: string, zone: ZonePlan | undefined): readonly PartitionId[] {
  return work.plan.partitions
    .filter(
      ({ id, authority, panel: its }) =>
        authority === 'panel' && its === panel && (zone?.partitions.includes(id) ?? true),
    )
    .map(({ id }) => id)
    .filter((id) => isSet(partitionOf(work, id).state));
}

function trigger(work: Work, id: PartitionId, told: Reported, more: NonNullable<Transition['more']>): void {
  noteSaid(work, id, told);
  const { mode, state } = partitionOf(work, id);
  if (state !== 'triggered') transition(work, id, { state: 'triggered', mode, source: 'panel', more });
}

/** What the alarm of a partition is about shows where no zone of it does. */
function showKind(work: Work, id: PartitionId, kind: string): void {
  const { state, alarm } = partitionOf(work, id);
  if (state === 'triggered' && alarm?.zone === undefined) setPartition(work, id, { alarm: { kind } });
}

/** What is retained may have been told before the restart. */
function isRunning(work: Work, { partition, alarm }: SignalOf<'alarm'>): boolean {
  const state = partition === undefined ? undefined : own(work.state.partitions, partition);
  return state?.state === 'triggered' && state.alarm?.kind === alarm;
}

const isAlarm = (event: { readonly class: string; readonly status: string }): boolean =>
  event.class === 'alarm' && event.status === 'active';
