import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { accept, type Harness, type HarnessOptions, harness, type OnEvent } from './delivery-harness.ts';
import { rulesOfSending } from './delivery-rules.ts';
import { json, rowOf } from './support.ts';

let h: Harness;
afterEach(() => h?.close());
async function setUp(options: HarnessOptions = {}) {
  h = await harness(options);
}
const seqs = () => h.posts.map((post) => post.seq);
const empty = async () => (await h.waiting()) === 0;

const tooMany: OnEvent = (_p, _n, response) => json(response, 429, {}, { 'retry-after': '1' });
const busy: OnEvent = (_p, _n, response) => json(response, 503, {});
const replies = { 429: tooMany, 503: busy, none: accept } as const;
type Answer = keyof typeof replies;
const byTurns =
  (...answers: readonly Answer[]) =>
  (nth: number): Answer =>
    answers[nth % answers.length] ?? 'none';
/** Half of them, without a pattern, the same every time. */
const halfOfThem = (nth: number): Answer =>
  createHash('sha256').update(`storm ${nth}`).digest()[0]! < 128 ? 503 : 'none';

describe('a storm of alarms', () => {
  const clouds: [what: string, answer: (nth: number) => Answer, within: number][] = [
    ['asks for pauses and is busy by turns', byTurns(429, 503, 'none'), 60_000],
    ['is busy half of the time', halfOfThem, 400_000],
    ['asks for a pause every second time', byTurns(429, 'none'), 60_000],
    ['fails every second time', byTurns(503, 'none'), 120_000],
    ['takes every third event only', byTurns(503, 503, 'none'), 400_000],
  ];
  it.each(clouds)(
    'arrives whole at a cloud that %s, each partition in order, and none waits for long',
    async (_what, answer, within) => {
      const made = Array.from({ length: 60 }, (_, i) => ({ lane: 'alarm' as const, orderKey: `p${i % 4}` }));
      const rules = rulesOfSending(made);
      let nth = 0;
      await setUp({
        async onEvent(post, tries, response, socket) {
          const reply = answer(nth);
          nth += 1;
          rules.arrived(post.seq, `${reply}`, h.clock.monotonic());
          // What was sent beside this one arrives before it is answered.
          await new Promise((resolve) => setImmediate(resolve));
          rules.closed(post.seq);
          return replies[reply](post, tries, response, socket);
        },
      });
      const rows = made.map((one, i) => rowOf(h.clock, i + 1, one));
      for (const { seq } of rows) rules.committed(seq, h.clock.monotonic());
      for (let from = 0; from < rows.length; from += 20) await h.commit(rows.slice(from, from + 20));
      const began = h.clock.monotonic();
      await h.passTime('all are accepted', () => new Set(rules.accepted).size === rows.length, 2_000);
      expect(rules.broken).toEqual([]);
      expect(h.clock.monotonic() - began).toBeLessThan(within);
      expect(seqs().length).toBeLessThan(4 * rows.length);
      expect((await h.store.parked({ limit: 5 })).length).toBe(0);
    },
  );

  it('of one partition behind 300 older events passes them together, in its own order', async () => {
    await setUp({ onEvent: (...of) => replies[byTurns('none', 429)(h.posts.length)](...of), start: false });
    await h.commit(Array.from({ length: 300 }, (_, i) => rowOf(h.clock, i + 1, { lane: 'trouble' })));
    await h.delivery.start(new AbortController().signal);
    await h.passTime('some are sent', () => seqs().length > 4, 200);
    await h.commit(Array.from({ length: 10 }, (_, i) => rowOf(h.clock, 301 + i)));
    const alarms = () => [...new Set(seqs().filter((seq) => seq > 300))];
    await h.passTime('all alarms are sent', () => alarms().length === 10, 200);
    expect(alarms()).toEqual([...alarms()].sort((a, b) => a - b));
    expect(seqs().filter((seq) => seq <= 300).length).toBeLessThan(60);
  });
});

describe('a line that flaps', () => {
  it('loses no alarm and changes no order, and each is accepted with few tries', async () => {
    const keys = ['p1', 'p2'];
    const made = Array.from({ length: 40 }, (_, i) => ({ lane: 'alarm' as const, orderKey: keys[i % 2] ?? 'p1' }));
    await setUp({ withLine: true });
    const ways = ['refuses', 'hangs up', 'refuses', 'hangs up'] as const;
    for (let round = 0; round < 8; round += 1) {
      await h.line.cut(ways[round % 4] ?? 'refuses');
      await h.commit(made.slice(round * 5, round * 5 + 5).map((one, i) => rowOf(h.clock, round * 5 + i + 1, one)));
      const cut = h.clock.monotonic();
      await h.passTime('ten seconds', () => h.clock.monotonic() - cut > 10_000, 500);
      await h.line.mend();
      const mended = h.clock.monotonic();
      await h.passTime(
        'seven seconds',
        () => h.clock.monotonic() - mended > 7_000 || h.posts.length >= round * 5 + 5,
        500,
      );
    }
    await h.passTime('all is delivered', empty, 500);
    const order = [...new Set(seqs())];
    for (const key of [0, 1]) {
      const own = order.filter((seq) => (seq - 1) % 2 === key);
      expect(own).toEqual([...own].sort((a, b) => a - b));
    }
    expect(seqs().length).toBeLessThan(60);
  });
});

describe('a picture', () => {
  const media = [{ index: 0, kind: 'snapshot', camera: 'yard', offsetMs: 0 }] as const;
  async function ready(seq: number): Promise<void> {
    const bytes = Buffer.from(`picture ${seq}`);
    h.files.set(`${seq}-0`, bytes);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const file = { file: `${seq}-0`, bytes: bytes.length, sha256, mime: 'image/jpeg' };
    await h.store.updateMedia([{ seq, lane: 'alarm', index: 0, at: h.clock.wall(), state: 'ready', ...file }]);
    h.delivery.wake();
  }
  const withAddress: OnEvent = (post, nth, response) => {
    const url = `${h.server.url}/up/${post.seq}/${nth}`;
    const expires_at = new Date(h.clock.wall() + 900_000).toISOString();
    json(response, 200, {
      event_id: post.id,
      uploads: [{ kind: 'snapshot', index: 0, url, method: 'PUT', expires_at }],
    });
  };

  it.each([
    ['the newest event', [1], 403],
    ['an older event', [1, 2], 403],
    ['an older event', [1, 2], 401],
  ])('of %s for which alone no address is given any more holds up no alarm', async (_what, first, status) => {
    const refuses: OnEvent = (_p, _n, response) => json(response, status, {});
    await setUp({
      onEvent: (post, nth, response, socket) =>
        (post.seq === 1 && nth > 1 ? refuses : withAddress)(post, nth, response, socket),
      onPut: (_seen, response) => json(response, 404, {}),
    });
    for (const seq of first) {
      await h.commit([rowOf(h.clock, seq, { media: seq === 1 ? media : [] })]);
      await h.passTime('it is delivered', empty);
    }
    await ready(1);
    await h.passTime('another address was asked for', () => seqs().filter((seq) => seq === 1).length >= 2, 5_000);
    const began = h.clock.monotonic();
    await h.commit([rowOf(h.clock, 3)]);
    await h.passTime('the alarm is sent', () => seqs().includes(3), 500);
    expect(h.clock.monotonic() - began).toBeLessThan(3_000);
  });
});
