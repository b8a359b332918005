import type { Signal, SitePlan } from '#site/model/index.ts';

/** What the devices of a site stand at, whether anybody listens or not. */
export interface DeviceTruth {
  note(signal: Signal): void;
  /** Every link comes up. */
  links(plan: SitePlan): readonly Signal[];
  /** What is told to somebody who begins to listen. */
  levels(): readonly Signal[];
}

export function deviceTruth(): DeviceTruth {
  const levels = new Map<string, Signal>();
  return {
    note(signal) {
      const key = levelOf(signal);
      if (key === undefined) return;
      const before = levels.get(key);
      levels.set(key, { ...before, ...signal } as Signal);
    },
    links: (plan) => [
      { kind: 'link', source: { kind: 'panel', id: 'main' }, layer: 'bridge', up: true },
      ...plan.cameras.map(
        ({ id }): Signal => ({ kind: 'link', source: { kind: 'camera', id }, layer: 'device', up: true }),
      ),
    ],
    levels: () =>
      [...levels.values()].map((signal) => ('replay' in signal ? ({ ...signal, replay: true } as Signal) : signal)),
  };
}

/** Undefined for what has no lasting level. */
function levelOf(signal: Signal): string | undefined {
  switch (signal.kind) {
    case 'zone':
      return `zone ${signal.zone}`;
    case 'partition':
      return `partition ${signal.partition}`;
    case 'detection':
      return signal.pulse ? undefined : `camera ${signal.source.id} ${signal.detection} ${signal.topic}`;
    case 'trouble':
      return `trouble ${signal.trouble}`;
    default:
      return undefined;
  }
}
