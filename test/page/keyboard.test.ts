import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { code } from '../harness/site.ts';
import { owner, type Stage, startStage } from './stage.ts';

/** A walk through the page without a mouse: nothing here clicks, and what is typed goes to what has the focus. */
let stage: Stage;
let page: Page;

beforeAll(async () => {
  stage = await startStage({ claimed: false });
  page = await stage.tab(await stage.visit({ login: false }));
}, 180_000);
afterAll(() => stage?.close());

/** Runs in the browser. */
const inFocus = `(() => {
  const one = document.activeElement;
  if (one === null || one === document.body) return { name: 'nothing', seen: false };
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  const box = one.getBoundingClientRect();
  const isThere = box.width > 0 && box.right > 0 && box.left < innerWidth;
  return {
    name: (one.labels?.[0] ?? one).textContent.trim(),
    seen: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2 && isThere,
  };
})()`;

/** What has the focus, as somebody would call it; `seen`: it has an outline, and lies on the page. */
const focused = () => page.evaluate(inFocus) as Promise<{ name: string; seen: boolean }>;

/** Presses Tab until what has this name has the focus; everything on the way must be seen to have it. */
async function tabTo(name: string | RegExp, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  const met: string[] = [];
  for (let count = 0; count < 80; count += 1) {
    await page.keyboard.press(key);
    const at = await focused();
    met.push(at.name);
    // Past the last one the browser's own parts have the focus.
    if (at.name !== 'nothing') expect(at).toEqual({ name: at.name, seen: true });
    if (typeof name === 'string' ? at.name === name : name.test(at.name)) return;
  }
  throw new Error(`${key} does not lead to ${name}, but to ${met.join(' | ')}`);
}

const press = (key: string) => page.keyboard.press(key);
const type = (text: string) => page.keyboard.type(text);
const says = (text: string | RegExp) => page.getByText(text).first().waitFor();

/** Where the keyboard is once what was asked for is done. */
async function isAt(name: RegExp): Promise<void> {
  await expect.poll(async () => (await focused()).name, { timeout: 10_000 }).toMatch(name);
}

/** To a screen by the navigation, which comes before it; the heading has the focus then. */
async function screen(name: string): Promise<void> {
  await tabTo(name, 'Shift+Tab');
  await press('Enter');
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  await expect.poll(() => page.evaluate('document.activeElement?.tagName')).toBe('H1');
}

/** Later tests go on where earlier ones stop. */
test('a bridge is claimed; what is wrong is told, and what was typed stays', async () => {
  await page.goto(stage.address);
  await page.getByLabel('Claim code').waitFor();
  await tabTo('Claim code');
  await type('AAAAAAAA');
  await tabTo('Name to log in with');
  await type(owner.id);
  await tabTo('Your name');
  await type('Ina');
  await tabTo('Password');
  await type(owner.password);
  await tabTo(/^the installer/);
  await press('ArrowDown');
  await isAt(/^the owner/);
  await tabTo('Claim');
  await press('Enter');
  await says('The claim code is wrong.');
  await isAt(/^Claim$/);
  await tabTo('Claim code', 'Shift+Tab');
  await press('ControlOrMeta+a');
  await type(await stage.claimCode());
  await press('Enter');
  await page.getByRole('heading', { name: 'Now' }).waitFor();
  await isAt(/^(Now|Waiting)/);
});

test('the link past the navigation leads to the heading, and leaves the screen as it is', async () => {
  await screen('Devices');
  await tabTo('Skip to the content', 'Shift+Tab');
  await press('Enter');
  await isAt(/^Devices$/);
  expect(new URL(page.url()).hash).toBe('#/devices');
});

test('every screen is reached, and its heading has the focus', async () => {
  const names = await page.getByRole('navigation').getByRole('link').allTextContents();
  expect(names.length).toBeGreaterThan(8);
  for (const name of names) {
    await screen(name);
    await expect.poll(() => page.title()).toContain(name);
  }
});

test('a partition is armed and disarmed with a code', async () => {
  await screen('Partitions');
  for (const key of ['door', 'window'])
    await stage.site.lan.publish(`zigbee2mqtt/${key}`, JSON.stringify({ contact: true }));
  await tabTo(/^Code/);
  await type(code);
  await tabTo('Arm away');
  await press('Enter');
  await page.getByRole('button', { name: 'Disarm' }).waitFor();
  // The button that was pressed is gone; its card has the focus.
  await isAt(/^(Disarm$|Shop)/);
  await tabTo(/^Code/);
  await type(code);
  await tabTo('Disarm');
  await press('Space');
  await page.getByRole('button', { name: 'Arm away' }).waitFor();
  await isAt(/^(Arm away$|Shop)/);
});

test('an event is opened', async () => {
  await screen('Events');
  await tabTo(/disarmed/i);
  await press('Space');
  await page.locator('details[open]').waitFor();
  await isAt(/disarmed/i);
});

test('a walk test is begun and ended, and its result saved', async () => {
  await screen('Walk test');
  await tabTo(/^Code/);
  await type(code);
  await tabTo('Begin the walk test');
  await press('Enter');
  await says('30 min left');
  await isAt(/^End the walk test$/);
  await press('Enter');
  await says(/zones seen/);
  await isAt(/walk test$/);
  const download = page.waitForEvent('download');
  await tabTo('Save the result');
  await press('Enter');
  expect((await download).suggestedFilename()).toMatch(/^walk-test-p1-.*\.json$/);
});

test('a message is played, louder than before', async () => {
  await screen('Speakers');
  await page.getByLabel('Message').waitFor();
  await tabTo('Where');
  await press('ArrowDown');
  await tabTo(/^Volume: 50/);
  await press('ArrowRight');
  await isAt(/^Volume: 55/);
  await tabTo('Play');
  await press('Enter');
  await page.locator('.badge', { hasText: 'played' }).waitFor();
  await isAt(/^Play$/);
});

test('a picture is taken, and the log of a device opened', async () => {
  await screen('Devices');
  await page.getByRole('button', { name: 'Take a picture now' }).first().waitFor();
  await tabTo('Take a picture now');
  await press('Enter');
  await page.getByRole('img').first().waitFor();
  await isAt(/^Take a picture now$/);
  await tabTo(/^Log of/);
  await press('Enter');
  await page.locator('details[open]').waitFor();
});

test('a user is added and removed; where the button is gone, the screen has the focus', async () => {
  await screen('Users');
  await tabTo('Short name');
  await type('bert');
  await tabTo('Name');
  await type('Bert');
  await tabTo(/^Code$/);
  await type('7391');
  await tabTo('Add a user');
  await press('Enter');
  await page.getByRole('heading', { name: 'Bert' }).waitFor();
  await isAt(/^Add a user$/);
  await tabTo('Remove', 'Shift+Tab');
  await press('Enter');
  await tabTo('Type bert to remove this user');
  await type('bert');
  await tabTo('Remove');
  await press('Enter');
  await page.getByRole('heading', { name: 'Bert' }).waitFor({ state: 'detached' });
  await isAt(/^Users$/);
});

test('the outbox is looked at again, and the report made', async () => {
  await screen('Outbox');
  await tabTo('Look again');
  await press('Enter');
  await isAt(/^Look again$/);
  await screen('Report');
  const download = page.waitForEvent('download');
  await tabTo('Make and save it');
  await press('Enter');
  await download;
  await isAt(/^Make and save it$/);
});

test('one logs out, and in again at the screen where one was', async () => {
  await tabTo('Log out');
  await press('Enter');
  await page.getByLabel('Name to log in with').waitFor();
  await isAt(/^siteward$/);
  await tabTo('Name to log in with');
  await type(owner.id);
  await tabTo('Password');
  await type(owner.password);
  await press('Enter');
  await page.getByRole('heading', { name: 'Report', exact: true }).waitFor();
  await isAt(/^Report/);
});

test('nothing of it made the browser complain', () => {
  expect(stage.complaints).toEqual([]);
});
