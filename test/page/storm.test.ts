import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mostEvents } from '#lan/page/live.ts';
import { sleep } from '#lib/wait.ts';
import { makePage } from '../../tools/page.ts';
import { type Stage, startStage } from './stage.ts';

/** The live list while two hundred events a second come, through the daemon and its stream. */
const detectors = 20;
const perSecond = 200;
const seconds = 10;
const events = perSecond * seconds;
const nameOf = (nth: number) => `Detector ${String(nth % detectors).padStart(2, '0')}`;

let stage: Stage;
let page: Page;

beforeAll(async () => {
  const zones = Array.from(
    { length: detectors },
    (_, nth) => `      "${nth + 1}": { type: fire, name: ${nameOf(nth)}, key: smoke_${nth}, partition: p1 }`,
  );
  stage = await startStage({
    yaml: () => `partitions: [ { id: p1, name: Hall } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
${zones.join('\n')}
`,
  });
  page = await stage.open('#/events', { viewport: { width: 1280, height: 800 } });
}, 180_000);
afterAll(() => stage?.close());

/** Each message changes one detector, which is one event; they come in an even rhythm. */
async function send(from: number, count: number): Promise<void> {
  const began = performance.now();
  const sent: Promise<void>[] = [];
  for (let nth = from; nth < from + count; nth += 1) {
    const smoke = Math.floor(nth / detectors) % 2 === 0;
    sent.push(stage.site.lan.publish(`zigbee2mqtt/smoke_${nth % detectors}`, JSON.stringify({ smoke })));
    const ahead = ((nth - from + 1) * 1000) / perSecond - (performance.now() - began);
    if (ahead > 0) await sleep(ahead, new AbortController().signal);
  }
  await Promise.all(sent);
}

/** The detectors of the rows, newest first. */
const rows = async () =>
  (await page.locator('.events > li summary').allTextContents()).map((text) => /Detector \d\d/.exec(text)?.[0] ?? text);
const newestFirst = (last: number, count: number) => Array.from({ length: count }, (_, nth) => nameOf(last - nth));

test('every event is shown in order, or counts as older; the list is bounded and drawn in batches; a click is heard', async () => {
  await page.locator('.events').waitFor({ state: 'attached' });
  await page.evaluate(`
    const list = document.querySelector('.events');
    window.drawn = 0;
    window.most = 0;
    new MutationObserver(() => {
      window.drawn += 1;
      window.most = Math.max(window.most, list.childElementCount);
    }).observe(list, { childList: true });
  `);
  const half = events / 2 + 7;
  const sending = send(0, half);
  await page
    .locator('.events > li')
    .nth(mostEvents - 1)
    .waitFor();
  await page.getByRole('button', { name: 'Hold the list' }).click();
  await page.getByRole('button', { name: 'Go on' }).waitFor();
  const held = await rows();
  await sending;
  await send(half, events - half);
  expect(await rows()).toEqual(held);
  await page.getByRole('button', { name: 'Go on' }).click();

  await expect.poll(async () => (await rows()).slice(0, 3), { timeout: 30_000 }).toEqual(newestFirst(events - 1, 3));
  expect(await rows()).toEqual(newestFirst(events - 1, mostEvents));
  const { drawn, most } = (await page.evaluate('({ drawn, most })')) as { drawn: number; most: number };
  expect(most).toBeLessThanOrEqual(mostEvents + 50);
  expect(drawn).toBeLessThan(events / 2);

  await page.getByRole('button', { name: 'Older ones' }).click();
  await expect.poll(async () => (await rows()).length, { timeout: 30_000 }).toBe(mostEvents + 50);
  expect(await rows()).toEqual(newestFirst(events - 1, mostEvents + 50));
  // What comes meanwhile does not push them out: the list is held.
  await send(events, detectors);
  expect(await rows()).toEqual(newestFirst(events - 1, mostEvents + 50));
  await page.getByRole('button', { name: 'Go on' }).click();
  await expect.poll(async () => (await rows())[0], { timeout: 30_000 }).toBe(nameOf(events + detectors - 1));
  expect(stage.complaints).toEqual([]);
}, 300_000);

test('the first load is less than 100 kB with gzip: the document, the script with all texts, the style', async () => {
  const files = await makePage();
  const bytes = files.reduce((sum, { bytes: file }) => sum + gzipSync(file).length, 0);
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThan(100_000);
});
