import type { DeviceRef, TroubleKind, ZoneNumber } from '#site/model/index.ts';
import { deviceName, troubleEvent } from './events.ts';
import { own, type Work, without, zonePlan } from './work.ts';

/** siteward itself as the source of a trouble. */
export const bridge: DeviceRef = { kind: 'bridge', id: 'siteward' };

export const troubleKey = (kind: TroubleKind, source: DeviceRef, zone?: ZoneNumber): string =>
  `${kind}|${deviceName(source)}|${zone ?? ''}`;

/** Sets or ends a trouble. It is a pair: repeats of either change nothing (I1). */
export function setTrouble(
  work: Work,
  trouble: {
    readonly kind: TroubleKind;
    readonly source: DeviceRef;
    readonly zone?: ZoneNumber | undefined;
    readonly active: boolean;
    readonly detail?: string | undefined;
  },
): void {
  const { kind, source, zone, active, detail } = trouble;
  const key = troubleKey(kind, source, zone);
  if ((own(work.state.troubles, key) !== undefined) === active) return;
  const entry = { trouble: kind, source, since: work.at.wall, ...(zone === undefined ? {} : { zone }) };
  const troubles = active ? { ...work.state.troubles, [key]: entry } : without(work.state.troubles, key);
  work.state = { ...work.state, troubles };
  const plan = zone === undefined ? undefined : zonePlan(work.plan, zone);
  troubleEvent(work, {
    kind,
    active,
    source: deviceName(source),
    detail,
    zone: plan,
    partition: plan?.partitions[0],
    camera: source.kind === 'camera' ? source.id : undefined,
  });
}

/** The trouble "store lost" ends when every partition's arming is known again. */
export function settleStoreLoss(work: Work): void {
  const unknown = Object.values(work.state.partitions).some(({ state }) => state === 'unknown');
  if (!unknown) setTrouble(work, { kind: 'system', source: bridge, active: false, detail: 'store_lost' });
}
