import type { Clock } from '#lib/clock.ts';
import type { DeviceRef, Signal, ZoneNumber } from '#site/model/index.ts';
import type { PanelOptions } from './options.ts';
import { createQuiet } from './quiet.ts';

/** Detectors of one panel that must be heard now and then (RF supervision). The time begins anew with each start. */
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
  const told = new Map<ZoneNumber, boolean>();
  const quiet = createQuiet(clock, limits.keys());

  return {
    heard(zone) {
      if (!limits.has(zone)) return false;
      quiet.heard(zone);
      const isNews = told.get(zone) !== true;
      told.set(zone, true);
      return isNews;
    },
    listening: (is) => quiet.listening(is),
    lost() {
      const signals: Signal[] = [];
      for (const [zone, limitMs] of limits) {
        if (told.get(zone) === false || quiet.ms(zone) < limitMs) continue;
        told.set(zone, false);
        signals.push({ kind: 'zone', source: panel, zone, online: false, replay: false });
      }
      return signals;
    },
  };
}
