import { lifeSafetyKinds } from '#site/model/index.ts';
import type { ConfigDocument } from './document.ts';
import { at, duplicateIds, type Entry, idsOf, items, unknownNames, zoneNumbersOf, zoneTypesOf } from './entries.ts';
import type { Problem } from './problem.ts';

/** What a rule names must exist, and what it says must be able to happen. */
export function ruleChecks(document: ConfigDocument): Problem[] {
  const rules = items(document, 'rules');
  const each = (...path: readonly (string | number)[]) =>
    rules.flatMap((rule) => items(document, ...rule.path, ...path));
  return [
    ...duplicateIds(document, 'rules'),
    ...unknownNames(document, each('on', 'zones'), 'zone', zoneNumbersOf(document)),
    ...unknownNames(document, each('on', 'partitions'), 'partition', idsOf(document, 'partitions')),
    ...unknownNames(document, each('play', 'speakers'), 'speaker', idsOf(document, 'speakers')),
    ...silentZones(document, each('on', 'zones')),
    ...armedLifeSafety(document, rules),
    ...withoutSpeakers(document, rules),
  ];
}

/** A silent hold-up makes no sound (safety 4): who writes such a rule is told so, and not left to wait for it. */
function silentZones(document: ConfigDocument, zones: readonly Entry[]): Problem[] {
  const types = zoneTypesOf(document);
  return zones
    .filter(({ value }) => types.get(String(value)) === 'panic_silent')
    .map(({ path }) =>
      document.problem(path, { message: 'is a silent hold-up, which never makes a sound', expected: 'another zone' }),
    );
}

/** Life safety never depends on arming (safety 1). */
function armedLifeSafety(document: ConfigDocument, rules: readonly Entry[]): Problem[] {
  return rules.flatMap(({ path }) => {
    const armed = at(document, [...path, 'on', 'armed']);
    if (armed.value === undefined) return [];
    const kinds = [at(document, [...path, 'on', 'kind']), ...items(document, ...path, 'on', 'kinds')].filter(
      ({ value }) => value !== undefined,
    );
    const of = at(document, [...path, 'on', 'class']).value;
    const meant = kinds.length === 0 ? of === 'alarm' : (of ?? 'alarm') === 'alarm' && kinds.some(isLifeSafety);
    if (!meant) return [];
    const expected = 'a rule of its own without it, and kinds of burglary in this one';
    return document.problem(armed.path, { message: 'is not for life safety, which no arming ends', expected }, 'key');
  });
}

const isLifeSafety = ({ value }: Entry): boolean => (lifeSafetyKinds as readonly unknown[]).includes(value);

function withoutSpeakers(document: ConfigDocument, rules: readonly Entry[]): Problem[] {
  if (rules.length === 0 || items(document, 'speakers').length > 0) return [];
  const what = { message: 'has no effect: there are no speakers', expected: 'the section speakers' };
  return [document.problem(['rules'], what, 'key')];
}
