import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { cloudEvent } from '#cloud/contract/index.ts';
import { accept, type Harness, type HarnessOptions, harness, type OnEvent } from './delivery-harness.ts';
import { commitRows, eventIdOf, html, json, rowOf, until, withMembers } from './support.ts';

let h: Harness;
afterEach(() => h.close());
async function setUp(options: HarnessOptions = {}) {
  h = await harness(options);
}
const seqs = () => h.posts.map((post) => post.seq);
const empty = async () => (await h.waiting()) === 0;
const recordOf = async (seq: number) => (await h.store.events({ limit: 1, beforeSeq: seq + 1 }))[0];
const once =
  (first: OnEvent): OnEvent =>
  (post, nth, response, socket) =>
    (nth === 1 ? first : accept)(post, nth, response, socket);

describe('an event', () => {
  it('reaches the cloud with its fourteen members, the bearer and a trace id', async () => {
    await setUp();
    const row = rowOf(h.clock, 1);
    await h.commit([row]);
    await until('the outbox is empty', empty);
    const [post] = h.posts;
    expect(cloudEvent.safeParse(post?.event).error).toBeUndefined();
    expect(Object.keys(post?.event ?? {})).toHaveLength(14);
    expect(post?.event.event_time).toBe(new Date(row.wall).toISOString());
    expect(post?.headers).toMatchObject({
      authorization: 'Bearer token-1',
      'content-type': 'application/json',
      'x-partner-trace-id': row.eventId,
    });
    expect(await recordOf(1)).toMatchObject({ delivery: 'delivered', tries: 1 });
    expect(h.links).toEqual([[true, undefined]]);
  });

  it('carries the same bytes on every try, only sent_at is new', async () => {
    await setUp({
      onEvent: (post, nth, response, socket) =>
        nth < 4 ? json(response, 503, {}) : accept(post, nth, response, socket),
    });
    await h.commit([rowOf(h.clock, 1)]);
    await h.passTime('it is delivered', empty);
    expect(h.posts).toHaveLength(4);
    const fixed = h.posts.map(({ body }) => body.replace(/"sent_at":"[^"]+"/, ''));
    expect(new Set(fixed).size).toBe(1);
    expect(new Set(h.posts.map(({ event }) => event.sent_at)).size).toBe(4);
    expect(await recordOf(1)).toMatchObject({ tries: 4 });
  });

  it('is sent once when nothing fails, however many there are', async () => {
    await setUp();
    const rows = Array.from({ length: 500 }, (_, i) => rowOf(h.clock, i + 1, { orderKey: `p${i % 7}` }));
    await h.commit(rows);
    await until('the outbox is empty', empty);
    expect(seqs().sort((a, b) => a - b)).toEqual(rows.map(({ seq }) => seq));
  });

  const faults: [what: string, fault: OnEvent, trouble: string][] = [
    ['500', (_p, _n, response) => json(response, 500, {}), 'busy'],
    ['502 with a page', (_p, _n, response) => html(response, 502), 'busy'],
    ['429', (_p, _n, response) => json(response, 429, {}), 'busy'],
    ['a captive portal', (_p, _n, response) => html(response, 200), 'intercepted'],
    ['a redirect', (_p, _n, response) => json(response, 302, undefined, { location: '/login' }), 'intercepted'],
    ['a login at a proxy', (_p, _n, response) => html(response, 407), 'intercepted'],
    ['a cut line', (_p, _n, _response, socket) => void socket.resetAndDestroy(), 'unreachable'],
    ['403', (_p, _n, response) => json(response, 403, { error: 'forbidden', message: 'no' }), 'forbidden'],
    ['404', (_p, _n, response) => json(response, 404, {}), 'forbidden'],
  ];
  it.each(faults)('survives %s', async (_what, fault, trouble) => {
    // A cut line is tried again at once, so it must be cut twice to be noticed.
    await setUp({ onEvent: (post, nth, response, socket) => (nth <= 2 ? fault : accept)(post, nth, response, socket) });
    await h.commit([rowOf(h.clock, 1)]);
    await h.passTime('it is delivered', empty, 30_000);
    expect(h.links.slice(-2)).toEqual([
      [false, trouble],
      [true, undefined],
    ]);
    expect(await recordOf(1)).toMatchObject({ delivery: 'delivered' });
    expect(h.delivery.health().state).toBe('ok');
  });

  it.each([
    ['an empty 200', (_p, _n, response) => json(response, 200, undefined)],
    ['202 without a body', (_p, _n, response) => json(response, 202, undefined)],
    ['204', (_p, _n, response) => json(response, 204, undefined)],
    ['409 that names it', (post, _n, response) => json(response, 409, { error: 'duplicate', event_id: post.id })],
  ] as [string, OnEvent][])('is accepted by %s', async (_what, onEvent) => {
    await setUp({ onEvent });
    await h.commit([rowOf(h.clock, 1)]);
    await until('it is delivered', empty);
    expect(h.posts).toHaveLength(1);
  });
});

describe('a refused event', () => {
  it.each([400, 422, 413])(
    'with %i gets one more try after a minute and is parked with the reason; others go on',
    async (status) => {
      await setUp({
        onEvent: (post, nth, response, socket) =>
          post.seq === 1
            ? json(response, status, { error: 'bad_request', message: 'event_id: is odd' })
            : accept(post, nth, response, socket),
      });
      await h.commit([rowOf(h.clock, 1), rowOf(h.clock, 2), rowOf(h.clock, 3)]);
      await until('the others are delivered', async () => (await h.waiting()) === 1);
      expect(seqs()).toEqual([1, 2, 3]);
      h.clock.advance(59_000);
      h.delivery.wake();
      await h.commit([rowOf(h.clock, 4)]);
      await until('the fourth is delivered', () => seqs().includes(4));
      expect(seqs()).toEqual([1, 2, 3, 4]);
      h.clock.advance(2_000);
      h.delivery.wake();
      await until('it is parked', empty);
      expect(seqs()).toEqual([1, 2, 3, 4, 1]);
      const record = await recordOf(1);
      expect(record).toMatchObject({ delivery: 'parked', tries: 2 });
      expect(record?.reason).toMatch(new RegExp(`^${status} .*bad_request: event_id: is odd`));
    },
  );

  it('that a technician puts back in line is sent again', async () => {
    let good = false;
    await setUp({
      onEvent: (post, nth, response, socket) => (good ? accept(post, nth, response, socket) : json(response, 400, {})),
    });
    await h.commit([rowOf(h.clock, 1)]);
    await h.passTime('it is parked', async () => (await recordOf(1))?.delivery === 'parked', 61_000);
    good = true;
    expect(await h.store.retryParked([{ seq: 1, lane: 'alarm' }])).toBe(1);
    h.delivery.retried();
    await until('it is delivered', async () => (await recordOf(1))?.delivery === 'delivered');
  });

  it('that the server answers for another event is not taken as delivered', async () => {
    await setUp({ onEvent: once((_p, _n, response) => json(response, 200, { event_id: eventIdOf(99) })) });
    await h.commit([rowOf(h.clock, 1)]);
    await until('the first try', () => h.posts.length === 1);
    expect(await h.waiting()).toBe(1);
    await h.passTime('it is delivered', empty, 61_000);
    expect(h.posts).toHaveLength(2);
  });

  it('on which the server always fails is parked when others pass, and holds nothing up', async () => {
    await setUp({
      onEvent: (post, nth, response, socket) =>
        post.seq === 2 ? json(response, 500, {}) : accept(post, nth, response, socket),
    });
    const rows = Array.from({ length: 30 }, (_, i) => rowOf(h.clock, i + 1, { orderKey: `p${(i % 3) + 1}` }));
    await h.commit(rows);
    await h.passTime('all is decided', empty, 20_000);
    expect(await recordOf(2)).toMatchObject({ delivery: 'parked' });
    expect(new Set(seqs()).size).toBe(30);
  });

  it('on which the server always fails does not stop the only partition of a site for good', async () => {
    await setUp({
      onEvent: (post, nth, response, socket) =>
        post.seq === 1 ? json(response, 500, {}) : accept(post, nth, response, socket),
    });
    await h.commit([1, 2, 3].map((seq) => rowOf(h.clock, seq)));
    await h.passTime('all is decided', empty, 60_000);
    expect(await recordOf(1)).toMatchObject({ delivery: 'parked' });
    expect(await recordOf(3)).toMatchObject({ delivery: 'delivered' });
  });
});

describe('credentials', () => {
  it('are renewed once after a 401, and the same body goes out again', async () => {
    await setUp({
      onEvent: (post, nth, response, socket) =>
        post.headers.authorization === 'Bearer token-1'
          ? json(response, 401, { error: 'invalid_token' })
          : accept(post, nth, response, socket),
    });
    await h.commit(Array.from({ length: 40 }, (_, i) => rowOf(h.clock, i + 1, { orderKey: `p${i}` })));
    await until('the outbox is empty', empty);
    expect(h.tokenRequests()).toBe(2);
    expect(h.links).toEqual([[true, undefined]]);
  });

  it('that are refused even when fresh hold all back, without a storm', async () => {
    let good = false;
    await setUp({
      onEvent: (post, nth, response, socket) => (good ? accept(post, nth, response, socket) : json(response, 401, {})),
    });
    await h.commit([1, 2, 3].map((seq) => rowOf(h.clock, seq)));
    await until('it is noticed', () => h.links.some(([up]) => !up));
    expect(h.links.at(-1)).toEqual([false, 'unauthorized']);
    for (let i = 0; i < 60; i += 1) {
      h.clock.advance(60_000);
      h.delivery.wake();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(h.tokenRequests()).toBeLessThan(30);
    expect(h.delivery.health()).toMatchObject({ state: 'degraded' });
    good = true;
    await h.passTime('all is delivered', empty, 60_000);
  });

  it('show their trouble before the first event, when the token server refuses them', async () => {
    await setUp({ onToken: (response) => json(response, 400, { error: 'invalid_grant' }) });
    await until('it is noticed', () => h.links.length > 0);
    expect(h.links).toEqual([[false, 'unauthorized']]);
    expect(h.delivery.health().reason).toMatch(/invalid_grant.*clock/);
  });

  it('are asked for again when the token server answers with a page', async () => {
    await setUp({
      onToken: (response, nth) =>
        nth < 3 ? html(response, 200) : json(response, 200, { access_token: 't', token_type: 'bearer' }),
    });
    await h.commit([rowOf(h.clock, 1)]);
    await h.passTime('it is delivered', empty, 10_000);
    expect(h.posts).toHaveLength(1);
    expect(h.links.at(-1)).toEqual([true, undefined]);
  });
});

describe('the line', () => {
  it('that is cut while nothing is sent shows within minutes, and shows again when it is back', async () => {
    let cut = false;
    await setUp({ onProbe: (response, socket) => (cut ? socket.destroy() : json(response, 404, {})) });
    await until('the line is known to be up', () => h.links.length === 1);
    cut = true;
    await h.passTime('the line is known to be down', () => h.links.length === 2);
    expect(h.delivery.health()).toMatchObject({ state: 'degraded' });
    cut = false;
    await h.passTime('the line is known to be up again', () => h.links.length === 3);
    expect(h.links).toEqual([
      [true, undefined],
      [false, 'unreachable'],
      [true, undefined],
    ]);
    expect(h.posts).toEqual([]);
  });
});

describe('a silent event (safety 4)', () => {
  it('is delivered and moves no metric, no link and no count', async () => {
    await setUp();
    await until('the line is known to be up', () => h.links.length === 1);
    const before = await h.metrics.metrics();
    await h.commit([{ ...rowOf(h.clock, 1), silent: true }]);
    await until('it is settled', async () => h.posts.length === 1 && (await h.store.take('alarm', 0, 1)).length === 0);
    expect(await h.metrics.metrics()).toBe(before);
    expect(h.links).toHaveLength(1);
  });

  it('that finds the line dead does not show it, and arrives when the line is back', async () => {
    let dead = true;
    await setUp({
      onEvent: (post, nth, response, socket) => (dead ? void socket.destroy() : accept(post, nth, response, socket)),
    });
    await until('the line is known to be up', () => h.links.length === 1);
    await h.commit([{ ...rowOf(h.clock, 1), silent: true }]);
    await until('it was tried', () => h.posts.length > 0);
    expect(h.delivery.health()).toMatchObject({ state: 'ok', facts: { inMemory: 0, aside: 0 } });
    expect(h.links).toHaveLength(1);
    dead = false;
    await h.passTime('it is settled', async () => (await h.store.take('alarm', 0, 1)).length === 0);
  });

  it('that is refused is offered again and again, since nobody could put it back', async () => {
    let refuses = true;
    await setUp({
      onEvent: (post, nth, response, socket) =>
        refuses ? json(response, 422, { error: 'invalid' }) : accept(post, nth, response, socket),
    });
    await h.commit([{ ...rowOf(h.clock, 1), silent: true }]);
    await h.passTime('it was refused three times', () => h.posts.length >= 3);
    refuses = false;
    await h.passTime('it is delivered', async () => (await h.store.take('alarm', 0, 1)).length === 0);
    const trail = await h.store.events({ limit: 1, withSilent: true });
    expect(trail).toMatchObject([{ delivery: 'delivered' }]);
  });

  it('keeps a pause the server asks for', async () => {
    const at: number[] = [];
    await setUp({
      onEvent(post, nth, response, socket) {
        const busy = at.push(h.clock.monotonic()) === 1;
        return busy ? json(response, 429, {}, { 'retry-after': '90' }) : accept(post, nth, response, socket);
      },
    });
    await h.commit([{ ...rowOf(h.clock, 1), silent: true }]);
    await h.passTime('it is delivered', async () => (await h.store.take('alarm', 0, 1)).length === 0);
    const [first = 0, second = 0] = at;
    expect(at).toHaveLength(2);
    expect(second - first).toBeGreaterThanOrEqual(90_000);
  });
});

describe('a pause', () => {
  it.each([
    ['seconds', () => '90'],
    ['a date', () => new Date(h.clock.wall() + 90_000).toUTCString()],
  ])('that the server asks for in %s is kept, whatever happens', async (_form, value) => {
    const at: number[] = [];
    await setUp({
      onEvent: (post, nth, response, socket) => {
        const busy = at.push(h.clock.monotonic()) === 1;
        return busy ? json(response, 429, {}, { 'retry-after': value() }) : accept(post, nth, response, socket);
      },
    });
    await h.commit([rowOf(h.clock, 1)]);
    await until('the first try', () => h.links.some(([up]) => !up));
    h.clock.advance(60_000);
    h.delivery.linkUp();
    await h.commit([rowOf(h.clock, 2)]);
    await h.passTime('both are delivered', empty);
    expect(seqs()).toEqual([1, 1, 2]);
    const [first = 0, second = 0] = at;
    // A date tells whole seconds.
    expect(second - first).toBeGreaterThanOrEqual(89_000);
  });

  it('after a failure grows, ends at once with news of the line, and costs no write', async () => {
    let down = true;
    await setUp({
      onEvent: (post, nth, response, socket) =>
        down ? void socket.resetAndDestroy() : accept(post, nth, response, socket),
    });
    await h.commit([rowOf(h.clock, 1, { lane: 'trouble' })]);
    for (let i = 0; i < 600; i += 1) {
      h.clock.advance(6_000);
      h.delivery.wake();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await until('nothing is under way', async () =>
      (await h.metrics.getSingleMetricAsString('siteward_delivery_in_flight')).endsWith(' 0'),
    );
    // An hour of outage: eight doubling waits, then one try (of two connections) every five minutes.
    expect(h.posts.length).toBeLessThan(70);
    expect((await recordOf(1))?.tries ?? 0).toBe(0);
    down = false;
    h.delivery.linkUp();
    await until('it is delivered', empty);
  });
});

describe('lanes', () => {
  /** Holds every answer until `release`, so that the order of sending shows. */
  function gate() {
    const held: (() => void)[] = [];
    let open = false;
    const onEvent: OnEvent = (post, nth, response, socket) => {
      const answer = () => void accept(post, nth, response, socket);
      if (open) answer();
      else held.push(answer);
    };
    return {
      onEvent,
      release() {
        open = true;
        for (const answer of held.splice(0)) answer();
      },
    };
  }

  it('go alarm, arming, trouble, activity', async () => {
    const { onEvent, release } = gate();
    await setUp({ onEvent, start: false, delivery: { slots: 1 } });
    const lanes = ['activity', 'trouble', 'arming', 'alarm'] as const;
    await h.commit(lanes.map((lane, i) => rowOf(h.clock, i + 1, { lane, orderKey: lane })));
    release();
    await h.delivery.start(new AbortController().signal);
    await until('the outbox is empty', empty);
    const first = seqs()[0];
    // Lanes are read one after another, so the very first may be whatever came first; the rest is by importance.
    expect(seqs()).toEqual([first, ...[4, 3, 2, 1].filter((seq) => seq !== first)]);
  });

  it('keep one slot free for an alarm', async () => {
    const { onEvent, release } = gate();
    await setUp({ onEvent });
    await h.commit(
      Array.from({ length: 10 }, (_, i) => rowOf(h.clock, i + 1, { lane: 'activity', orderKey: `c${i}` })),
    );
    await until('three are under way', () => h.posts.length === 3);
    await h.commit([rowOf(h.clock, 11, { orderKey: 'p1' })]);
    await until('the alarm is under way', () => h.posts.length === 4);
    expect(seqs()[3]).toBe(11);
    release();
    await until('the outbox is empty', empty);
  });

  it('let a fresh alarm pass a backlog, but not older events of its own partition', async () => {
    const { onEvent, release } = gate();
    await setUp({ onEvent, start: false, delivery: { slots: 1 } });
    // Longer than the window, so that the second partition's older events are still in the store.
    const backlog = Array.from({ length: 1_600 }, (_, i) => {
      const lane = i === 1_590 ? 'trouble' : 'alarm';
      return rowOf(h.clock, i + 1, { lane, orderKey: i === 1_590 || i === 1_595 ? 'p2' : 'p1' });
    });
    await h.commit(backlog);
    await h.delivery.start(new AbortController().signal);
    const inMemory = () => Number(h.delivery.health().facts?.inMemory);
    // 768 alarms and the trouble: no more is read until something has left.
    await until('the first is under way and the window is full', () => h.posts.length >= 1 && inMemory() >= 769);
    const before = inMemory();
    await h.commit([rowOf(h.clock, 1_601, { orderKey: 'p2' })]);
    await until('the fresh alarm is in the window', () => inMemory() > before);
    release();
    await until('the fresh alarm has come', () => seqs().includes(1_601));
    const order = seqs();
    expect(order.indexOf(1_601)).toBeLessThan(10);
    expect(order.filter((seq) => [1_591, 1_596, 1_601].includes(seq))).toEqual([1_591, 1_596, 1_601]);
    await until('the outbox is empty', empty);
    expect(seqs().filter((seq) => seq !== 1_591 && seq !== 1_596 && seq < 1_601)).toEqual(
      backlog.map(({ seq }) => seq).filter((seq) => seq !== 1_591 && seq !== 1_596),
    );
  });

  it('let a fresh alarm pass thousands of alarms of other partitions at once', async () => {
    let answers = false;
    const waiting: (() => void)[] = [];
    await setUp({
      onEvent(post, nth, response, socket) {
        if (answers) return accept(post, nth, response, socket);
        waiting.push(() => void accept(post, nth, response, socket));
      },
      start: false,
    });
    // Each partition's alarms lie far apart in the lane, so that the older ones of each must be looked for.
    const backlog = Array.from({ length: 3_000 }, (_, i) =>
      rowOf(h.clock, i + 1, { lane: i % 2 === 0 ? 'alarm' : 'trouble', orderKey: `p${i % 60}` }),
    );
    await h.commit(backlog);
    await h.delivery.start(new AbortController().signal);
    await until('the slots of the backlog are full', () => h.posts.length >= 3);
    await h.commit([rowOf(h.clock, 3_001, { orderKey: 'quiet' })]);
    for (const answer of waiting.splice(0)) answer();
    await until('the fresh alarm is sent', () => {
      for (const answer of waiting.splice(0, 1)) answer();
      return seqs().includes(3_001);
    });
    expect(seqs().indexOf(3_001)).toBeLessThan(1_000);
    answers = true;
    for (const answer of waiting.splice(0)) answer();
    await until('the outbox is empty', empty);
    expect(new Set(seqs()).size).toBe(3_001);
  });

  it('let a fresh alarm go alone when an older event of its partition hangs for three seconds', async () => {
    const { onEvent, release } = gate();
    await setUp({
      onEvent: (post, nth, response, socket) => (post.seq === 1 ? onEvent : accept)(post, nth, response, socket),
    });
    await h.commit([rowOf(h.clock, 1, { lane: 'trouble' })]);
    await until('the older one hangs', () => h.posts.length === 1);
    await h.commit([rowOf(h.clock, 2)]);
    await h.commit([rowOf(h.clock, 3, { orderKey: 'p2' })]);
    await until('the other partition is served', () => seqs().includes(3));
    expect(seqs()).toEqual([1, 3]);
    h.clock.advance(3_100);
    h.delivery.wake();
    await until('it goes alone', () => seqs().includes(2));
    release();
    await until('the outbox is empty', empty);
  });
});

describe('rows that could not be written', () => {
  it('are sent from memory and leave nothing behind', async () => {
    await setUp();
    h.delivery.direct([rowOf(h.clock, 7), { ...rowOf(h.clock, 8), toCloud: false }]);
    await until('it is sent', () => h.posts.length === 1);
    expect(seqs()).toEqual([7]);
  });

  it('that are written after all are settled and not sent twice', async () => {
    await setUp();
    const row = rowOf(h.clock, 7);
    h.delivery.direct([row]);
    await until('it is sent', () => h.links.length > 0);
    await h.commit([row]);
    await until('the outbox is empty', empty);
    expect(seqs()).toEqual([7]);
  });

  it.each(['before', 'after'])(
    'get their verdict also where nobody reads them, written %s their answer',
    async (when) => {
      let answer = () => {};
      // As where the disk gives them up at once, full as it is: the verdict takes them out of the count of losses.
      await setUp({
        withStore: (store) => withMembers(store, { take: async () => [] }),
        onEvent(...of) {
          answer = () => void accept(...of);
        },
      });
      const row = rowOf(h.clock, 7);
      h.delivery.direct([row]);
      await until('it is sent', () => h.posts.length === 1);
      const isAnswered = async () => {
        answer();
        await until('it is accepted', () => h.delivery.wasAccepted(7));
      };
      if (when === 'after') await isAnswered();
      await commitRows(h.store, [row]);
      h.delivery.written([row]);
      if (when === 'before') await isAnswered();
      await until('the outbox is empty', empty);
      expect(seqs()).toEqual([7]);
    },
  );

  it('go after what is older of their partition and lies unread on the disk', async () => {
    await setUp({ start: false });
    await commitRows(
      h.store,
      [1, 2].map((seq) => rowOf(h.clock, seq, { lane: 'trouble' })),
    );
    h.delivery.direct([rowOf(h.clock, 3)]);
    await h.delivery.start(new AbortController().signal);
    await until('all are sent', () => h.posts.length === 3);
    expect(seqs()).toEqual([1, 2, 3]);
  });

  it('wait once for a disk that does not answer, and not each of them', async () => {
    let asked = 0;
    const hangs = () => new Promise<never>(() => undefined);
    const before = () => {
      asked += 1;
      return hangs();
    };
    await setUp({ withStore: (store) => withMembers(store, { take: hangs, before }) });
    h.delivery.direct([1, 2, 3].map((seq) => rowOf(h.clock, seq)));
    await until('all are sent', () => h.posts.length === 3);
    expect([asked, ...seqs()]).toEqual([1, 1, 2, 3]);
  });

  it('are never parked when they are refused: each is offered again until it is accepted', async () => {
    let refusals = 4;
    await setUp({
      onEvent(post, nth, response, socket) {
        refusals -= 1;
        return refusals >= 0 ? json(response, 422, {}) : accept(post, nth, response, socket);
      },
    });
    h.delivery.direct([rowOf(h.clock, 7)]);
    for (const waitMs of [60_000, 120_000, 240_000, 480_000]) {
      await until('it waits by itself', () => h.delivery.health().facts?.aside === 1);
      expect(h.delivery.health().facts?.direct).toBe(1);
      const before = h.posts.length;
      h.clock.advance(waitMs);
      h.delivery.wake();
      await until('it is offered again', () => h.posts.length > before);
    }
    await until('it is accepted', () => h.delivery.health().facts?.direct === 0);
    expect(seqs()).toEqual([7, 7, 7, 7, 7]);
  });

  it('can be parked after a second refusal once they are written', async () => {
    await setUp({ onEvent: (_post, _nth, response) => json(response, 422, {}) });
    const row = rowOf(h.clock, 7);
    h.delivery.direct([row]);
    await until('it waits by itself', () => h.delivery.health().facts?.aside === 1);
    await h.commit([row]);
    await h.passTime('it is parked', async () => (await h.store.parked({ limit: 5 })).length === 1, 61_000);
    expect(h.delivery.health().facts?.direct).toBe(0);
  });

  it('give way at 1,200, the oldest activity first, alarms last, and are counted', async () => {
    await setUp({ start: false });
    const rows = Array.from({ length: 1_300 }, (_, i) =>
      rowOf(h.clock, i + 1, { lane: i < 150 ? 'activity' : 'alarm', orderKey: `k${i % 50}` }),
    );
    h.delivery.direct(rows);
    expect(h.delivery.health().facts?.direct).toBe(1_200);
    await h.delivery.start(new AbortController().signal);
    await until('all are sent', () => h.posts.length === 1_200);
    expect(Math.min(...seqs())).toBe(101);
    expect(await h.metrics.getSingleMetricAsString('siteward_delivery_direct_dropped_total')).toContain(
      '{lane="activity"} 100',
    );
    // Whoever could not write them still holds them.
    expect(await h.store.gaps({ limit: 10 })).toEqual([]);
  });
});

it('stops in the middle of work, loses nothing, and a new start sends the rest', async () => {
  let hang = true;
  await setUp({ onEvent: (post, nth, response, socket) => (hang ? undefined : accept(post, nth, response, socket)) });
  await h.commit(Array.from({ length: 20 }, (_, i) => rowOf(h.clock, i + 1, { orderKey: `p${i}` })));
  await until('all slots are taken', () => h.posts.length === 4);
  await h.delivery.stop();
  expect(await h.waiting()).toBe(20);
  hang = false;
  const { createDelivery } = await import('#cloud/delivery/index.ts');
  const { quiet } = await import('./support.ts');
  const again = createDelivery({
    store: h.store,
    cloud: h.cloud,
    clock: h.clock,
    log: quiet,
    metrics: new Registry(),
    ...{ allowLoopbackHttp: true, uploadResume: 'off' },
    onLink: () => undefined,
    files: {
      open: () => Promise.reject(new Error('none')),
      discard: async () => undefined,
      keep: async () => undefined,
    },
  });
  await again.start(new AbortController().signal);
  await until('the outbox is empty', empty);
  await again.stop();
});
