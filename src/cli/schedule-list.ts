import { type ScheduleRun, scheduleList } from '#lan/http/index.ts';
import { answered, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { table } from './table.ts';

/** `siteward schedule`. */
export async function list(options: { json: boolean; limit: number; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const query = { limit: options.limit };
  const { json } = answered(await control.client.listSchedules({ query, signal: patience() }));
  const { timezone, items } = scheduleList.parse(json);
  if (options.json) for (const run of items) console.log(JSON.stringify(run));
  else if (items.length === 0)
    console.log('nothing is done by the clock; the section schedules of the configuration says what is');
  else console.log(`times of ${timezone}\n${table(items.map(row))}`);
  return exitCodes.ok;
}

const actions = { arm: 'arm', disarm: 'disarm', announce: 'announce', test_report: 'test report' } as const;

/** "Fri 2026-11-27 22:00 +01:00": the time it really comes; what was written stands behind where it differs. */
function row({ local, date, time, action, schedule, name, ...run }: ScheduleRun): string[] {
  const day = local.slice(0, 10);
  const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'short', timeZone: 'UTC' }).format(
    new Date(`${day}T00:00Z`),
  );
  const notes = [
    ...(run.skipped ? [`left out: ${run.holiday ?? 'a holiday'}`] : run.holiday === undefined ? [] : [run.holiday]),
    ...(run.postponed ? [`postponed from ${date === day ? time : `${date} ${time}`}`] : []),
    ...(run.after_gap ? [`${time} does not exist that day`] : []),
  ];
  const called = name === schedule ? schedule : `${schedule} (${name})`;
  return [`${weekday} ${day} ${local.slice(11, 16)}`, local.slice(19), actions[action], called, notes.join('; ')];
}
