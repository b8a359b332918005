import { BoundedMap } from '#lib/bounded.ts';
import { type Bucket, bucket } from '#lib/token-bucket.ts';
import type { DetectionClass, DeviceRef, Signal, SignalOf } from '#site/model/index.ts';
import type { Notification } from './notification.ts';
import { longestMs, type Reading, ruleOf, tokenOf } from './readings.ts';
import { isSighting, type TopicRow } from './topic-row.ts';

type DetectionSignal = SignalOf<'detection'>;

/** One reading, with all that it came of. */
export interface Heard {
  readonly row: TopicRow;
  readonly message: Notification;
  readonly reading: Reading;
  /** It tells how things stand, not that something happens. */
  readonly present: boolean;
  /** Monotonic milliseconds. */
  readonly now: number;
}

/** What one topic of a rule, an input or an object in a field shows, while it shows anything. */
export interface Entry {
  readonly id: string;
  readonly row: TopicRow;
  readonly message: Notification;
  readonly classes: readonly DetectionClass[];
  /** When the device last said so. */
  readonly saidAt: number;
}

/** What is one thing for the rest of siteward: a class, or one input, relay, disk or unknown topic. */
interface Group {
  readonly id: string;
  readonly detection: DetectionClass;
  readonly item: string | undefined;
  /** Of the input, relay or disk. */
  readonly token: string | undefined;
  /** Ids of the entries that show it: it is on while there is one. */
  readonly shownBy: Set<string>;
  told: boolean | undefined;
  /** The message that changed it last, for what is told later. */
  message: Notification;
  /** What is told later is how things stand, not an edge. */
  replay: boolean;
  /** The message that began what the cap held back, until it is told or over. */
  heldBack: Notification | undefined;
}

/** What a flood held back and is over. */
export type Late = Pick<Group, 'detection' | 'item' | 'token' | 'message'>;

/** What other sources are meant by now. */
export interface Leaving {
  readonly entries: readonly (Entry & {
    /** Classes whose beginning a flood held back. */
    readonly untold: readonly DetectionClass[];
  })[];
  readonly late: readonly Late[];
}

/** What is on at one camera or channel. */
export interface SourceStates {
  readonly lastValues: BoundedMap<string, string>;
  apply(heard: Heard, signals: Signal[]): 'done' | 'flood';
  expire(now: number): readonly Signal[];
  /** The device has told all that there is: objects it has not spoken of since then are gone. `expire` tells it. */
  goneSince(then: number): void;
  /** Gives away what is not its own any more. */
  release(isStrange: (message: Notification) => boolean, now: number, signals: Signal[]): Leaving;
  adopt(entry: Leaving['entries'][number], now: number, signals: Signal[]): void;
  adoptLate(late: Late): void;
  reset(): void;
  readonly holdsBack: boolean;
}

/** Caps of one source; one that tells too much takes nothing from the others. */
const entryCap = 500;
const groupCap = 200;
const signalsPerSecond = 50;
/** What a class has beside that: motion without end must not hide the person in it. */
const ofItsOwn = { burst: 10, perSecond: 2 };
/** How things stand is told at once after each connection, however much there is of it: it is no flood. */
const greeting = { burst: groupCap, perSecond: groupCap / 60 };

export function createSourceStates(ref: DeviceRef): SourceStates {
  const entries = new Map<string, Entry>();
  const groups = new Map<string, Group>();
  const lastValues = new BoundedMap<string, string>(groupCap);
  /** Given up as unknown: the device's present states tell nothing of them until it has told something new. */
  const givenUp = new BoundedMap<string, true>(groupCap);
  /** The last of each kind. */
  const late = new BoundedMap<string, Late>(groupCap);
  const common = bucket({ burst: signalsPerSecond, perSecond: signalsPerSecond });
  const owns = new Map<DetectionClass, Bucket>();
  const greetings = bucket(greeting);

  function pulse({ row, message, reading, present, now }: Heard, signals: Signal[]): 'done' | 'flood' {
    let result: 'done' | 'flood' = 'done';
    for (const detection of reading.kind === 'pulse' ? reading.classes : []) {
      const item = itemOf(row, message, detection);
      const one: Late = { detection, item, token: tokenOf(row, message), message };
      const isRoom = mayTell(detection, now);
      if (isRoom || neverWaits(detection)) signals.push(pulseOf(one, present));
      else if (!present) adoptLate(one);
      if (!isRoom && !present) result = 'flood';
    }
    return result;
  }

  function level(heard: Heard & { reading: Extract<Reading, { kind: 'level' }> }, signals: Signal[]): 'done' | 'flood' {
    const { row, message, reading, present, now } = heard;
    const id = entryId(message, reading.part);
    const before = entries.get(id)?.classes ?? [];
    const isStuck = givenUp.has(id) && reading.on.length > 0 && message.operation === 'Initialized';
    if (!isStuck) givenUp.delete(id);
    const on = isStuck ? [] : reading.on;
    if (on.length > 0 && !entries.has(id) && !makeRoom()) return 'flood';
    if (on.length > 0) entries.set(id, { id, row, message, classes: on, saidAt: now });
    else entries.delete(id);
    const touched = new Set([...before, ...on, ...reading.off]);
    let result: 'done' | 'flood' = 'done';
    for (const detection of touched) {
      const group = groupFor(row, message, detection);
      if (group === undefined) result = 'flood';
      else if (settle(show(group, id, on.includes(detection), message, present), now, signals) === 'flood')
        result = 'flood';
    }
    return result;
  }

  function show(group: Group, id: string, on: boolean, message: Notification, present: boolean): Group {
    if (on) group.shownBy.add(id);
    else group.shownBy.delete(id);
    group.message = message;
    group.replay = present && !(on && began(group));
    return group;
  }

  /** Known to be off before, or to have begun untold: an edge, however it is told. */
  const began = (group: Group) => group.told === false || group.heldBack !== undefined || late.has(group.id);

  /** Undefined when there are too many things already, all of them on. */
  function groupFor(row: TopicRow, message: Notification, detection: DetectionClass): Group | undefined {
    const item = itemOf(row, message, detection);
    const id = `${detection}|${item ?? ''}`;
    const known = groups.get(id);
    if (known !== undefined) return known;
    if (groups.size >= groupCap) {
      // The classes themselves are few and always stay.
      const idle = [...groups.values()].find((group) => group.item !== undefined && group.told !== true);
      if (idle === undefined && item !== undefined) return undefined;
      if (idle !== undefined) groups.delete(idle.id);
    }
    const made: Group = {
      id,
      detection,
      item,
      token: tokenOf(row, message),
      shownBy: new Set(),
      told: undefined,
      message,
      replay: true,
      heldBack: undefined,
    };
    groups.set(id, made);
    return made;
  }

  /** The oldest object beside another of its kind gives way, so that nothing ends by that. */
  function makeRoom(): boolean {
    if (entries.size < entryCap) return true;
    for (const entry of entries.values()) {
      const mine = groupsOf(entry);
      if (mine.some((group) => group.shownBy.size < 2)) continue;
      for (const group of mine) group.shownBy.delete(entry.id);
      return entries.delete(entry.id);
    }
    return false;
  }

  const groupsOf = ({ row, message, classes }: Entry): readonly Group[] =>
    classes.flatMap((detection) => groups.get(`${detection}|${itemOf(row, message, detection) ?? ''}`) ?? []);

  /** Tells a group's state if it differs from what was told last. Over the cap only inputs are told until there is room again. */
  function settle(group: Group, now: number, signals: Signal[]): 'done' | 'flood' {
    const on = group.shownBy.size > 0;
    if (!on) over(group);
    if (on === group.told) return 'done';
    const isRoom = (group.replay && greetings.take(now)) || mayTell(group.detection, now);
    if (!isRoom && !neverWaits(group.detection)) {
      if (on && !group.replay && isSighting(group.detection)) group.heldBack ??= group.message;
      return 'flood';
    }
    group.heldBack = undefined;
    group.told = on;
    signals.push(signalOf(group, group.message, { active: on, pulse: false, replay: group.replay }));
    return isRoom ? 'done' : 'flood';
  }

  /** Nobody was told that it began: told as a pulse when there is room. */
  function over(group: Group): void {
    const { heldBack, detection, item, token } = group;
    if (heldBack === undefined) return;
    group.heldBack = undefined;
    adoptLate({ detection, item, token, message: heldBack });
  }

  function adoptLate(one: Late): void {
    late.set(`${one.detection}|${one.item ?? ''}`, one);
  }

  const pulseOf = (one: Late, replay: boolean) => signalOf(one, one.message, { active: true, pulse: true, replay });

  /** What nobody has to act on leaves half of the common room to the rest. */
  const mayTell = (detection: DetectionClass, now: number): boolean =>
    common.take(now, isSighting(detection) ? 0 : signalsPerSecond / 2) || ownOf(detection).take(now);

  function ownOf(detection: DetectionClass): Bucket {
    const own = owns.get(detection) ?? bucket(ofItsOwn);
    owns.set(detection, own);
    return own;
  }

  function signalOf(
    { detection, item, token }: Pick<Group, 'detection' | 'item' | 'token'>,
    message: Notification,
    flags: { active: boolean; pulse: boolean; replay: boolean },
  ): DetectionSignal {
    const rule = token ?? ruleOf(message);
    return {
      kind: 'detection',
      source: ref,
      detection,
      ...flags,
      topic: message.topic,
      ...(item !== undefined && { item }),
      ...(rule !== undefined && { rule }),
      ...(message.utcTime !== undefined && { deviceTime: message.utcTime }),
    };
  }

  function giveUp(now: number): void {
    for (const entry of [...entries.values()]) {
      const mostMs = longestMs(entry.row, entry.classes);
      if (mostMs === undefined || now - entry.saidAt < mostMs) continue;
      entries.delete(entry.id);
      givenUp.set(entry.id, true);
      const { utcTime: _, ...message } = entry.message;
      for (const group of groupsOf(entry)) show(group, entry.id, false, message, true);
    }
  }

  return {
    lastValues,
    apply(heard, signals) {
      const { reading } = heard;
      return reading.kind === 'pulse' ? pulse(heard, signals) : level({ ...heard, reading }, signals);
    },
    expire(now) {
      giveUp(now);
      const signals: Signal[] = [];
      for (const [key, one] of [...late.entries()]) {
        if (!mayTell(one.detection, now)) continue;
        late.delete(key);
        signals.push(pulseOf(one, false));
      }
      // What was given up has ended, and what the cap held back is told.
      for (const group of groups.values()) {
        const isNews = group.told !== undefined || group.shownBy.size > 0 || group.heldBack !== undefined;
        if (isNews) settle(group, now, signals);
      }
      return signals;
    },
    goneSince(then) {
      for (const entry of [...entries.values()]) {
        if (entry.saidAt >= then || Object.keys(entry.message.key).length === 0) continue;
        entries.delete(entry.id);
        const { utcTime: _, ...message } = entry.message;
        for (const group of groupsOf(entry)) show(group, entry.id, false, message, true);
      }
    },
    release(isStrange, now, signals) {
      const isMoved = ({ heldBack }: Group) => heldBack !== undefined && isStrange(heldBack);
      const leaving = [...entries.values()]
        .filter(({ message }) => isStrange(message))
        .map((entry) => ({ ...entry, untold: groupsOf(entry).flatMap((one) => (isMoved(one) ? one.detection : [])) }));
      for (const group of leaving.flatMap(groupsOf)) if (isMoved(group)) group.heldBack = undefined;
      for (const entry of leaving) {
        entries.delete(entry.id);
        for (const group of groupsOf(entry)) settle(show(group, entry.id, false, entry.message, true), now, signals);
      }
      const strange = [...late.entries()].filter(([, { message }]) => isStrange(message));
      for (const [key] of strange) late.delete(key);
      return { entries: leaving, late: strange.map(([, one]) => one) };
    },
    adoptLate,
    adopt(entry, now, signals) {
      if (!makeRoom()) return;
      const { untold, ...kept } = entry;
      entries.set(entry.id, kept);
      for (const detection of entry.classes) {
        const group = groupFor(entry.row, entry.message, detection);
        if (group === undefined) continue;
        show(group, entry.id, true, entry.message, true);
        group.replay = !untold.includes(detection) && group.heldBack === undefined;
        settle(group, now, signals);
      }
    },
    reset() {
      // The device will not tell again what it told once: that waits on.
      for (const group of groups.values()) over(group);
      entries.clear();
      groups.clear();
    },
    get holdsBack() {
      if (late.size > 0) return true;
      for (const { told, shownBy } of groups.values()) if (told !== undefined && told !== shownBy.size > 0) return true;
      return false;
    },
  };
}

/** A contact may be a hold-up button or a fire detector, which no flood keeps waiting (safety 1). It counts as part of the flood. */
const neverWaits = (detection: DetectionClass): boolean => detection === 'input';

/** Tells things of one class apart that are not merged: inputs by their token, topics nobody knows by their name. */
function itemOf(row: TopicRow, message: Notification, detection: DetectionClass): string | undefined {
  if (row.token === undefined && detection !== 'other') return row.item;
  const token = tokenOf(row, message);
  return token === undefined ? message.topic : `${message.topic} ${token}`;
}

/** Object ids stay apart (one field, several people); everything else that names the source, too. */
const entryId = (message: Notification, part: string) =>
  [message.topic, JSON.stringify(message.source), JSON.stringify(message.key), part].join('|');
