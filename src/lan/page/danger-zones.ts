import type { ZoneEntry } from '#lan/http/index.ts';

/** Detectors of danger and calls for help: no doors, they have tripped or tell no alarm. */
export const dangerZones: ReadonlySet<ZoneEntry['type']> = new Set<ZoneEntry['type']>([
  'fire',
  'co',
  'gas',
  'water',
  'medical',
  'panic_audible',
  'panic_silent',
]);
