import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createControlSocket, type SchedulesPort } from '#lan/http/index.ts';
import { fakeLanPort, fakeSchedules } from '#lan/http/port.fake.ts';
import type { Part } from '#lib/health.ts';
import { siteward } from './run-cli.ts';

let dir: string;
let socket: string;
let daemon: Part | undefined;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-schedule-'));
  socket = join(dir, 'control.sock');
  await serve(fakeSchedules());
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  rmSync(dir, { recursive: true, force: true });
});

async function serve(schedules: SchedulesPort): Promise<void> {
  await daemon?.stop();
  const port = fakeLanPort(0, { schedules });
  daemon = createControlSocket({ path: socket, port, log: pino({ level: 'silent' }), metrics: new Registry() });
  await daemon.start(new AbortController().signal);
}

/** One command line, with something on its standard input. */
const run = (args: readonly string[], input = '') => siteward(['schedule', ...args, '--socket', socket], {}, input);

describe('siteward schedule', () => {
  test('prints the next runs in the time of the site, and one object a line for programs', async () => {
    expect(await run([])).toEqual({
      code: 0,
      out: 'times of Europe/Berlin\nFri 2026-11-27 22:00  +01:00  arm  night (Night)\n',
      err: '',
    });
    const { out } = await run(['--json']);
    expect(JSON.parse(out)).toMatchObject({ schedule: 'night', local: '2026-11-27T22:00:00+01:00', postponed: false });
  });

  test('says where a run is left out, postponed or moved out of a missing hour, and what is none of them', async () => {
    const base = { schedule: 'n', name: 'n', date: '2026-03-29', time: '02:30', skipped: false } as const;
    const plain = { after_gap: false, postponed: false, at: '2026-03-29T01:00:00.000Z' };
    await serve(
      fakeSchedules({
        list: async () => ({
          timezone: 'Europe/Berlin',
          items: [
            { ...base, ...plain, action: 'test_report', local: '2026-03-29T03:00:00+02:00', after_gap: true },
            { ...base, ...plain, action: 'disarm', local: '2026-03-29T03:00:00+02:00', holiday: 'Fair', skipped: true },
            { ...base, ...plain, action: 'arm', local: '2026-03-30T00:10:00+02:00', postponed: true },
            { ...base, ...plain, action: 'announce', local: '2026-03-30T00:10:00+02:00', holiday: 'Fair' },
          ],
        }),
      }),
    );
    expect((await run([])).out.split('\n').slice(1, -1)).toEqual([
      'Sun 2026-03-29 03:00  +02:00  test report  n  02:30 does not exist that day',
      'Sun 2026-03-29 03:00  +02:00  disarm       n  left out: Fair',
      'Mon 2026-03-30 00:10  +02:00  arm          n  postponed from 2026-03-29 02:30',
      'Mon 2026-03-30 00:10  +02:00  announce     n  Fair',
    ]);
  });

  test('says where schedules come from when there are none', async () => {
    await serve(fakeSchedules({ list: async () => ({ timezone: 'UTC', items: [] }) }));
    expect(await run([])).toMatchObject({ code: 0, out: expect.stringContaining('the section schedules') });
  });
});

describe('siteward schedule postpone', () => {
  test('takes the code from standard input and says when it arms now', async () => {
    expect(await run(['postpone', 'night', '--by', '30m', '--code-stdin'], '2580\n')).toEqual({
      code: 0,
      out: 'night arms at 2026-11-27 22:30 +01:00; 1 more for that day\n',
      err: '',
    });
    const { out } = await run(['postpone', 'night', '--by', '1h', '--code-stdin', '--json'], '2580');
    expect(JSON.parse(out)).toEqual({
      schedule: 'night',
      at: '2026-11-27T22:30:00.000Z',
      local: '2026-11-27T23:30:00+01:00',
      times_left: 0,
    });
  });

  test('a refusal ends with 65, an unknown schedule with 66, and neither shows the code', async () => {
    const refused = await run(['postpone', 'night', '--by', '30m', '--code-stdin'], '9382\n');
    expect(refused).toMatchObject({ code: 65, err: expect.stringContaining('(postpone_refused)') });
    const unknown = await run(['postpone', 'nihgt', '--by', '30m', '--code-stdin'], '9382\n');
    expect(unknown).toMatchObject({ code: 66, err: expect.stringContaining('(schedule_unknown)') });
    expect(refused.err + unknown.err).not.toContain('9382');
  });

  test.each([
    ['as an argument', ['postpone', 'night', '9382', '--by', '30m']],
    ['as an option', ['postpone', 'night', '--by', '30m', '--code', '9382']],
  ])('does not take a code %s, and does not repeat it', async (_, args) => {
    const { code, out, err } = await run(args);
    expect(code).toBe(2);
    expect(err).toContain('a code is no argument');
    expect(out + err).not.toContain('9382');
  });

  test.each([
    ['without a time', ['postpone', 'night', '--code-stdin'], '--by'],
    ['by half a minute', ['postpone', 'night', '--by', '30s', '--code-stdin'], 'whole minutes'],
    ['by a number without a unit', ['postpone', 'night', '--by', '30', '--code-stdin'], 'whole minutes'],
    ['without anybody to ask', ['postpone', 'night', '--by', '30m'], 'say --code-stdin'],
  ])('is wrong usage %s', async (_, args, said) => {
    expect(await run(args, '2580\n')).toMatchObject({ code: 2, err: expect.stringContaining(said) });
  });

  test.each([
    ['nothing', ''],
    ['two lines', '2580\n2581\n'],
    ['a whole file', '2580\n'.repeat(1000)],
  ])('is refused when standard input holds %s', async (_, input) => {
    const { code, err } = await run(['postpone', 'night', '--by', '30m', '--code-stdin'], input);
    expect([code, err]).toEqual([65, expect.stringMatching(/standard input .*\(code_refused\)/)]);
  });
});
