import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bundlePort } from '#daemon/bundle-port.ts';
import { roles } from '#lan/access/index.ts';
import { deviceList, eventList, mediaList, outboxDocument, personList, userList } from '#lan/http/index.ts';
import { knownProblems } from '#lan/page/error-text.ts';
import { type WordKind, wordsOf } from '#lan/page/text.ts';
import { logLevels } from '#lib/log.ts';
import {
  alarmKinds,
  armingWords,
  armModes,
  audioCategories,
  clockQuality,
  deviceKind,
  eventClasses,
  eventKinds,
  eventStatus,
  lanes,
  outcome,
  playbackStates,
  replyCodes,
  troubleKinds,
  userRoles,
  zoneTypes,
} from '#site/model/index.ts';

const source = join(import.meta.dirname, '..', '..', 'src', 'lan', 'page');
const files = readdirSync(source).filter((name) => /\.tsx?$/.test(name));
const code = files.map((name) => readFileSync(join(source, name), 'utf8')).join('\n');
const textsOf = (language: string) =>
  JSON.parse(readFileSync(join(source, 'texts', `${language}.json`), 'utf8')) as Record<string, string>;
const languages = readdirSync(join(source, 'texts')).map((name) => name.replace('.json', ''));
const en = textsOf('en');

const entry = eventList.shape.items.element.shape;
const file = mediaList.shape.items.element.shape.items.element.shape;

/** Nothing is taken while only the names are asked for. */
const reportParts = bundlePort({} as never)
  .contents()
  .map(({ name }) => name);

/** What the bridge may say, by the kind of word that the page has for it: a new one without a text fails here. */
const said: Readonly<Record<WordKind, readonly string[]>> = {
  arming: armingWords,
  category: audioCategories,
  class: eventClasses,
  clock: clockQuality.options,
  delivery: entry.delivery.options,
  deviceRemedy: [...new Set([...deviceKind.options, ...deviceList.shape.items.element.shape.kind.options])],
  event: [...new Set([...eventKinds, ...alarmKinds, ...troubleKinds, 'fail_to_arm'])],
  kind: [...new Set([...deviceKind.options, ...deviceList.shape.items.element.shape.kind.options])],
  lane: lanes,
  level: logLevels,
  link: outboxDocument.shape.link.shape.state.options,
  media: file.kind.options,
  mediaState: file.state.options,
  mode: armModes,
  outcome: outcome.options,
  'pending.section': ['site', 'cloud', 'cameras', 'nvrs'],
  playback: playbackStates,
  problem: knownProblems,
  remedy: [...troubleKinds, 'fail_to_arm'],
  reply: replyCodes,
  'report.part': reportParts,
  bundle: reportParts,
  // Members that the page sends.
  field: ['id', 'name', 'password', 'current', 'code', 'duress_code', 'consent', 'valid_until', 'role'],
  role: [...new Set([...roles, ...userRoles])],
  roleMay: roles,
  secret: ['set', 'unset', 'new'],
  // Members of the configuration that the page changes.
  'setup.camera': [
    'id',
    'name',
    'url',
    'username',
    'password',
    'zone',
    'zone_type',
    'partition',
    'channels',
    'pictures',
  ],
  pictures: deviceList.shape.items.element.shape.pictures.unwrap().options,
  'setup.cloud': ['base_url', 'auth_url', 'ext_base_url', 'events', 'partner', 'api_key'],
  'setup.site': ['id', 'name', 'timezone', 'dealer_id', 'account_reference_id', 'language', 'security_type'],
  status: eventStatus.options,
  theme: ['device', 'light', 'dark'],
  user: [
    ...userList.shape.items.element.shape.now.unwrap().options,
    ...personList.shape.items.element.shape.now.options,
  ],
  zoneType: zoneTypes.filter((type) => type.startsWith('video_')),
};
const words = Object.entries(said).flatMap(([kind, values]) => values.map((value) => `${kind}.${value}`));

const plurals = ['zero', 'one', 'two', 'few', 'many'] as const;
const isPlural = (key: string): boolean => plurals.some((form) => key.endsWith(`.${form}`) && base(key) in en);
const base = (key: string): string => key.slice(0, key.lastIndexOf('.'));
const placeholders = (text: string) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();

test('every word that the bridge may say has its text', () => {
  expect(words.filter((key) => !(key in en))).toEqual([]);
});

test('every text that a screen names is there, and none is there that nothing names', () => {
  // `t('a')`, and `t(is ? 'a' : 'b')` over several lines.
  const named = [...code.matchAll(/\bt\(([^()]*(?:\([^()]*\)[^()]*)*)\)/g)].flatMap(([, inside = '']) =>
    [...inside.matchAll(/'([a-z]\w*(?:\.\w+)+)'/g)].map(([, key = '']) => key),
  );
  expect(named.length).toBeGreaterThan(100);
  expect([...new Set(named)].filter((key) => !(key in en))).toEqual([]);
  // Put together in a template: any word where it has a value.
  const made = [...code.matchAll(/\bt\(\s*`([^`]+)`/g)].map(
    ([, text = '']) => new RegExp(`^${text.replaceAll('.', '\\.').replaceAll(/\$\{[^}]*\}/g, '\\w+')}$`),
  );
  const isNamed = (key: string) =>
    words.includes(key) || code.includes(`'${key}'`) || made.some((pattern) => pattern.test(key));
  const unused = Object.keys(en).filter((key) => !isPlural(key) && !isNamed(key));
  expect(unused).toEqual([]);
});

describe.each(languages)('the texts in %s', (language) => {
  const texts = textsOf(language);
  /** Categories of whole numbers beside `other`, for which the text without an ending stands. */
  const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories.filter((form) => form !== 'other');

  test('are those of English, each with its numbers and names', () => {
    const plain = (all: Record<string, string>) => Object.keys(all).filter((key) => !isPlural(key));
    expect(plain(texts).sort()).toEqual(plain(en).sort());
    for (const key of plain(texts))
      expect({ key, placeholders: placeholders(texts[key] ?? '') }).toEqual({
        key,
        placeholders: placeholders(en[key] ?? ''),
      });
  });

  test('have a form for each number that the language tells apart, and no other', () => {
    const counted = Object.keys(texts).filter((key) => !isPlural(key) && texts[key]?.includes('{count}'));
    const wanted = counted.flatMap((key) => forms.map((form) => `${key}.${form}`));
    expect(Object.keys(texts).filter(isPlural).sort()).toEqual(wanted.sort());
  });

  test('are no empty words', () => {
    expect(Object.keys(texts).filter((key) => texts[key]?.trim() === '')).toEqual([]);
  });
});

test('a number is told in its plural, and as the language writes it', () => {
  expect(wordsOf('en').t('partitions.zones', { count: 1 })).toBe('One zone');
  expect(wordsOf('en').t('partitions.zones', { count: 1200 })).toBe('1,200 zones');
  expect(wordsOf('de').t('partitions.zones', { count: 1200 })).toBe('1.200 Meldergruppen');
});

test('the time of the site stands beside that of the browser where they differ, and only there', () => {
  const at = '2026-11-29T20:00:00.000Z';
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const other = here === 'America/New_York' ? 'Asia/Tokyo' : 'America/New_York';
  const there = new Intl.DateTimeFormat('en', { timeStyle: 'short', timeZone: other }).format(new Date(at));
  expect(wordsOf('en', other).time(at)).toContain(`(${there} at the site)`);
  for (const zone of [here, undefined, 'Nowhere/Atall']) expect(wordsOf('en', zone).time(at)).not.toContain('site');
});
