import type { Clock } from '#lib/clock.ts';
import { type DeviceRef, dangerTypes, type Signal, type ZoneNumber } from '#site/model/index.ts';
import type { PanelOptions } from './options.ts';
import type { Profile } from './profile.ts';
import { createQuiet } from './quiet.ts';

/** How long an opening counts that nothing repeats, where the profile says nothing else (seconds). */
const defaultOpenS = 120;

/**
 * Openings of a panel that tells no closing (`zone_restore: false`): after a while without another word nobody knows whether the
 * zone is still open. At a start that begins with every zone, because an earlier run may have left one open.
 */
export interface Openings {
  heard(zone: ZoneNumber, open: boolean): void;
  listening(is: boolean): void;
  /** Signals of the zones whose openings have become too old since the last look. */
  over(): readonly Signal[];
}

export function createOpenings(options: {
  profile: Profile;
  panel: DeviceRef;
  zones: NonNullable<PanelOptions['zones']>;
  clock: Clock;
}): Openings {
  const { profile, panel: source, clock } = options;
  const limitMs = (profile.zone_open_s ?? defaultOpenS) * 1000;
  // Dangers and calls for help end by their own word alone (safety 1).
  const zones = profile.zone_restore === false ? Object.entries(options.zones) : [];
  const open = new Set(zones.flatMap(([number, { type }]) => (dangerTypes.has(type) ? [] : [number])));
  const known = new Set(open);
  const quiet = createQuiet(clock, known);
  return {
    heard(zone, isOpen) {
      if (!known.has(zone)) return;
      quiet.heard(zone);
      if (isOpen) open.add(zone);
      else open.delete(zone);
    },
    listening: (is) => quiet.listening(is),
    over() {
      const over = [...open].filter((zone) => quiet.ms(zone) >= limitMs);
      for (const zone of over) open.delete(zone);
      return over.map((zone): Signal => ({ kind: 'zone', source, zone, openForgotten: true, replay: false }));
    },
  };
}
