import { plainZone } from '#site/model/index.ts';

/** The numbers of a text as the interface has them: separated by commas, blanks and empty ones dropped. */
export const numbersOf = (text: string | undefined): readonly string[] =>
  (text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** Numbers as the cloud lists them, without some; the text as it is where none of those stands in it. */
export function withoutZones(list: string, some: readonly string[]): string {
  const keys = new Set(some.map(plainZone));
  const rest = numbersOf(list).filter((one) => !keys.has(plainZone(one)));
  return rest.length === numbersOf(list).length ? list : rest.join(',');
}

/** The numbers of one device: the main one, if any, and the additional ones. */
export interface Zones {
  readonly main?: string;
  readonly further: readonly string[];
}

export const zonesOf = (row: { zone_number?: string; additional_zone_numbers?: string }): Zones => {
  // Two numbers in the main member count both.
  const [main, ...rest] = numbersOf(row.zone_number);
  return {
    ...(main !== undefined && { main }),
    further: [...rest, ...numbersOf(row.additional_zone_numbers)],
  };
};

export const allOf = ({ main, further }: Zones): readonly string[] =>
  main === undefined ? further : [main, ...further];

const keysOf = (zones: Zones): ReadonlySet<string> => new Set(allOf(zones).map(plainZone));

/** Equal as the cloud counts them, whatever the spelling and the order of the additional ones. */
export const sameMain = (one: Zones, other: Zones): boolean =>
  plainZone(one.main ?? '') === plainZone(other.main ?? '');
export const sameFurther = (one: Zones, other: Zones): boolean => {
  const [a, b] = [new Set(one.further.map(plainZone)), new Set(other.further.map(plainZone))];
  return a.size === b.size && [...a].every((key) => b.has(key));
};

/** A device of ours that needs numbers. */
export interface ZoneWish {
  readonly id: string;
  /** Undefined: any number that is free. */
  readonly zone?: string;
  /** Undefined: whatever the cloud has stays. */
  readonly further?: readonly string[];
  /** What the cloud has of it now; none for a new device. */
  readonly now: Zones;
}

interface ZoneChange {
  readonly id: string;
  readonly wanted: string;
  readonly given: string;
}

interface Slot {
  readonly id: string;
  readonly isMain: boolean;
  readonly wanted?: string;
  /** What the cloud has and nobody of us asked for: it stays only where it clashes with nothing. */
  readonly isKept: boolean;
  given?: string;
}

/**
 * Gives each device its numbers: unique over the main and the additional ones of all devices (S-130 calls that advice; here it
 * is a rule). `foreign` are the numbers of devices that are none of ours, which are never touched. A number that is taken is
 * replaced by the next free one. What a device has already it keeps where it may, so that the same wishes give the same
 * numbers again.
 */
export function assignZones(
  wishes: readonly ZoneWish[],
  foreign: Iterable<string>,
): { readonly zones: ReadonlyMap<string, Zones>; readonly changes: readonly ZoneChange[] } {
  const taken = new Set([...foreign].map(plainZone));
  const slots = wishes.flatMap(slotsOf);
  const had = new Map(
    wishes.map(({ id, now }) => [id, new Map(allOf(now).map((number) => [plainZone(number), number]))]),
  );

  const give = (slot: Slot, number: string) => {
    slot.given = number;
    taken.add(plainZone(number));
  };
  const open = () => slots.filter(({ given }) => given === undefined);
  const isFree = (number: string | undefined): number is string =>
    number !== undefined && !taken.has(plainZone(number));
  const has = ({ id }: Slot, number: string) => had.get(id)?.has(plainZone(number)) === true;

  // What it wants and has.
  for (const slot of open()) if (!slot.isKept && isFree(slot.wanted) && has(slot, slot.wanted)) give(slot, slot.wanted);
  // What it was given before, where any will do or what it wants is taken.
  for (const slot of open()) {
    if (slot.isKept || isFree(slot.wanted)) continue;
    const kept = before(slot, wishes).find(isFree);
    if (kept !== undefined) give(slot, kept);
  }
  for (const slot of open()) if (!slot.isKept && isFree(slot.wanted)) give(slot, slot.wanted);
  for (const slot of open()) if (slot.isKept && isFree(slot.wanted)) give(slot, slot.wanted);
  for (const slot of open()) if (!slot.isKept) give(slot, nextFree(slot.wanted, taken));

  const zones = wishes.map(({ id }): [string, Zones] => {
    const own = slots.filter((slot) => slot.id === id);
    const main = own.find(({ isMain }) => isMain)?.given;
    const further = own.flatMap(({ isMain, given }) => (isMain || given === undefined ? [] : [given]));
    return [id, { ...(main !== undefined && { main }), further }];
  });
  const changes = slots.flatMap(({ id, wanted, given, isKept }) =>
    isKept || wanted === undefined || given === undefined || plainZone(given) === plainZone(wanted)
      ? []
      : [{ id, wanted, given }],
  );
  return { zones: new Map(zones), changes };
}

/** Within one device a number counts once. */
function slotsOf({ id, zone, further, now }: ZoneWish): readonly Slot[] {
  const [main] = numbersOf(zone);
  const seen = new Set(main === undefined ? [] : [plainZone(main)]);
  const rest = (further?.flatMap(numbersOf) ?? now.further).filter((number) => {
    const isNew = !seen.has(plainZone(number));
    seen.add(plainZone(number));
    return isNew;
  });
  return [
    { id, isMain: true, isKept: false, ...(main !== undefined && { wanted: main }) },
    ...rest.map((wanted) => ({ id, isMain: false, isKept: further === undefined, wanted })),
  ];
}

/** Numbers it has in the cloud that it did not ask for, those in the same member first. */
function before({ id, isMain }: Slot, wishes: readonly ZoneWish[]): readonly string[] {
  const wish = wishes.find((one) => one.id === id);
  if (wish === undefined) return [];
  const { now, zone, further } = wish;
  const asked = new Set([...numbersOf(zone), ...(further ?? now.further).flatMap(numbersOf)].map(plainZone));
  const main = now.main === undefined ? [] : [now.main];
  const all = isMain ? [...main, ...now.further] : [...now.further, ...main];
  return all.filter((number) => !asked.has(plainZone(number)));
}

/** The next number above the one that was wanted, or the lowest of all. */
function nextFree(wanted: string | undefined, taken: ReadonlySet<string>): string {
  const from = wanted !== undefined && /^\d{1,9}$/.test(wanted) ? Number(wanted) + 1 : 1;
  for (let number = from; ; number += 1) if (!taken.has(String(number))) return String(number);
}

/** A device of ours whose numbers shall change; `id` as in `now` of `stageZones`, undefined for a new device. */
interface ZoneMove {
  readonly id?: string;
  readonly to: Zones;
}

/**
 * What may be written now, so that two devices never have one number, also when only some of the changes get through: a number
 * is given only once nobody has it any more. Devices in each other's way step aside to a free number first. Undefined: not
 * now. `now` are the numbers of all devices of the cloud by their id, `reserved` those nobody may have, not even for a moment.
 */
export function stageZones(
  moves: readonly ZoneMove[],
  now: ReadonlyMap<string, Zones>,
  reserved: readonly string[] = [],
): readonly (Zones | undefined)[] {
  const holders = new Map<string, Set<string>>();
  for (const [id, zones] of now)
    for (const key of keysOf(zones)) holders.set(key, (holders.get(key) ?? new Set()).add(id));
  const askers = new Map<string, number>();
  for (const { to } of moves) for (const key of keysOf(to)) askers.set(key, (askers.get(key) ?? 0) + 1);
  const taken = new Set([...holders.keys(), ...askers.keys(), ...reserved.map(plainZone)]);
  const isBlocked = (id: string | undefined) => (number: string) =>
    [...(holders.get(plainZone(number)) ?? [])].some((holder) => holder !== id);

  return moves.map(({ id, to }) => {
    const blocked = isBlocked(id);
    if (!allOf(to).some(blocked)) return to;
    const has = id === undefined ? undefined : now.get(id);
    if (has === undefined) return undefined;
    const target = keysOf(to);
    const isInTheWay = (number: string) => !target.has(plainZone(number)) && askers.has(plainZone(number));
    if (!allOf(has).some(isInTheWay)) return undefined;
    const further = to.further.filter((number) => !blocked(number));
    if (to.main === undefined || !blocked(to.main)) return { ...to, further };
    if (has.main !== undefined && !isInTheWay(has.main)) return { main: has.main, further };
    const main = nextFree(to.main, taken);
    taken.add(main);
    return { main, further };
  });
}
