import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { code } from '../harness/site.ts';
import { type Stage, seriousFaults, startStage } from './stage.ts';

/** As systemd starts it; without that nothing would start it again, and it refuses. */
const systemd = { INVOCATION_ID: '5f3b2c0d' };
const endedMs = 60_000;

let stage: Stage;
let page: Page;
beforeAll(async () => {
  stage = await startStage({ env: systemd });
  page = await stage.open('#/danger');
}, 120_000);
afterAll(() => stage?.close());

const card = (title: string) => page.locator('section.card', { has: page.getByRole('heading', { name: title }) });
const typed = (title: string) => card(title).getByLabel('Type proof to confirm');
const isForgotten = () => !readFileSync(stage.site.config, 'utf8').includes('base_url');

/** Later tests go on where earlier ones stop. */
test('nothing is done before the name of the site is typed as it stands', async () => {
  const pid = stage.site.daemon.pid;
  for (const title of ['Restart', 'Forget the cloud', 'Factory reset']) {
    const act = card(title).getByRole('button');
    await typed(title).fill('Proof');
    await expect.poll(() => act.isDisabled()).toBe(true);
    await typed(title).press('Enter');
    await typed(title).fill('proof');
    await expect.poll(() => act.isDisabled()).toBe(false);
    await typed(title).fill('proof ');
    await expect.poll(() => act.isDisabled()).toBe(true);
  }
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 844 });
    expect(await seriousFaults(page)).toEqual([]);
  }
  expect(stage.site.daemon.pid).toBe(pid);
  expect(isForgotten()).toBe(false);
});

test('a restart is waited for, and leads to the login', { timeout: 120_000 }, async () => {
  await typed('Restart').fill('proof');
  await card('Restart').getByRole('button').click();
  await page.getByText('The bridge starts again').waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await stage.site.daemon.ended(endedMs);
  await stage.site.daemon.restart();
  await page.getByLabel('Name to log in with').waitFor();
  await stage.login(page.context());
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Danger' }).waitFor();
});

test('a reset is refused while events wait; how many is told, and it takes another word', async () => {
  await stage.site.line.cut();
  await stage.site.lan.ask('arm', { partition: 'p1', mode: 'away', force: true, code });
  await stage.site.lan.ask('disarm', { partition: 'p1', code });
  await expect.poll(() => page.getByRole('checkbox').count()).toBe(0);
  await typed('Factory reset').fill('proof');
  await card('Factory reset').getByRole('button').click();
  await card('Factory reset').getByRole('alert').waitFor();
  await page.getByLabel(/(One event waits|\d+ events wait) for the cloud, which then never learns/).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});

test('the cloud is forgotten, and that is told', async () => {
  await typed('Forget the cloud').fill('proof');
  await card('Forget the cloud').getByRole('button').click();
  await page.getByText('The cloud is forgotten.').waitFor();
  expect(isForgotten()).toBe(true);
});

test('a reset that was said twice ends the bridge', { timeout: 120_000 }, async () => {
  await page.getByRole('checkbox').check();
  await card('Factory reset').getByRole('button').click();
  await page.getByText('The bridge starts again').waitFor();
  await stage.site.daemon.ended(endedMs);
  expect(stage.complaints).toEqual([]);
});
