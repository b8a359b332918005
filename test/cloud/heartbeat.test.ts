import { afterEach, expect, it } from 'vitest';
import { type Harness, harness } from './delivery-harness.ts';
import { json, rowOf } from './support.ts';

let h: Harness | undefined;
afterEach(async () => {
  await h?.close();
  h = undefined;
});

it.each([
  ['10 s', 10_000],
  ['5 min', 300_000],
])('an idle line is looked at every %s, as the configuration says', async (_, heartbeatMs) => {
  const looks: number[] = [];
  h = await harness({
    delivery: { heartbeatMs },
    onProbe(response) {
      looks.push(h?.clock.monotonic() ?? 0);
      json(response, 404, {});
    },
  });
  await h.passTime('six looks', () => looks.length >= 6, heartbeatMs / 10);
  const spans = looks.slice(2).map((mono, i) => mono - (looks[i + 1] ?? 0));
  for (const span of spans) {
    expect(span).toBeGreaterThanOrEqual(heartbeatMs);
    expect(span).toBeLessThanOrEqual(heartbeatMs * 1.5);
  }
});

it('a look that finds nobody tells that the line is lost, before any event was tried', async () => {
  h = await harness({ delivery: { heartbeatMs: 10_000 }, withLine: true });
  const { links, line } = h;
  await h.passTime('the line is up', () => links.at(-1)?.[0] === true, 1_000);
  await line.cut('refuses');
  await h.passTime('the line is lost', () => links.at(-1)?.[0] === false, 1_000);
  expect(links.at(-1)).toEqual([false, 'unreachable']);
  expect(h.posts).toEqual([]);
  await line.mend();
  await h.passTime('the line is back', () => links.at(-1)?.[0] === true, 1_000);
});

it('a line on which only a silent event waits is looked at and told of as an idle one (safety 4)', async () => {
  h = await harness({ delivery: { heartbeatMs: 10_000 }, withLine: true });
  const { links, line } = h;
  await h.passTime('the line is up', () => links.at(-1)?.[0] === true, 1_000);
  await line.cut('refuses');
  await h.commit([{ ...rowOf(h.clock, 1), silent: true as const }]);
  await h.passTime('the line is lost', () => links.at(-1)?.[0] === false, 1_000);
  expect(links.at(-1)).toEqual([false, 'unreachable']);
  await line.mend();
  await h.passTime('the line is back', () => links.at(-1)?.[0] === true, 1_000);
  await h.passTime('the event has gone out', () => (h?.posts.length ?? 0) > 0, 1_000);
});
