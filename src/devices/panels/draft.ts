import type { ArmingWord } from '#site/model/index.ts';
import { compileProfile, ruleOf } from './compile.ts';
import { type FoundArea, type FoundDoor, findAreas, findDoors } from './find.ts';
import type { Watched } from './observe.ts';
import { alikeOf, fixedPlace, type Place, placeOf } from './place.ts';
import type { Profile } from './profile.ts';

export interface Draft {
  /** Valid by the schema and by the compiler; undefined when neither a door nor an area was found. */
  readonly profile: Profile | undefined;
  /** What was found, one sentence each, and what was not. */
  readonly found: readonly string[];
  readonly missing: readonly string[];
}

interface Rule {
  readonly topic: string;
  readonly read: readonly object[];
}

/**
 * A first profile from what changed while somebody opened and closed a door, armed and disarmed. It holds only what was
 * seen: above all not the word for an alarm, unless the bridge speaks siteward's own words. Pure.
 */
export function draftProfile(options: {
  readonly id: string;
  readonly title: string;
  readonly watched: readonly Watched[];
}): Draft {
  const { watched } = options;
  const [door, ...otherDoors] = findDoors(watched);
  const [area, ...otherAreas] = findAreas(watched);
  const words = area === undefined ? undefined : wordsOfArea(area);
  const link = findLink(watched, [door, area]);
  const found = [
    ...(door === undefined
      ? []
      : [
          `The door: ${where(door.watched)} says ${door.open} when open, ${door.closed} when closed.${guess(door)}${also(otherDoors)}`,
        ]),
    ...(area === undefined
      ? []
      : [`The partition: ${where(area.watched)} says ${said(words?.heard ?? {})}.${guess(area)}${also(otherAreas)}`]),
    ...(link === undefined ? [] : [`The bridge: ${where(link.watched)} says ${link.up} while it lives.`]),
  ];
  const missing = missingOf({ door, area, words, link, watched });
  if (door === undefined && area === undefined) return { profile: undefined, found, missing };
  const profile = firstThatFits({ ...options, door, area, words: words?.map ?? {}, link, missing });
  const all = profile?.notes?.includes(oneDoor) === true ? [oneDoor, ...missing] : missing;
  return { profile, found, missing: all };
}

/** What went along just as well is for the technician to judge. */
const also = (others: readonly { readonly watched: Watched }[]): string =>
  others.length === 0
    ? ''
    : ` It could also be ${others
        .slice(0, 3)
        .map(({ watched }) => where(watched))
        .join(' or ')}.`;

const where = ({ topic, path }: Watched): string => (path.length === 0 ? topic : `${topic} (/${path.join('/')})`);
const guess = ({ isGuess }: { readonly isGuess: boolean }): string =>
  isGuess ? ' Nothing but its timing speaks for it: do it once more and watch.' : '';

const said = (map: Readonly<Record<string, ArmingWord>>): string =>
  Object.entries(map)
    .map(([raw, word]) => (raw === word ? word : `${raw} for ${word}`))
    .join(', ');

/** Words that mean the same for every bridge that uses siteward's own. `pending` is not among them: to some it is the exit. */
const shared: readonly ArmingWord[] = ['arming', 'armed_home', 'armed_night', 'armed_vacation', 'triggered'];

function wordsOfArea({ armed, arming, disarmed }: FoundArea) {
  const heard: Record<string, ArmingWord> = {};
  for (const raw of disarmed) heard[raw] = 'disarmed';
  for (const raw of arming) heard[raw] = 'arming';
  heard[armed] = 'armed_away';
  const ours = armed === 'armed_away' && disarmed.includes('disarmed');
  const map = ours ? { ...Object.fromEntries(shared.map((word) => [word, word])), ...heard } : heard;
  return { heard, map, ours };
}

interface FoundLink {
  readonly watched: Watched;
  readonly up: string;
  readonly down: string;
}

const liveness = /^(status|availability|available|online|lwt|alive|connected|is_connected)$/i;
const opposites: readonly (readonly [string, string])[] = [
  ['online', 'offline'],
  ['Online', 'Offline'],
  ['ONLINE', 'OFFLINE'],
  ['connected', 'disconnected'],
  ['true', 'false'],
  ['True', 'False'],
  ['yes', 'no'],
];

function findLink(
  all: readonly Watched[],
  others: readonly ({ watched: Watched } | undefined)[],
): FoundLink | undefined {
  const bases = others.flatMap((one) => one?.watched.topic.split('/', 1)[0] ?? []);
  for (const watched of all) {
    const { topic, path, values } = watched;
    const levels = topic.split('/');
    if (!bases.includes(levels[0] ?? '') || path.length > 0 || !liveness.test(levels.at(-1) ?? '')) continue;
    const pair = opposites.find(([up]) => values.before[0] === up);
    if (pair !== undefined) return { watched, up: pair[0], down: pair[1] };
  }
  return undefined;
}

interface Parts {
  readonly door: FoundDoor | undefined;
  readonly area: FoundArea | undefined;
  readonly link: FoundLink | undefined;
}

function missingOf({
  door,
  area,
  words,
  link,
  watched,
}: Parts & { words: ReturnType<typeof wordsOfArea> | undefined; watched: readonly Watched[] }): string[] {
  const list: string[] = [];
  if (door === undefined)
    list.push('No value went along with the door. Is it one the panel watches, and does the bridge tell of it?');
  if (area === undefined)
    list.push(
      'No value went along with arming and disarming, or the exit delay was not over. Doors alone do not arm anything.',
    );
  else if (words?.ours === true)
    list.push('The words armed_home, armed_night and triggered were not heard; they are taken to mean what they say.');
  else
    list.push(
      'What the bridge says in an alarm, during the entry delay and in other arming modes was not heard. Cause each once and add its word, or an alarm of the panel will not be seen.',
    );
  for (const found of [door, area]) {
    const others = found === undefined ? [] : alikeOf(found.watched, watched).map((one) => where(one));
    if (found !== undefined && others.length > 0 && placeOf('zone', found.watched, watched).each === undefined)
      list.push(
        `Not read, though of the same form: ${others.slice(0, 3).join(', ')}. Add a read for each, or one with each.`,
      );
  }
  if (link === undefined)
    list.push('Nothing tells whether the bridge lives. Give liveness.stale_after_s if it speaks at regular times.');
  list.push(
    'Commands, tamper, battery and troubles cannot be heard this way: add out, caps and reads from the manual of the bridge.',
  );
  return list;
}

interface Ingredients extends Parts {
  readonly id: string;
  readonly title: string;
  readonly watched: readonly Watched[];
  readonly words: Readonly<Record<string, ArmingWord>>;
  readonly missing: readonly string[];
}

/**
 * Templates that catch every door and area, otherwise the topics as they were heard: there are more doors than areas, and what reads
 * one topic may stand beside what reads all of its form.
 */
function firstThatFits(given: Ingredients): Profile | undefined {
  const { door, area, watched } = given;
  const doors =
    door === undefined ? [undefined] : [placeOf('zone', door.watched, watched), fixedPlace('zone', door.watched)];
  const areas =
    area === undefined
      ? [undefined]
      : [placeOf('partition', area.watched, watched, door?.watched), fixedPlace('partition', area.watched)];
  for (const link of [given.link, undefined])
    for (const [i, doorPlace] of doors.entries())
      for (const areaPlace of areas) {
        const missing = i > 0 && doors[0]?.topic !== doorPlace?.topic ? [oneDoor, ...given.missing] : given.missing;
        const profile = fitting({ ...given, link, missing }, doorPlace, areaPlace);
        if (profile !== undefined) return profile;
      }
  return undefined;
}

const oneDoor = 'Only this one door is read: its topic tells of the partition too. Add a read for each other door.';

/** Undefined where topics meet, or where one rule would take the messages of another. */
function fitting(given: Ingredients, doorPlace: Place | undefined, areaPlace: Place | undefined): Profile | undefined {
  const { door, area } = given;
  try {
    const compiled = compileProfile(profileJson(given, doorPlace, areaPlace));
    const isRead = (topic: string | undefined, target: string) =>
      topic === undefined || ruleOf(compiled, topic)?.reads.some((read) => read.for === target) === true;
    return isRead(door?.watched.topic, 'zone') && isRead(area?.watched.topic, 'partition')
      ? compiled.profile
      : undefined;
  } catch {
    return undefined;
  }
}

function profileJson(given: Ingredients, doorPlace: Place | undefined, areaPlace: Place | undefined): unknown {
  const { id, title, door, area, link, words, missing } = given;
  const rules: Rule[] = [];
  const add = (topic: string, read: object) => {
    const same = rules.findIndex((rule) => rule.topic === topic);
    if (same < 0) rules.push({ topic, read: [read] });
    else rules[same] = { topic, read: [...(rules[same]?.read ?? []), read] };
  };
  if (link !== undefined)
    add(link.watched.topic, { for: 'link', layer: 'bridge', set: 'up', map: { [link.up]: true, [link.down]: false } });
  if (area !== undefined && areaPlace !== undefined)
    add(areaPlace.topic, { for: 'partition', set: 'state', ...readAt(areaPlace), map: words });
  if (door !== undefined && doorPlace !== undefined)
    add(doorPlace.topic, {
      for: 'zone',
      set: 'open',
      ...readAt(doorPlace),
      map: { [door.open]: true, [door.closed]: false },
    });
  const base = rules[0]?.topic.split('/', 1)[0] ?? 'base';
  const based = (topic: string) =>
    topic === base || topic.startsWith(`${base}/`) ? `$b${topic.slice(base.length)}` : topic;
  return {
    id,
    title,
    version: 1,
    hardware: [],
    notes: missing.map((line) => line.slice(0, 300)).slice(0, 16),
    vars: { b: base },
    identity: {
      partition: areaPlace === undefined || areaPlace.counts ? 'number' : 'label',
      zone: doorPlace === undefined || doorPlace.counts ? 'number' : 'label',
    },
    code: { mode: 'none' },
    caps: door === undefined ? [] : ['zone_restore'],
    in: rules.map(({ topic, read }) => ({ topic: based(topic), read })),
    out: {},
  };
}

const readAt = ({ at, each, key }: Place) => ({
  ...(key !== undefined && { key }),
  ...(each !== undefined && { each }),
  ...(at !== undefined && { at }),
});
