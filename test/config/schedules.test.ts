import { describe, expect, test } from 'vitest';
import { sitePlan } from '#config/index.ts';
import { minimal, problems, settings } from './fixture.ts';

const night = '{ id: night, days: [daily], at: "22:00", arm: { partitions: [p1] } }';
const listed = (...schedules: string[]) => `${minimal}schedules:\n${schedules.map((one) => `  - ${one}\n`).join('')}`;
const fair = 'holidays: [ { name: Fair, from: 2026-06-10 } ]\n';

describe('a schedule that could not do what it says is reported at its place', () => {
  test.each<[string, string, string]>([
    ['two with one id', listed(night, night), '6:11 schedules[1].id: another entry of schedules has this id'],
    [
      'a partition that is none',
      listed(night.replace('p1', 'p2')),
      '5:66 schedules[0].arm.partitions[0]: there is no such partition, expected one of p1',
    ],
    [
      'a partition named twice',
      listed(night.replace('p1', 'p1, p1')),
      '5:70 schedules[0].arm.partitions[1]: stands there twice',
    ],
    [
      'a disarming of a schedule that is none',
      listed(night, '{ id: morning, days: [daily], at: "06:00", disarm: { schedule: nihgt } }'),
      '6:68 schedules[1].disarm.schedule: there is no such schedule, expected one of night; did you mean "night"?',
    ],
    [
      'a disarming of a schedule that arms nothing',
      listed(
        '{ id: weekly, days: [daily], at: "06:00", test_report: true }',
        '{ id: morning, days: [daily], at: "06:00", disarm: { schedule: weekly } }',
      ),
      '6:68 schedules[1].disarm.schedule: does not arm anything that could be disarmed, expected a schedule with arm',
    ],
    [
      'nothing to do',
      listed('{ id: idle, days: [daily], at: "06:00" }'),
      '5:5 schedules[0]: must have exactly one of arm, disarm, announce, test_report',
    ],
    [
      'two things to do',
      listed('{ id: both, days: [daily], at: "06:00", announce: { message: Hello }, test_report: true }'),
      '5:5 schedules[0]: must have exactly one of arm, disarm, announce, test_report',
    ],
    [
      'arming where siteward only watches',
      listed(night).replace('timezone:', 'security_type: 4, timezone:'),
      '5:46 schedules[0].arm: has no effect: with security_type 4 siteward only watches, expected announce or test_report',
    ],
    [
      'leaving out zones of a panel',
      `${listed(night.replace('[p1]', '[p1], not_ready: bypass'))}panels: [ { id: m, profile: pai, partitions: { p1: "1" } } ]\n`,
      'schedules[0].arm.not_ready: has no effect: a panel decides itself what it arms without, expected report, or a schedule',
    ],
    [
      'only on holidays where there are none',
      listed(night.replace('at:', 'holidays: only, at:')),
      'schedules[0].holidays: never runs: there are no holidays, expected the section holidays',
    ],
    [
      'holidays without schedules',
      `${minimal}${fair}`,
      '4:1 holidays: has no effect: there are no schedules, expected the section schedules',
    ],
    [
      'an unknown rule for holidays',
      `${listed(night.replace('at:', 'holidays: skpi, at:'))}${fair}`,
      'schedules[0].holidays: is none of the possible values, expected one of skip, only, ignore; did you mean "skip"?',
    ],
    [
      'holidays that end before they begin',
      `${listed(night)}holidays: [ { name: Fair, from: 2026-06-10, to: 2026-06-09 } ]\n`,
      'holidays[0].to: is before from',
    ],
    [
      'a date that is none',
      `${listed(night)}holidays: [ { name: Fair, from: 2026-02-30 } ]\n`,
      'holidays[0].from: must be a date such as 2026-12-24',
    ],
    [
      'a time without quotes as a number',
      listed(night.replace('"22:00"', '2200')),
      'schedules[0].at: is a number, expected text',
    ],
    [
      'a time that is none',
      listed(night.replace('22:00', '24:00')),
      'schedules[0].at: must be a time of day such as 22:00',
    ],
    [
      'a day that is none',
      listed(night.replace('daily', 'monday')),
      'schedules[0].days[0]: must be a day such as mon, days such as mon-fri, or daily',
    ],
    ['no day', listed(night.replace('daily', '')), 'schedules[0].days: is too small, expected at least 1 entries'],
    [
      'a wait that is too long',
      listed(night.replace('[p1]', '[p1], wait: 6m')),
      'schedules[0].arm.wait: must be between 0s and 5m',
    ],
  ])('%s', (_, text, expected) => {
    expect(problems(text)).toEqual([expect.stringContaining(expected)]);
  });
});

test('schedules become the plan of the core, with what the owner of a closed shop expects', () => {
  const text = `${listed(
    night.replace('daily', 'fri-mon, wed').replace('[p1]', '[p1], mode: night, not_ready: bypass, wait: 0s'),
    '{ id: morning, name: Morning, days: [sun], at: "06:00", disarm: { schedule: night } }',
    '{ id: closing, days: [daily], at: "21:50", holidays: ignore, announce: { message: We close } }',
    '{ id: weekly, days: [wed], at: "10:00", test_report: true }',
  )}${fair}`;
  const everyDay = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
  expect(sitePlan(settings(text)).schedules).toEqual({
    timezone: 'Europe/Berlin',
    holidays: [{ name: 'Fair', from: '2026-06-10', to: '2026-06-10' }],
    schedules: [
      {
        ...{ id: 'night', name: 'night', days: ['mon', 'wed', 'fri', 'sat', 'sun'], at: '22:00', holidays: 'ignore' },
        action: {
          ...{ kind: 'arm', partitions: ['p1'], mode: 'night', notReady: 'bypass', waitMs: 0 },
          postpone: { times: 2, totalMs: 7_200_000 },
        },
      },
      {
        ...{ id: 'morning', name: 'Morning', days: ['sun'], at: '06:00', holidays: 'skip' },
        action: { kind: 'disarm', schedule: 'night' },
      },
      {
        ...{ id: 'closing', name: 'closing', days: everyDay, at: '21:50', holidays: 'ignore' },
        action: { kind: 'announce', message: 'We close' },
      },
      {
        ...{ id: 'weekly', name: 'weekly', days: ['wed'], at: '10:00', holidays: 'ignore' },
        action: { kind: 'testReport' },
      },
    ],
  });
});

test('without schedules the plan has none', () => {
  expect(sitePlan(settings(minimal)).schedules).toBeUndefined();
});
