import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type LiveFeed, liveFeed, mostEvents } from '#lan/page/live.ts';

/** The connection of a browser, as far as the page uses it. */
class FakeSource extends EventTarget {
  readonly url: string;
  readyState = 1;
  constructor(url: string) {
    super();
    this.url = url;
  }
  close(): void {
    this.readyState = 2;
  }
  tell(name: string, data: object): void {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
  }
  refuse(): void {
    this.readyState = 2;
    this.dispatchEvent(new Event('error'));
  }
}

let sources: FakeSource[];
let feed: LiveFeed;
let wake: (isCut: boolean) => void;
let frame: (() => void) | undefined;
let drawn: number;
let answers: boolean;

const newest = () => {
  const source = sources.at(-1);
  if (source === undefined) throw new Error('no stream was opened');
  return source;
};
const draw = () => {
  const work = frame;
  frame = undefined;
  work?.();
};

beforeEach(() => {
  vi.useFakeTimers();
  sources = [];
  drawn = 0;
  answers = true;
  feed = liveFeed({
    open(url) {
      const source = new FakeSource(url);
      sources.push(source);
      return source as unknown as EventSource;
    },
    soon(work) {
      frame = work;
    },
    now: () => Date.now(),
    onWake(listener) {
      wake = listener;
      return () => undefined;
    },
    answers: () => Promise.resolve(answers),
  });
  feed.subscribe(() => {
    drawn += 1;
  });
});
afterEach(() => {
  feed.close();
  vi.useRealTimers();
});

const ping = (at = new Date().toISOString()) => newest().tell('ping', { at });
const tell = (from: number, count: number) => {
  for (let seq = from; seq < from + count; seq += 1) newest().tell('event', { seq });
};

test('what comes between two frames is drawn once; the list holds the newest, each once and in order', () => {
  for (let batch = 0; batch < 100; batch += 1) {
    tell(batch * 20, 20);
    draw();
  }
  expect(drawn).toBe(100);
  expect(feed.state().events.map(({ seq }) => seq)).toEqual(Array.from({ length: mostEvents }, (_, nth) => 1999 - nth));
  tell(2000, 3 * mostEvents);
  draw();
  expect(feed.state().events.map(({ seq }) => seq)).toEqual(Array.from({ length: mostEvents }, (_, nth) => 2899 - nth));
});

test('a stream that misses two pings is opened anew, behind the last event that was seen', () => {
  tell(41, 1);
  draw();
  vi.advanceTimersByTime(25_000);
  expect(feed.state().link).toBe('live');
  vi.advanceTimersByTime(4500);
  expect(feed.state().link).toBe('lost');
  vi.advanceTimersByTime(3000);
  expect(sources.map(({ url, readyState }) => [url, readyState])).toEqual([
    ['/api/v1/stream', 2],
    ['/api/v1/stream?after=41', 1],
  ]);
  ping();
  expect(feed.state().link).toBe('live');
});

test('a stream that never begins is opened anew, too', () => {
  vi.advanceTimersByTime(35_000);
  expect(feed.state().link).toBe('lost');
  expect(sources.map(({ readyState }) => readyState)).toEqual([2, 1]);
});

test("the time of the bridge goes on from what it said last, whatever the phone's clock says", () => {
  expect(feed.bridgeMs()).toBeUndefined();
  const at = Date.parse('2026-03-01T10:00:00.000Z');
  newest().tell('status', { clock: { now: '2026-03-01T10:00:00.000Z' } });
  vi.advanceTimersByTime(14_000);
  expect(feed.bridgeMs()).toBe(at + 14_000);
  ping('2026-03-01T10:00:14.500Z');
  vi.advanceTimersByTime(60_000);
  expect(feed.bridgeMs()).toBe(at + 74_500);
});

test('a page that is looked at again waits for nothing once a ping is missed; a fresh stream is kept', () => {
  ping();
  vi.advanceTimersByTime(10_000);
  wake(false);
  vi.advanceTimersByTime(0);
  expect(sources).toHaveLength(1);
  // The clock goes on while timers sleep.
  vi.setSystemTime(Date.now() + 3_600_000);
  wake(false);
  vi.advanceTimersByTime(0);
  expect(sources.map(({ readyState }) => readyState)).toEqual([2, 1]);
});

test('where the network came or went the connection of before counts as dead', () => {
  ping();
  wake(true);
  expect(feed.state().link).toBe('lost');
  vi.advanceTimersByTime(0);
  expect(sources.map(({ readyState }) => readyState)).toEqual([2, 1]);
});

test('a walk test that ends on its own, or while the line is cut, leaves what was seen last of it', () => {
  const one = (test?: object) => ({ id: 'p1', ...(test && { test: { left_s: 60, ...test } }) });
  newest().tell('partitions', { items: [one({ walked: [], missing: ['1', '2'] }), { id: 'p2' }] });
  newest().tell('partition', one({ walked: ['2'], missing: ['1'] }));
  const seen = { walked: ['2'], missing: ['1'] };
  expect([...feed.state().walks]).toEqual([['p1', { ...seen, over: false }]]);
  wake(true);
  vi.advanceTimersByTime(0);
  newest().tell('partitions', { items: [one(), { id: 'p2' }] });
  expect([...feed.state().walks]).toEqual([['p1', { ...seen, over: true }]]);
  newest().tell('partition', one({ walked: [], missing: ['1', '2'] }));
  expect(feed.state().walks.get('p1')?.over).toBe(false);
  newest().tell('partition', one());
  feed.dropWalk('p1');
  newest().tell('partition', one());
  expect([...feed.state().walks]).toEqual([]);
});

test('a bridge that answers and gives no stream has too many; it is asked again until it does', async () => {
  newest().refuse();
  await vi.advanceTimersByTimeAsync(0);
  expect(feed.state()).toMatchObject({ link: 'lost', crowded: true });
  answers = false;
  await vi.advanceTimersByTimeAsync(3000);
  newest().refuse();
  await vi.advanceTimersByTimeAsync(0);
  expect(feed.state()).toMatchObject({ link: 'lost', crowded: false });
  await vi.advanceTimersByTimeAsync(3000);
  ping();
  expect(feed.state()).toMatchObject({ link: 'live', crowded: false });
});
