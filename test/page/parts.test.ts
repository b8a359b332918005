import { expect, test } from 'vitest';
import type { EventEntry, LogLine, MediaFile } from '#lan/http/index.ts';
import { ApiError } from '#lan/page/api.ts';
import { gridOf, hoursOf, roundUp, runsOf, type Step } from '#lan/page/chart.ts';
import { answerText } from '#lan/page/command-answer.ts';
import { ageText, errorText } from '#lan/page/error-text.ts';
import { olderFrom, trailOf } from '#lan/page/events.ts';
import { lastFault, linesAbout } from '#lan/page/log-lines.ts';
import { fileName, fileOf, offsetText, whyNot } from '#lan/page/media.ts';
import { givesPicture } from '#lan/page/picture-times.ts';
import { isolated, wordsOf } from '#lan/page/text.ts';

const words = wordsOf('en');

const step = (minute: number, waiting: number | null, more: Partial<Step> = {}): Step => ({
  at: new Date(Date.UTC(2026, 10, 29, 10, minute)).toISOString(),
  waiting,
  oldest_s: null,
  accepted: 0,
  latency_ms: null,
  ...more,
});

test('a line of the chart ends where nothing is known, and begins anew behind it', () => {
  const steps = [step(0, 1), step(5, 2), step(10, null), step(15, 3), step(45, 0), step(50, 4)];
  const runs = runsOf(steps, 300_000, ({ waiting }) => waiting);
  expect(runs.map((run) => run.map(({ value }) => value))).toEqual([[1, 2], [3], [0, 4]]);
});

test('the scale of the chart is a round number that holds all of it', () => {
  expect([0, 1, 3, 7, 10, 11, 4200].map(roundUp)).toEqual([1, 1, 5, 10, 10, 20, 5000]);
});

test('the grid of what is counted has whole numbers alone', () => {
  expect([1, 2, 5, 10].map((top) => gridOf(top, true))).toEqual([
    [0, 1],
    [0, 1, 2],
    [0, 5],
    [0, 5, 10],
  ]);
  expect(gridOf(1, false)).toEqual([0, 0.5, 1]);
});

test('a name turns no sentence round that it stands in', () => {
  const [hebrew, open] = ['שלום', '\u2068שלום\u2069'];
  expect(words.t('partitions.open', { zones: hebrew })).toBe(`Open: ${open}`);
  expect(words.t('partitions.open', { zones: [hebrew, 'Door'].map(isolated).join(', ') })).toBe(`Open: ${open}, Door`);
  expect(isolated('Door \u202eexe')).toBe('Door exe');
  expect(isolated(`${hebrew}\u2069`)).toBe(open);
  expect(isolated('Door')).toBe('Door');
});

test('the table of the day has what was most in each hour, the newest first', () => {
  const latency = (p95: number) => ({ latency_ms: { p50: 1, p95 } });
  const hours = hoursOf([
    step(0, 1, { accepted: 2, ...latency(300) }),
    step(5, 9, { accepted: 3, ...latency(200) }),
    step(65, null),
  ]);
  expect(hours.map(({ waiting, accepted, p95 }) => ({ waiting, accepted, p95 }))).toEqual([
    { waiting: null, accepted: 0, p95: null },
    { waiting: 9, accepted: 5, p95: 300 },
  ]);
});

test('what came of a command is told with the zones that are in its way, and those it left out', () => {
  const names = { zone_names: { '2': 'Window' } };
  const zones = [{ number: '1', name: 'Door' }];
  expect(
    answerText({ outcome: 'refused', error: { code: 'NOT_READY', zones: ['1', '2', '3'] }, ...names }, words, zones),
  ).toBe('Zones are open. Close them, or leave them out. Zones: Door, Window, 3.');
  expect(answerText({ outcome: 'done', left_out: ['2'], ...names }, words)).toBe('Done. Left out: Window.');
  expect(answerText({ outcome: 'refused', error: { code: 'LOCKED', retry_after_s: 1 } }, words)).toContain(
    'Wait one second.',
  );
});

test('the way of an event to the cloud is told step by step', () => {
  const at = '2026-11-29T10:00:00.000Z';
  const entry = { event: { at }, delivery: 'delivered', tries: 2, delivered_at: at } as unknown as EventEntry;
  const time = words.time(at);
  expect(trailOf(entry, words)).toEqual([`Made ${time}`, '2 tries', `Accepted by the cloud ${time}`]);
  const refused = { event: { at }, delivery: 'parked', tries: 1, reason: 'it is too old' } as unknown as EventEntry;
  expect(trailOf(refused, words)).toEqual([`Made ${time}`, 'one try', 'refused by the cloud', 'it is too old']);
});

test('older events go on where the live list ends, or there is a hole between', () => {
  expect(olderFrom(10, true, { reach: 10, next: 3 })).toEqual({ isApart: false, from: 3 });
  expect(olderFrom(10, true, { reach: 9, next: 3 })).toEqual({ isApart: true, from: 10 });
  // None has left the live list, so nothing can be missing.
  expect(olderFrom(10, false, { reach: 9, next: 3 })).toEqual({ isApart: false, from: 3 });
  // What the live list has anyhow is not asked for again.
  expect(olderFrom(10, true, { reach: 60, next: 50 })).toEqual({ isApart: false, from: 10 });
  expect(olderFrom(undefined, true, { reach: 0, next: null })).toEqual({ isApart: false, from: null });
});

const file: MediaFile = { index: 1, kind: 'snapshot', camera: 'yard', offset_ms: 0, state: 'uploaded', here: true };

test('a file that cannot be shown says why', () => {
  expect(whyNot(file, words)).toBeUndefined();
  expect(whyNot({ ...file, state: 'planned', here: false }, words)).toBe('being taken');
  expect(whyNot({ ...file, state: 'failed', here: false, reason: 'no answer' }, words)).toBe('failed: no answer');
  expect(whyNot({ ...file, here: false }, words)).toBe('not here any more');
  expect(whyNot({ ...file, here: false, missing: 'its time is over' }, words)).toBe('its time is over');
  expect(offsetText(-5000, words)).toBe('5 s before');
  expect(offsetText(500, words)).toBe('0.5 s after');
  expect(fileName(7, { ...file, kind: 'event_mp4' })).toBe('event-7-yard-1.mp4');
});

test('a file is read in pieces to its end, each from where the last one ended', async () => {
  const asked: number[] = [];
  const api = {
    ask: () => Promise.reject(new Error('nothing else is asked')),
    bytes: async (_path: string, { body }: { body?: unknown } = {}) => {
      const { offset } = body as { offset: number };
      asked.push(offset);
      return new Blob(['abcdefg'.slice(offset, offset + 3)]);
    },
  };
  const whole = await fileOf(api, 'export-1', { ...file, mime: 'image/jpeg' });
  expect(await whole.text()).toBe('abcdefg');
  expect(whole.type).toBe('image/jpeg');
  expect(asked).toEqual([0, 3, 6, 7]);
});

test('the log of a device has its own lines alone, the newest fifty, and its last fault', () => {
  const line = (seq: number, msg: string, more: LogLine['more'] = {}, level = 'info'): LogLine => ({
    ...{ seq, level, msg, more },
  });
  const lines = [
    line(1, 'the camera yard answers'),
    line(2, 'the camera yard-2 answers'),
    line(3, 'no answer', { camera: 'yard' }, 'warn'),
    line(4, 'again', { camera: 'yard' }),
  ];
  expect(linesAbout(lines, 'yard').map(({ seq }) => seq)).toEqual([1, 3, 4]);
  expect(lastFault(lines)?.seq).toBe(3);
  const many = Array.from({ length: 60 }, (_, nth) => line(nth, 'of yard'));
  expect(linesAbout(many, 'yard').map(({ seq }) => seq)).toEqual(many.slice(-50).map(({ seq }) => seq));
});

test.each([
  [1, 'en', 'Too many wrong tries. Wait one second.'],
  [90, 'en', 'Too many wrong tries. Wait 90 seconds.'],
  [841, 'en', 'Too many wrong tries. Wait 15 minutes.'],
  [900, 'de', 'Zu viele falsche Versuche. 15 Minuten warten.'],
])(
  'how long to wait is said once, in the language of the page, in minutes where it is long: %i %s',
  (seconds, language, said) => {
    const problem = { type: 'x', title: 'x', status: 429, code: 'access_wait', detail: 'too many wrong claim codes' };
    expect(errorText(new ApiError(problem, seconds), wordsOf(language))).toBe(said);
  },
);

test('what is wrong with what was sent is told by the labels of the page, and nothing of the command line', () => {
  const refused = (more: object) => errorText(new ApiError({ status: 400, code: 'x', title: 'wrong', ...more }), words);
  expect(refused({ errors: [{ field: 'valid_until', detail: 'must be a day' }] })).toBe('Valid until: must be a day');
  expect(refused({ errors: [{ field: 'members.deep', detail: 'must be text' }] })).toBe('members.deep: must be text');
  expect(refused({ code: 'last_owner', detail: 'say --yes' })).toBe('This is the last owner. Add another one first.');
});

test('a length of time is told in what somebody counts in', () => {
  const lengths = [5, 59, 60, 17 * 60 + 40, 3600, 26 * 3600 + 300, 5 * 86_400].map((seconds) =>
    ageText(seconds, words),
  );
  expect(lengths).toEqual(['5 s', '59 s', '1 min', '17 min', '1 h', '26 h 5 min', '5 days']);
});

test('a picture is offered where the setting of the camera gives one as its partitions stand', () => {
  const shop = (more: object = {}) => [{ id: 'p1', alarm: null, state: 'disarmed', stale: false, ...more } as never];
  const armed = shop({ state: 'armed_away' });
  const inAlarm = shop({ state: 'triggered', alarm: { kind: 'burglary' } });
  const table = (['alarm', 'armed', 'always'] as const).map((pictures) =>
    [shop(), armed, shop({ state: 'armed_away', stale: true }), inAlarm].map((partitions) =>
      givesPicture({ pictures, partitions: ['p1'] }, partitions),
    ),
  );
  expect(table).toEqual([
    [false, false, false, true],
    [false, true, false, true],
    [true, true, true, true],
  ]);
  // Of another partition, nothing of it counts.
  expect(givesPicture({ pictures: 'armed', partitions: ['p2'] }, armed)).toBe(false);
});
