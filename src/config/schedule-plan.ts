import {
  daysOf,
  holidayDefault,
  type ScheduleAction,
  type SchedulePlan,
  type SchedulesPlan,
} from '#site/model/index.ts';
import type { Settings } from './schema.ts';

type Schedule = Settings['schedules'][number];

/** The schedules as the core plans with them. Pure. Expects checked settings. */
export function schedulesPlan({ site, schedules, holidays }: Settings): SchedulesPlan {
  return {
    timezone: site.timezone,
    schedules: schedules.map(schedulePlan),
    holidays: holidays.map(({ from, to, name }) => ({ from, to: to ?? from, name })),
  };
}

function schedulePlan(schedule: Schedule): SchedulePlan {
  const action = actionOf(schedule);
  const { id, name, days, at, holidays } = schedule;
  return {
    id,
    name: name ?? id,
    days: daysOf(days),
    at,
    holidays: holidays ?? holidayDefault[action.kind],
    action,
  };
}

function actionOf({ arm, disarm, announce }: Schedule): ScheduleAction {
  if (arm !== undefined) {
    const { partitions, mode, not_ready: notReady, wait: waitMs, postpone } = arm;
    return {
      kind: 'arm',
      partitions,
      mode,
      notReady: notReady === 'bypass' ? 'bypass' : 'fail',
      waitMs,
      postpone: { times: postpone.times, totalMs: postpone.total },
    };
  }
  if (disarm !== undefined) return { kind: 'disarm', schedule: disarm.schedule };
  return announce === undefined ? { kind: 'testReport' } : { kind: 'announce', message: announce.message };
}
