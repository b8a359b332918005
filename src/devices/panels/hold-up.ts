import { codeMeaning } from './codes.ts';
import type { Interpreted } from './interpret.ts';
import type { Mapping } from './mapping.ts';
import type { Note, Reading } from './reading.ts';

type Zones = Pick<Mapping, 'zones'>;
type Said = Pick<Interpreted, 'readings' | 'notes'>;

/**
 * What of a message people may see: all but what is about silent hold-up buttons (safety 4). `isShown`: false when nothing
 * else was in it, so that it may stand in no count, line or recording; `isWhole`: nothing was left out.
 */
export function shownOf(mapping: Zones, { readings, notes }: Said): Said & { isShown: boolean; isWhole: boolean } {
  const shown = {
    readings: readings.filter((reading) => !isHoldUp(mapping, reading)),
    notes: notes.filter((note) => !isNoteOfHoldUp(mapping, note)),
  };
  const [before, after] = [readings.length + notes.length, shown.readings.length + shown.notes.length];
  return { ...shown, isShown: before === 0 || after > 0, isWhole: after === before };
}

const isSilent = (mapping: Zones, key: string): boolean => mapping.zones.get(key)?.type === 'panic_silent';

function isHoldUp(mapping: Zones, reading: Reading): boolean {
  if (reading.kind === 'zone')
    return isSilent(mapping, reading.key) || (!mapping.zones.has(reading.key) && reading.zoneType === 'panic_silent');
  if (reading.kind !== 'report') return false;
  const meaning = codeMeaning(reading);
  return isSilent(mapping, reading.key) || (meaning?.is === 'alarm' && meaning.role === 'duress');
}

/** That its topic was taken back is about the configuration, and said. */
const isNoteOfHoldUp = (mapping: Zones, note: Note): boolean =>
  (note.kind === 'unmapped' || note.kind === 'dropped') && note.zone !== undefined && isSilent(mapping, note.zone);
