import {
  holidayDefault,
  type ScheduleAction,
  type SchedulePlan,
  type SchedulesPlan,
  type Weekday,
  weekdays,
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
    days: weekdays.filter((day) => days.some((range) => daysOf(range).includes(day))),
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

/** "fri-mon" goes over the end of the week. */
function daysOf(range: string): readonly Weekday[] {
  if (range === 'daily') return weekdays;
  const [first = -1, last = first] = range.split('-').map((day) => (weekdays as readonly string[]).indexOf(day));
  const length = ((last - first + 7) % 7) + 1;
  return Array.from({ length }, (_, index) => weekdays[(first + index) % 7]).filter((day) => day !== undefined);
}
