import { readFileSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { code } from '../harness/site.ts';
import { owner, type Stage, startStage } from './stage.ts';

/** What becomes of the page when a line is cut, slow or silent, a session ends, or somebody else is at it too. */
let stage: Stage;
const open: BrowserContext[] = [];

beforeAll(async () => {
  stage = await startStage();
}, 180_000);
beforeEach(async () => {
  if (stage.site.lan.retained('partition/p1/state') !== 'disarmed')
    await stage.site.lan.ask('disarm', { partition: 'p1', code });
  for (const key of ['door', 'window'])
    await stage.site.lan.publish(`zigbee2mqtt/${key}`, JSON.stringify({ contact: true }));
});
afterEach(async () => {
  // No more than four pages of one account are told what is new.
  for (const context of open.splice(0)) await context.close();
});
afterAll(() => stage?.close());

async function visit(hash = '#/now'): Promise<Page> {
  const page = await stage.open(hash);
  open.push(page.context());
  await page.evaluate('window.loadedOnce = true');
  return page;
}

/** It is still the page that was opened, and not one that was loaded anew. */
const isSamePage = (page: Page) => page.evaluate('window.loadedOnce === true');
const goTo = (page: Page, name: string) => page.getByRole('navigation').getByRole('link', { name }).click();
const says = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();
const isGone = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor({ state: 'detached' });
const isStale = (page: Page) =>
  page.evaluate("getComputedStyle(document.querySelector('main')).filter.includes('grayscale')") as Promise<boolean>;
const door = (isOpen: boolean) => stage.site.lan.publish('zigbee2mqtt/door', JSON.stringify({ contact: !isOpen }));

async function login(page: Page): Promise<void> {
  await page.getByLabel('Name to log in with').fill(owner.id);
  await page.getByLabel('Password').fill(owner.password);
  await page.getByRole('button', { name: 'Log in' }).click();
}

/** Ends every session of the owner, as somebody else might. */
async function endSessions(): Promise<void> {
  const context = await stage.visit();
  const headers = { origin: stage.address };
  const answer = await context.request.get(`${stage.address}/api/v1/access/self/sessions`);
  const { items } = (await answer.json()) as { items: { id: string }[] };
  for (const { id } of items)
    await context.request.delete(`${stage.address}/api/v1/access/self/sessions/${id}`, { headers });
  await context.close();
}

test('the line to the cloud is cut: the page says so and what to do, and the site is armed as ever', async () => {
  const page = await visit();
  await says(page, 'connected');
  await stage.site.line.cut();
  await goTo(page, 'Partitions');
  await page.getByLabel('Code').fill(code);
  await page.getByRole('button', { name: 'Arm home' }).click();
  await page.getByRole('button', { name: 'Disarm' }).waitFor();
  // A failure alone is no line that is down.
  await stage.site.lan.shows('link/cloud', 'offline', 150_000);
  await goTo(page, 'Now');
  await says(page, 'No connection to the cloud');
  await says(page, /Local protection goes on/);
  await goTo(page, 'Partitions');
  await page.getByLabel('Code').fill(code);
  await page.getByRole('button', { name: 'Disarm' }).click();
  await page.getByRole('button', { name: 'Arm home' }).waitFor();
  await stage.site.line.restore();
  await goTo(page, 'Now');
  await stage.site.lan.shows('link/cloud', 'online', 150_000);
  await isGone(page, 'No connection to the cloud');
  expect(await isSamePage(page)).toBe(true);
}, 400_000);

test("the phone's own line is cut: old values stay, grey and with their age, and are fresh again by themselves", async () => {
  const page = await stage.tab(await stage.visit());
  open.push(page.context());
  await page.clock.install();
  await page.goto(`${stage.address}/#/partitions`);
  await page.evaluate('window.loadedOnce = true');
  await page.getByRole('heading', { name: 'Shop' }).waitFor();

  await page.context().setOffline(true);
  await says(page, /No connection to the bridge\. What you see is \d+ seconds old\./);
  await door(true);
  await page.clock.fastForward(40_000);
  await says(page, /What you see is [4-9]\d seconds old/);
  await expect.poll(() => isStale(page)).toBe(true);
  await expect.poll(() => page.getByRole('heading', { name: 'Shop' }).isVisible()).toBe(true);
  await goTo(page, 'Devices');
  await says(page, /The bridge does not answer/);

  await page.context().setOffline(false);
  await page.getByRole('heading', { name: 'Camera Shop camera' }).waitFor();
  await isGone(page, /No connection to the bridge/);
  await isGone(page, /The bridge does not answer/);
  await expect.poll(() => isStale(page)).toBe(false);
  await goTo(page, 'Partitions');
  await says(page, 'Open: Door');
  await door(false);
  await isGone(page, 'Open: Door');
  expect(await isSamePage(page)).toBe(true);
});

test('a line that falls silent without a word: what is shown is grey, with its age, before it is half a minute old', async () => {
  const page = await stage.tab(await stage.visit());
  open.push(page.context());
  await page.clock.install();
  await page.goto(`${stage.address}/#/partitions`);
  await page.getByRole('heading', { name: 'Shop' }).waitFor();
  // A frozen bridge keeps its connections open.
  process.kill(stage.site.daemon.pid, 'SIGSTOP');
  try {
    await page.clock.runFor(31_000);
    await says(page, /No connection to the bridge\. What you see is 3\d seconds old\./);
    await expect.poll(() => isStale(page)).toBe(true);
  } finally {
    process.kill(stage.site.daemon.pid, 'SIGCONT');
  }
  await page.clock.runFor(5000);
  await isGone(page, /No connection to the bridge/);
  await expect.poll(() => isStale(page)).toBe(false);
});

test('a command that nobody answered is no command that was done: the words say that it is not known', async () => {
  const page = await visit('#/partitions');
  await page.getByLabel('Code').fill(code);
  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'Arm home' }).click();
  await says(page, /nothing is known of what you last asked/);
  await page.context().setOffline(false);
  await isGone(page, /No connection to the bridge/);
  await expect.poll(() => page.getByRole('button', { name: 'Arm home' }).isEnabled()).toBe(true);
});

test('an answer to a command that says nothing is told as that, and the command can be given again', async () => {
  const page = await visit('#/partitions');
  const arm = page.getByRole('button', { name: 'Arm home' });
  for (const body of ['{}', '<h1>log in</h1>']) {
    const contentType = body === '{}' ? 'application/json' : 'text/html';
    await page.route('**/api/v1/commands', (route) => route.fulfill({ contentType, body }));
    await page.getByLabel('Code').fill(code);
    await arm.click();
    await says(page, /What answered does not speak as the bridge does \(status 200\)/);
    await expect.poll(() => arm.isEnabled()).toBe(true);
    await page.unroute('**/api/v1/commands');
  }
  await page.getByLabel('Code').fill(code);
  await arm.click();
  await page.getByRole('button', { name: 'Disarm' }).waitFor();
});

test.each([-90, 90])("a phone's clock that is %i s off arms and disarms like any other", async (seconds) => {
  const page = await stage.tab(await stage.visit());
  open.push(page.context());
  await page.addInitScript(`{
    const Real = Date, off = ${seconds} * 1000;
    globalThis.Date = class extends Real {
      constructor(...given) { super(...(given.length === 0 ? [Real.now() + off] : given)); }
      static now() { return Real.now() + off; }
    };
  }`);
  await page.goto(`${stage.address}/#/partitions`);
  for (const [button, next] of [
    ['Arm home', 'Disarm'],
    ['Disarm', 'Arm home'],
  ] as const) {
    await page.getByLabel('Code').fill(code);
    await page.getByRole('button', { name: button }).click();
    await page.getByRole('button', { name: next }).waitFor();
  }
});

test('a phone that has slept shows what is so now, as soon as it is looked at', async () => {
  const page = await stage.tab(await stage.visit());
  open.push(page.context());
  await page.clock.install();
  await page.goto(`${stage.address}/#/partitions`);
  await page.evaluate('window.loadedOnce = true');
  await page.getByRole('heading', { name: 'Shop' }).waitFor();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Page.setWebLifecycleState', { state: 'frozen' });
  await door(true);
  await page.clock.fastForward(3_600_000);
  await devtools.send('Page.setWebLifecycleState', { state: 'active' });
  await says(page, 'Open: Door');
  await isGone(page, /No connection to the bridge/);
  await door(false);
  await isGone(page, 'Open: Door');
  expect(await isSamePage(page)).toBe(true);
});

test('a session that ends while a form is filled in: the login says so, and leads back to it', async () => {
  const page = await visit('#/users');
  await page.getByLabel('Short name').fill('bert');
  await page.locator('#field-user-name').fill('Bert');
  await page.getByLabel('Code', { exact: true }).fill('7391');
  await endSessions();
  await page.getByRole('button', { name: 'Add a user' }).click();
  await says(page, /Your session has ended: .* Log in to go on;/);
  await says(page, /may have to be typed again/);
  await login(page);
  await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
  await expect.poll(() => page.getByText('Your session has ended').count()).toBe(0);
  await expect.poll(() => page.getByRole('heading', { name: 'Bert' }).count()).toBe(0);
});

test('a line that is cut while the page looks for the way in is tried again on demand', async () => {
  const context = await stage.visit({ login: false });
  open.push(context);
  const page = await stage.tab(context);
  await page.route('**/.well-known/siteward', (route) => route.abort());
  await page.goto(stage.address);
  await says(page, /The bridge does not answer/);
  await page.unroute('**/.well-known/siteward');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByLabel('Password').waitFor();
});

test('a bridge that was started again asks for a login by itself, with words', async () => {
  const page = await visit('#/devices');
  await stage.site.daemon.restart();
  await says(page, /Your session has ended/);
  await login(page);
  await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor();
  expect(await isSamePage(page)).toBe(true);
}, 180_000);

test('two tabs: what is done in one is seen in the other, and who logs out in one is out in both', async () => {
  const one = await visit('#/partitions');
  const other = await stage.tab(one.context());
  await other.goto(`${stage.address}/#/partitions`);
  await other.getByRole('button', { name: 'Arm home' }).waitFor();
  await one.getByLabel('Code').fill(code);
  await one.getByRole('button', { name: 'Arm home' }).click();
  await other.getByRole('button', { name: 'Disarm' }).waitFor();
  await other.getByLabel('Code').fill(code);
  await other.getByRole('button', { name: 'Disarm' }).click();
  await one.getByRole('button', { name: 'Arm home' }).waitFor();
  await one.getByRole('button', { name: 'Log out' }).click();
  await one.getByLabel('Password', { exact: true }).waitFor();
  await expect.poll(() => one.getByText('Your session has ended').count()).toBe(0);
  await goTo(other, 'Devices');
  await says(other, /Your session has ended/);
});

test('the fifth page of one account is told that there are too many, and goes on when one is closed', async () => {
  const first = await visit('#/partitions');
  const tabs: Page[] = [];
  for (let count = 0; count < 4; count += 1) {
    const tab = await stage.tab(first.context());
    await tab.goto(`${stage.address}/#/now`);
    tabs.push(tab);
    if (count < 3) await tab.getByRole('heading', { name: 'This bridge' }).waitFor();
  }
  const last = tabs.at(-1);
  if (last === undefined) throw new Error('there is no tab');
  await says(last, /Too many pages of this account are open/);
  await first.close();
  await last.getByRole('heading', { name: 'This bridge' }).waitFor();
  await isGone(last, /Too many pages/);
});

test('a slow line: the page says that it waits, and a command that is pressed twice is given once', async () => {
  const page = await stage.tab(await stage.visit());
  open.push(page.context());
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Network.emulateNetworkConditions', {
    ...{ offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 },
  });
  const commands: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/api/v1/commands')) commands.push(request.postData() ?? '');
  });
  await page.goto(`${stage.address}/#/partitions`, { waitUntil: 'commit' });
  await says(page, 'Looking for the bridge …');
  await page.getByLabel('Code').fill(code);
  const arm = page.getByRole('button', { name: 'Arm home' });
  await arm.dblclick();
  await expect.poll(() => arm.isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Disarm' }).waitFor();
  expect(commands).toHaveLength(1);
  await page.getByLabel('Code').fill(code);
  await page.getByRole('button', { name: 'Disarm' }).click();
  await arm.waitFor();
});

test('a walk test that is under way is under way after the page was loaded again', async () => {
  const page = await visit('#/walk');
  await page.getByLabel('Code').fill(code);
  await page.getByRole('button', { name: 'Begin the walk test' }).click();
  await says(page, '30 min left');
  await door(true);
  await page.locator('.badge', { hasText: 'seen' }).waitFor();
  await page.reload();
  await says(page, /\d+ min left/);
  await page.locator('.badge', { hasText: 'seen' }).waitFor();
  await page.getByRole('button', { name: 'End the walk test' }).click();
  await says(page, 'One zone seen, 1 missed.');
});

test('a walk test that ends while the page is elsewhere leaves its result on the page', async () => {
  const page = await visit('#/walk');
  await page.getByLabel('Code').fill(code);
  await page.getByRole('button', { name: 'Begin the walk test' }).click();
  await says(page, '30 min left');
  await door(true);
  await page.locator('.badge', { hasText: 'seen' }).waitFor();
  await goTo(page, 'Devices');
  await stage.site.lan.ask('test', { on: false, partition: 'p1', code });
  await goTo(page, 'Walk test');
  await says(page, /It has ended, by itself or from elsewhere/);
  await says(page, 'One zone seen, 1 missed.');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save the result' }).click();
  expect(JSON.parse(readFileSync(await (await download).path(), 'utf8'))).toMatchObject({
    ...{ partition: { id: 'p1' }, walked: [{ number: '1' }], missed: [{ number: '2' }] },
  });
});

test('nothing of it made the browser complain', () => {
  expect(stage.complaints).toEqual([]);
});
