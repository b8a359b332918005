import type { Signal } from '#site/model/index.ts';
import { raise, sourceOf } from './alarm.ts';
import { deviceName } from './events.ts';
import { isToldAgain, silentKey } from './reports.ts';
import { partitionPlan, type Work, zonePlan } from './work.ts';
import { zoneSignal } from './zone.ts';
import { behaviour } from './zones.ts';

/** An alarm its panel has judged: it becomes an alarm event in any case (safety 1), and none of its own where its zone makes one. */
export function panelAlarm(work: Work, signal: Extract<Signal, { kind: 'alarm' }>): void {
  const { source, alarm, code, report } = signal;
  const name = deviceName(source);
  const silent = alarm === 'panic_silent';
  if (isToldAgain(work, silent ? silentKey(name) : `alarm:${name}`, report)) return;
  const zone = signal.zone === undefined ? undefined : zonePlan(work.plan, signal.zone);
  const from = work.effects.length;
  if (zone !== undefined) {
    const facts = { zone: zone.number, alarm: true, replay: false };
    zoneSignal(work, { kind: 'zone', source, ...facts, ...(report === undefined ? {} : { report }) });
    const isTold = work.effects
      .slice(from)
      .some(({ kind, ...effect }) => kind === 'event' && 'event' in effect && isAlarm(effect.event));
    // The site says that nothing follows from some zones.
    if (isTold || ['none', 'key'].includes(behaviour(zone).group)) return;
  }
  const partition = signal.partition ?? zone?.partitions[0];
  raise(work, {
    kind: zone === undefined ? alarm : behaviour(zone).alarm,
    partition: partition === undefined || partitionPlan(work, partition) === undefined ? undefined : partition,
    zone,
    source: zone === undefined ? name : sourceOf(zone),
    ...(code === undefined ? {} : { code }),
    silent,
  });
}

const isAlarm = (event: { readonly class: string; readonly status: string }): boolean =>
  event.class === 'alarm' && event.status === 'active';
