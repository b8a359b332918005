import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { outboxHistory } from '#lan/http/index.ts';
import { type Addresses, code } from '../harness/site.ts';
import { markup, type Stage, seriousFaults, siteYaml, startStage } from './stage.ts';

let stage: Stage;
let page: Page;

beforeAll(async () => {
  const yaml = (at: Addresses) =>
    `${siteYaml(at).replace('name: Shop }', 'name: Shop, exit_delay: 0s, entry_delay: 0s }')}media: { snapshots: 1, keep: 1h }\n`;
  stage = await startStage({ yaml });
  page = await stage.open();
}, 120_000);
afterAll(() => stage?.close());

const open = async (name: string) => {
  await page.getByRole('navigation').getByRole('link', { name }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
};

/** Later tests go on where earlier ones stop. */
test('the colours are those of the device until others are chosen, which stay; text can be read in each', async () => {
  const back = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  const light = await back();
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await back();
  expect(dark).not.toBe(light);
  await page.getByLabel('Colours').selectOption('light');
  await expect.poll(back).toBe(light);
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor();
  expect(await back()).toBe(light);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.getByLabel('Colours').selectOption('dark');
  await expect.poll(back).toBe(dark);
  for (const link of await page.getByRole('navigation').getByRole('link').allTextContents()) {
    await open(link);
    expect({ link, faults: await seriousFaults(page) }).toEqual({ link, faults: [] });
  }
  await page.getByLabel('Colours').selectOption('device');
  await expect.poll(back).toBe(light);
});

test('the page has an icon, also where a browser asks for it by its old name', async () => {
  const link = await page.locator('link[rel=icon]').getAttribute('href');
  for (const path of [link ?? '', '/favicon.ico']) {
    const answer = await page.request.get(`${stage.address}${path}`);
    expect(answer.status()).toBe(200);
    expect(answer.headers()['content-type']).toBe('image/svg+xml');
    expect(await answer.text()).toContain('<svg');
  }
});

const told = (topic: string, contact: boolean) =>
  stage.site.lan.publish(`zigbee2mqtt/${topic}`, JSON.stringify({ contact }));
const button = (name: string) => page.getByRole('button', { name, exact: true });

test('open zones are left out with a code: of one arming, and one by one; the answer names them', async () => {
  await open('Partitions');
  await told('door', true);
  await told('window', false);
  await page.getByText(`Open: ${markup}`).waitFor();
  await button('Arm away').click();
  await page
    .getByRole('status')
    .filter({ hasText: `Zones: ${markup}.` })
    .waitFor();
  await page.getByLabel('Leave out what is not ready').check();
  await page.getByLabel('Code').fill(code);
  await button('Arm away').click();
  await page
    .getByRole('status')
    .filter({ hasText: `Done. Left out: ${markup}.` })
    .waitFor();
  await page.getByLabel('Code').fill(code);
  await button('Disarm').click();
  await page.getByText('2 zones').click();
  await page.getByRole('checkbox', { name: markup }).check();
  await button('Leave out').click();
  await page.getByText('This takes a code.').waitFor();
  await expect.poll(() => page.getByRole('checkbox', { name: markup }).isChecked()).toBe(true);
  await page.getByLabel('Code').fill(code);
  await button('Leave out').click();
  await page.getByText('left out, open').waitFor();
  // The answer takes the choice away, and may come after the news of the zone.
  await expect.poll(() => page.getByRole('checkbox', { name: markup }).isChecked()).toBe(false);
  await page.getByRole('checkbox', { name: markup }).check();
  await page.getByLabel('Code').fill(code);
  await button('Watch again').click();
  await page.getByText('left out, open').waitFor({ state: 'detached' });
});

test('an alarm is found among the events with its way to the cloud and its picture', async () => {
  await told('window', true);
  await page.getByText(`Open: ${markup}`).waitFor({ state: 'detached' });
  await page.getByLabel('Code').fill(code);
  await button('Arm away').click();
  await page.getByRole('status').filter({ hasText: 'Done.' }).waitFor();
  await open('Events');
  await page.getByLabel('Only').selectOption('alarm');
  await page.getByText('There are none.').waitFor();
  await told('door', false);
  const alarm = page.getByRole('listitem').filter({ hasText: /Burglary, outer skin .*Door/ });
  await alarm.locator('summary').click();
  // The picture is taken, then sent.
  await expect
    .poll(
      async () => {
        const again = alarm.getByRole('button', { name: 'Look again' }).first();
        if (await again.isVisible()) await again.click();
        return `${await alarm.textContent()} ${JSON.stringify(await stage.site.api('/api/v1/media'))}`;
      },
      { timeout: 30_000 },
    )
    .toMatch(/Made .*Accepted by the cloud .*Picture of shop, at that moment in the cloud/);
  await alarm.getByRole('button', { name: 'Show them' }).click();
  const picture = page.getByAltText('Picture of shop, at that moment');
  await expect
    .poll(() => picture.evaluate((image) => (image as { naturalWidth?: number }).naturalWidth), { timeout: 10_000 })
    .toBeGreaterThan(0);
  expect(await seriousFaults(page)).toEqual([]);
  await told('door', true);
});

test('a camera is followed live until it is out of sight; its log is in words', async () => {
  await open('Devices');
  const shop = page.locator('.card').filter({ hasText: 'Shop camera' });
  await shop.getByRole('button', { name: 'Follow live' }).click();
  const picture = shop.getByAltText('Live picture of Shop camera');
  const first = await picture.getAttribute('src');
  await expect.poll(() => picture.getAttribute('src'), { timeout: 10_000 }).not.toBe(first);
  await page.evaluate('document.body.style.paddingTop = "300vh"; scrollTo(0, 0)');
  await shop.getByRole('button', { name: 'Follow live' }).waitFor();
  await page.evaluate('document.body.style.paddingTop = ""');
  await shop.getByText('Log of this device').click();
  await shop.getByRole('region', { name: 'Log of Shop camera' }).getByText('info').first().waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});

test('the last day of the outbox is a chart with its gaps, and a table', async () => {
  const start = Date.now() - 3_600_000;
  const items = [0, 1, 2, 6, 7].map((nth) => ({
    ...{ at: new Date(start + nth * 300_000).toISOString(), waiting: nth * 10, oldest_s: null, accepted: nth },
    latency_ms: { p50: 500, p95: 1500 },
  }));
  const json = outboxHistory.parse({ every_s: 300, items });
  await page.route('**/api/v1/outbox/history', (route) => route.fulfill({ json }));
  await open('Outbox');
  const chart = page.getByRole('img', { name: /Events that waited over the last day, at most 70/ });
  await chart.waitFor();
  await expect.poll(() => chart.locator('polyline').count()).toBe(2);
  await page.getByText('As a table').click();
  await page.getByRole('columnheader', { name: 'Accepted' }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false);
});

test('where nothing is known of the day the chart says so, and milliseconds are read as such', async () => {
  const at = (minute: number) => new Date(Date.now() - minute * 60_000).toISOString();
  const items = [5, 0].map((minute) => ({
    ...{ at: at(minute), waiting: null, oldest_s: null, accepted: 1 },
    latency_ms: { p50: 1, p95: 2 },
  }));
  await page.unroute('**/api/v1/outbox/history');
  await page.route('**/api/v1/outbox/history', (route) =>
    route.fulfill({ json: outboxHistory.parse({ every_s: 300, items }) }),
  );
  await open('Now');
  await open('Outbox');
  await page.getByText('Nothing is known yet.').waitFor();
  await expect.poll(() => page.getByRole('img', { name: /Events that waited/ }).count()).toBe(0);
  const latency = page.getByRole('img', { name: /From the event to the cloud over the last day, at most 2 ms/ });
  expect((await latency.locator('text').allTextContents()).filter((text) => text.endsWith('s'))).toEqual([
    ...['0 s', '1 ms', '2 ms'],
  ]);
  await page.unroute('**/api/v1/outbox/history');
});

test('in another time zone the time of the site stands beside that of the browser', async () => {
  const far = await stage.open('#/now', { timezoneId: 'America/New_York' });
  await far
    .getByText(/\(.+ at the site\)/)
    .first()
    .waitFor();
  await far.context().close();
});

test('the page is in the language that is chosen, and says so to a screen reader', async () => {
  await page.getByLabel('Language').selectOption('de');
  await page.getByRole('heading', { level: 1, name: 'Ausgang' }).waitFor();
  expect(await page.evaluate('document.documentElement.lang')).toBe('de');
  await page.getByLabel('Sprache').selectOption('en');
});

test('without the bridge, what is shown turns grey after half a minute, and its age is told', async () => {
  const quiet = await stage.tab(await stage.visit());
  await quiet.clock.install();
  await quiet.goto(`${stage.address}/#/now`);
  await quiet.getByText('This bridge').waitFor();
  await stage.site.daemon.stop();
  await quiet.getByText('No connection to the bridge').waitFor();
  await expect.poll(() => quiet.locator('body.stale').count()).toBe(0);
  await quiet.clock.fastForward(31_000);
  await quiet.locator('body.stale').waitFor();
  await quiet.getByText(/3\d seconds old/).waitFor();
});

test('nothing of it made the browser complain', () => {
  expect(stage.complaints).toEqual([]);
});
