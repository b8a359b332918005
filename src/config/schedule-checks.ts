import { scheduleId } from '#site/model/index.ts';
import type { ConfigDocument } from './document.ts';
import { at, type Entry, idsOf, items, panelPartitions, repeated, unknown, unknownNames } from './entries.ts';
import type { Problem } from './problem.ts';

/** What a schedule names must exist, and what it says must be able to happen. */
export function scheduleChecks(document: ConfigDocument): Problem[] {
  const schedules = items(document, 'schedules');
  return [
    ...partitionsOfArms(document, schedules),
    ...undone(document, schedules),
    ...nothingControlled(document, schedules),
    ...bypassOfPanels(document, schedules),
    ...neverAHoliday(document, schedules),
    ...holidaysForNothing(document, schedules),
  ];
}

const armedBy = (document: ConfigDocument, { path }: Entry): Entry[] => items(document, ...path, 'arm', 'partitions');

function partitionsOfArms(document: ConfigDocument, schedules: readonly Entry[]): Problem[] {
  const known = idsOf(document, 'partitions');
  return schedules.flatMap((schedule) => {
    const named = armedBy(document, schedule);
    const twice = repeated(named).map(({ path }) => document.problem(path, { message: 'stands there twice' }));
    return [...unknownNames(document, named, 'partition', known), ...twice];
  });
}

/** A disarm undoes the arming of a schedule, so that must be one that arms (C12). */
function undone(document: ConfigDocument, schedules: readonly Entry[]): Problem[] {
  const arming = schedules
    .filter(({ path }) => at(document, [...path, 'arm']).value !== undefined)
    .map(({ path }) => at(document, [...path, 'id']).value)
    .filter((id) => scheduleId.safeParse(id).success)
    .map(String);
  const known = schedules.map(({ path }) => at(document, [...path, 'id']).value);
  return schedules.flatMap(({ path }) => {
    const named = at(document, [...path, 'disarm', 'schedule']);
    if (typeof named.value !== 'string' || arming.includes(named.value)) return [];
    if (!known.includes(named.value)) return document.problem(named.path, unknown('schedule', named.value, arming));
    return document.problem(named.path, {
      message: 'does not arm anything that could be disarmed',
      expected: arming.length === 0 ? 'a schedule with arm' : `one of ${arming.join(', ')}`,
    });
  });
}

/** Of a system that siteward only watches nothing is armed or disarmed. */
function nothingControlled(document: ConfigDocument, schedules: readonly Entry[]): Problem[] {
  if (at(document, ['site', 'security_type']).value !== 4) return [];
  return schedules
    .flatMap(({ path }) => ['arm', 'disarm'].map((action) => at(document, [...path, action])))
    .filter(({ value }) => value !== undefined)
    .map(({ path }) =>
      document.problem(
        path,
        {
          message: 'has no effect: with security_type 4 siteward only watches',
          expected: 'announce or test_report',
        },
        'key',
      ),
    );
}

function bypassOfPanels(document: ConfigDocument, schedules: readonly Entry[]): Problem[] {
  const owned = panelPartitions(document).map(({ path }) => path.at(-1));
  return schedules.flatMap((schedule) => {
    const policy = at(document, [...schedule.path, 'arm', 'not_ready']);
    const ofPanels = armedBy(document, schedule).filter(({ value }) => owned.includes(value as string));
    if (policy.value !== 'bypass' || ofPanels.length === 0) return [];
    return document.problem(policy.path, {
      message: 'has no effect: a panel decides itself what it arms without',
      expected: 'report, or a schedule of its own for the partitions siteward decides',
    });
  });
}

function neverAHoliday(document: ConfigDocument, schedules: readonly Entry[]): Problem[] {
  if (items(document, 'holidays').length > 0) return [];
  return [...schedules, ...items(document, 'rules')]
    .map(({ path }) => at(document, [...path, 'holidays']))
    .filter(({ value }) => value === 'only')
    .map(({ path }) =>
      document.problem(path, { message: 'never runs: there are no holidays', expected: 'the section holidays' }),
    );
}

function holidaysForNothing(document: ConfigDocument, schedules: readonly Entry[]): Problem[] {
  const byClock = items(document, 'rules').some(({ path }) => at(document, [...path, 'at']).value !== undefined);
  if (schedules.length > 0 || byClock || items(document, 'holidays').length === 0) return [];
  const what = { message: 'has no effect: there are no schedules', expected: 'the section schedules' };
  return [document.problem(['holidays'], what, 'key')];
}
