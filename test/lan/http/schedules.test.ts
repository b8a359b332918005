import { pino } from 'pino';
import { expect, test } from 'vitest';
import { SitewardError } from '#errors.ts';
import { identifyLocal, lanApp } from '#lan/http/app.ts';
import type { SchedulesPort } from '#lan/http/index.ts';
import { fakeLanPort, fakeSchedules } from '#lan/http/port.fake.ts';

const log: string[] = [];
const logger = () => pino({ base: null, level: 'trace' }, { write: (line) => void log.push(line) });

/** One request to the app of the control socket, without a socket. */
async function ask(schedules: SchedulesPort, method: string, path = '', body?: unknown) {
  log.length = 0;
  const headers = { 'content-type': 'application/json' };
  const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
  const answer = await lanApp(fakeLanPort(0, { schedules }), { log: logger(), identify: identifyLocal }).request(
    `/api/v1/schedules${path}`,
    init,
  );
  const said = await answer.text();
  return { status: answer.status, said, json: JSON.parse(said) as Record<string, unknown> };
}

test('the next runs are listed with both times, and one that is postponed stands at its new time', async () => {
  const schedules = fakeSchedules();
  expect(await ask(schedules, 'GET')).toMatchObject({
    status: 200,
    json: { timezone: 'Europe/Berlin', items: [{ schedule: 'night', local: '2026-11-27T22:00:00+01:00' }] },
  });
  expect(await ask(schedules, 'POST', '/night/postpone', { minutes: 30, code: '2580' })).toMatchObject({
    status: 200,
    json: { schedule: 'night', at: '2026-11-27T21:30:00.000Z', times_left: 1 },
  });
  expect((await ask(schedules, 'GET')).json).toMatchObject({
    items: [{ at: '2026-11-27T21:30:00.000Z', postponed: true }],
  });
});

test.each([
  ['schedule_unknown', 404, 'No such schedule'],
  ['postpone_refused', 409, 'The arming is not put off'],
  ['queue_full', 503, 'This cannot be answered at the moment'],
] as const)('what is refused as %s is status %i with its reason', async (code, status, title) => {
  const schedules = fakeSchedules({
    postpone: async () => {
      throw new SitewardError(code, 'for this reason');
    },
  });
  const answer = await ask(schedules, 'POST', '/night/postpone', { minutes: 30, code: '25804713' });
  expect(answer).toMatchObject({ status, json: { code, title, detail: 'for this reason' } });
});

test.each<[string, string, unknown]>([
  ['minutes', '/night/postpone', { minutes: 0.5, code: '25804713' }],
  ['minutes', '/night/postpone', { minutes: 0, code: '25804713' }],
  ['code', '/night/postpone', { minutes: 30, code: 25_804_713 }],
  ['code', '/night/postpone', { minutes: 30 }],
  ['body', '/night/postpone', { minutes: 30, code: '25804713', '73910264': 1 }],
])('a wrong %s is told without what was given', async (field, path, body) => {
  const answer = await ask(fakeSchedules(), 'POST', path, body);
  expect(answer).toMatchObject({ status: 400, json: { code: 'request_invalid', errors: [{ field }] } });
  expect(answer.said + log.join('')).not.toMatch(/25804713|73910264/);
});

test('a name that can be no schedule is not found', async () => {
  const answer = await ask(fakeSchedules(), 'POST', '/NIGHT/postpone', { minutes: 30, code: '25804713' });
  expect(answer).toMatchObject({ status: 404 });
});
