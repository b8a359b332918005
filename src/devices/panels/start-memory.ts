import { type ArmingWord, type ArmMode, armedWord, type PartitionId, type ZoneNumber } from '#site/model/index.ts';
import { emptyMemory, type Memory } from './interpret.ts';
import type { BuiltPanel } from './load.ts';
import { baseSlot, runSlot } from './slots.ts';

/** What the site has on record of a partition when a panel begins to be read. */
export interface KnownPartition {
  readonly state: ArmingWord;
  readonly mode: ArmMode | null;
  /** Its zones that are open or in alarm. */
  readonly zones: readonly ZoneNumber[];
}

/**
 * What an earlier run has left: the arming an alarm or entry delay began in, since a bridge that retains nothing tells only that
 * it is over; an exit delay, which no retained word ends; and the zones an alarm has named, which end with it. That a partition was
 * disarmed may have changed meanwhile.
 */
export function startMemory(
  { compiled, mapping }: BuiltPanel,
  known: ReadonlyMap<PartitionId, KnownPartition> = new Map(),
): Memory {
  const states = new Map<string, ReadonlyMap<string, ArmingWord>>();
  const left = new Map<string, ReadonlyMap<string, Readonly<Record<string, boolean>>>>();
  const levels = namedLevels(compiled.profile.in.flatMap(({ read }) => read));
  for (const [id, key] of mapping.keys) {
    const { state, mode, zones } = known.get(id) ?? { state: 'unknown', mode: null, zones: [] };
    if (state === 'unknown') continue;
    const base: [string, ArmingWord] = [baseSlot, mode === null ? 'unknown' : armedWord[mode]];
    const lasts = state === 'triggered' || state === 'pending' || state === 'arming';
    states.set(key, new Map(lasts ? [base, [runSlot, state]] : [base]));
    const named = [...mapping.zones].filter(([, { number }]) => zones.includes(number));
    if (levels.length > 0)
      left.set(key, new Map(named.map(([zone]) => [zone, Object.fromEntries(levels.map((level) => [level, false]))])));
  }
  return { ...emptyMemory(), states, left };
}

/** The levels that reads with `lasts` raise. */
function namedLevels(reads: BuiltPanel['compiled']['profile']['in'][number]['read']): readonly string[] {
  const said = reads
    .filter(({ lasts }) => lasts !== undefined)
    .flatMap(({ set, map, first }) => {
      const values = [...Object.values(typeof map === 'object' ? map : {}), ...(first ?? []).map(({ value }) => value)];
      return [
        set,
        ...values.flatMap((value) => (typeof value === 'object' && value !== null ? Object.keys(value) : [])),
      ];
    });
  return ['open', 'alarm'].filter((level) => said.includes(level));
}
