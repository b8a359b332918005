import type { Clock } from '#lib/clock.ts';
import type { DeviceRef, Signal, ZoneNumber } from '#site/model/index.ts';
import type { PanelOptions } from './options.ts';

/**
 * Detectors of one panel that must be heard now and then (RF supervision, alarm-domain 2). On the monotonic clock; the
 * time begins anew with each start, because nobody can tell what was sent meanwhile.
 */
export interface ZoneSilence {
  /** A live message spoke of the zone. True when it had been lost, or was not heard in this run. */
  heard(zone: ZoneNumber): boolean;
  /** Nothing can be heard for now, or can again: time without a line is no silence of the detectors. */
  listening(is: boolean): void;
  /** Signals of the zones that have become silent since the last look. */
  lost(): readonly Signal[];
}

export function createZoneSilence(options: {
  panel: DeviceRef;
  zones: NonNullable<PanelOptions['zones']>;
  clock: Clock;
}): ZoneSilence {
  const { panel, clock } = options;
  const limits = new Map<ZoneNumber, number>();
  for (const [number, { supervised }] of Object.entries(options.zones))
    if (supervised !== undefined) limits.set(number, supervised);
  const heardMono = new Map<ZoneNumber, number>();
  const told = new Map<ZoneNumber, boolean>();
  let deafSince: number | undefined = clock.monotonic();
  for (const number of limits.keys()) heardMono.set(number, clock.monotonic());

  return {
    heard(zone) {
      if (!limits.has(zone)) return false;
      heardMono.set(zone, clock.monotonic());
      const isNews = told.get(zone) !== true;
      told.set(zone, true);
      return isNews;
    },
    listening(is) {
      const now = clock.monotonic();
      if (!is) deafSince ??= now;
      else if (deafSince !== undefined) {
        for (const [zone, mono] of heardMono) heardMono.set(zone, mono + now - Math.max(deafSince, mono));
        deafSince = undefined;
      }
    },
    lost() {
      if (deafSince !== undefined) return [];
      const signals: Signal[] = [];
      for (const [zone, limitMs] of limits) {
        if (told.get(zone) === false || clock.monotonic() - (heardMono.get(zone) ?? 0) < limitMs) continue;
        told.set(zone, false);
        signals.push({ kind: 'zone', source: panel, zone, online: false, replay: false });
      }
      return signals;
    },
  };
}
