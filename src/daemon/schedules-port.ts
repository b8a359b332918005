import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { SitewardError } from '#errors.ts';
import type { ScheduleRun, SchedulesPort } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import { localIso } from '#lib/local-iso.ts';
import { type CommandResult, isoTime } from '#site/model/index.ts';
import { type House, running } from './house.ts';
import { giveLocally, lockWords } from './local-command.ts';

/** The schedules as the control socket shows and postpones them. */
export function schedulesPort(options: {
  house: House;
  clock: Clock;
  log: Logger;
  /** IANA name of the site's zone. */
  timezone: () => string;
}): SchedulesPort {
  const { house, clock, log, timezone } = options;

  return {
    async list(count) {
      const zone = timezone();
      const runs = running(house, 'controller').nextRuns(count);
      const items = runs.map(({ schedule, name, action, date, time, at, holiday, skipped, afterGap, postponed }) => ({
        ...{ schedule, name, action: words[action], date, time, at: isoTime(at), local: localIso(at, zone) },
        ...(holiday !== undefined && { holiday }),
        ...{ skipped, after_gap: afterGap, postponed },
      }));
      return { timezone: zone, items };
    },

    async postpone({ id, minutes, code, by }) {
      const asked = { verb: 'postpone', partition: 'all', schedule: id, minutes } as const;
      const command = { ...asked, id: randomUUID(), issuedAt: clock.wall() };
      const { check, result } = await giveLocally(house, command, { code, by });
      const { postponed, error } = result;
      if (postponed === undefined) throw refused(id, error);
      log.warn({ actor: check.actor, schedule: id, minutes }, 'an arming was postponed');
      const { due, timesLeft } = postponed;
      return { schedule: id, at: isoTime(due), local: localIso(due, timezone()), times_left: timesLeft };
    },
  };
}

const words = {
  arm: 'arm',
  disarm: 'disarm',
  announce: 'announce',
  testReport: 'test_report',
} as const satisfies Record<string, ScheduleRun['action']>;

/** By code and field of the refusal. */
const sentences: Readonly<Record<string, string>> = {
  'BAD_CODE code': 'the code does not count',
  'CODE_REQUIRED code': 'it takes a code',
  'CONFLICT schedule': 'it does not arm within the next 6 hours; "siteward schedule" shows when it does',
  'NOT_ALLOWED code': 'it takes the code of somebody who may disarm',
  'NOT_ALLOWED minutes': 'it would be put off by more than the configuration allows for one day',
  'NOT_ALLOWED schedule': 'it does not arm anything; only an arming is postponed',
  'NOT_ALLOWED times': 'it was put off as often as the configuration allows for one day',
};

function refused(id: string, error: CommandResult['error']): SitewardError {
  if (error?.code === 'UNKNOWN_TARGET')
    return new SitewardError('schedule_unknown', `there is no schedule ${id}; "siteward schedule" lists them`);
  const why = lockWords(error) ?? sentences[`${error?.code} ${error?.field}`] ?? `it was refused as ${error?.code}`;
  return new SitewardError(
    'postpone_refused',
    `${id} is not postponed${error?.field === 'times' || error?.field === 'minutes' ? ' any further' : ''}: ${why}`,
    { facts: { reason: error?.code } },
  );
}
