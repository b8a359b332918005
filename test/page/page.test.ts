import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Addresses, code } from '../harness/site.ts';
import { markup, owner, type Stage, seriousFaults, siteYaml, startStage } from './stage.ts';

const sizes = [
  ['a small phone', 320],
  ['a phone', 390],
  ['a desk', 1280],
] as const;
const screens = [
  ...['Now', 'Partitions', 'Devices', 'Events', 'Walk test', 'Speakers', 'Outbox', 'Users', 'Setup', 'Report'],
  'Danger',
];

/** As long as a name may be, and without a space. */
const long = 'Halfway'.repeat(10).slice(0, 64);
const withLongNames = (at: Addresses) =>
  siteYaml(at).replaceAll(/name: (Shop|Door|Shop camera|Yard camera|Shop speaker)(?= }|,)/g, `name: ${long}`);

let stage: Stage;
let page: Page;

beforeAll(async () => {
  stage = await startStage({ claimed: false, yaml: withLongNames });
  page = await stage.tab(await stage.visit({ login: false }));
}, 180_000);
afterAll(() => stage?.close());

/** Later tests go on where earlier ones stop. */
test('a bridge is claimed on its page: a wrong code is told in words, the right one opens it', async () => {
  await page.goto(stage.address);
  await page.getByLabel('Claim code').fill('AAAAAAAA');
  await page.getByLabel('Name to log in with').fill(owner.id);
  await page.getByLabel('Your name').fill('Ina');
  await page.getByLabel('Password').fill(owner.password);
  await page.getByLabel(/owner of the site/).check();
  await page.getByRole('button', { name: 'Claim' }).click();
  await expect.poll(() => page.getByRole('alert').textContent()).toBe('The claim code is wrong.');
  expect(await seriousFaults(page)).toEqual([]);

  await page.getByLabel('Claim code').fill(await stage.claimCode());
  await page.getByRole('button', { name: 'Claim' }).click();
  await page.getByRole('heading', { name: 'Now' }).waitFor();
});

test.each(sizes)(
  'every screen opens on %s without a serious fault for anybody',
  async (_name, width) => {
    await page.setViewportSize({ width, height: 844 });
    await expect.poll(() => page.getByRole('navigation').getByRole('link').allTextContents()).toEqual(screens);
    for (const name of screens) {
      await page.getByRole('navigation').getByRole('link', { name }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      expect({ name, faults: await seriousFaults(page) }).toEqual({ name, faults: [] });
      const wide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
      expect({ name, wide }).toEqual({ name, wide: false });
    }
  },
  300_000,
);

test('what happens is shown as it happens; a name with markup in it is text', async () => {
  await page.getByRole('link', { name: 'Partitions' }).click();
  await page.getByText('2 zones').click();
  await stage.site.lan.publish('zigbee2mqtt/window', JSON.stringify({ contact: false }));
  await page.getByText(`Open: ${markup}`).waitFor();
  await page.getByRole('button', { name: 'Arm home' }).click();
  await page.getByText('Zones are open. Close them, or leave them out.').waitFor();
});

test('a walk test ticks zones off as they are tripped, and its result can be saved', async () => {
  await page.getByRole('link', { name: 'Walk test' }).click();
  await page.getByRole('button', { name: 'Begin the walk test' }).click();
  await page.getByText('This takes a code.').waitFor();
  await page.getByLabel('Code').fill(code);
  await page.getByRole('button', { name: 'Begin the walk test' }).click();
  await page.getByText('30 min left').waitFor();
  await page.getByText('It has begun.').waitFor();
  for (const name of ['Now', 'Partitions']) {
    await page.getByRole('link', { name }).click();
    await page
      .getByRole('main')
      .getByRole('link', { name: /burglar alarms are not signalled/ })
      .first()
      .waitFor();
    await expect.poll(() => page.getByText('All is well').count()).toBe(0);
  }
  await page.getByRole('link', { name: 'Walk test', exact: true }).click();
  await stage.site.lan.publish('zigbee2mqtt/door', JSON.stringify({ contact: false }));
  await page.locator('.badge', { hasText: 'seen' }).waitFor();
  await page.getByRole('button', { name: 'End the walk test' }).click();
  await page.getByText('One zone seen, 1 missed.').waitFor();
  await page.getByText(`Not seen: 2 ${markup}.`).waitFor();
  const waiting = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save the result' }).click();
  const download = await waiting;
  expect(download.suggestedFilename()).toMatch(/^walk-test-p1-\d{4}-\d\d-\d\d\.json$/);
  expect(JSON.parse(await readFile(await download.path(), 'utf8'))).toMatchObject({
    ...{ what: 'walk test', person: owner.id, site: expect.any(String), at: expect.any(String) },
    partition: { id: 'p1', name: long },
    walked: [{ number: '1', name: long }],
    missed: [{ number: '2', name: markup }],
  });
});

test('an owner lets somebody in and gives them another code: from then on the old one counts no more', async () => {
  await page.getByRole('link', { name: 'Users' }).click();
  const codes = ['84205173', '61937284'] as const;
  const add = page.locator('section', { has: page.getByRole('heading', { name: 'Add a user' }) });
  await add.getByLabel('Short name').fill('bea');
  await add.getByLabel('Name', { exact: true }).fill('Bea');
  await add.getByLabel('Code', { exact: true }).fill(codes[0]);
  await add.getByRole('button', { name: 'Add a user' }).click();
  const bea = page.locator('section', { has: page.getByRole('heading', { name: 'Bea' }) });
  await bea.getByText('Another code').click();
  const set = bea.getByRole('button', { name: 'Set the code' });
  await bea.getByLabel('Code', { exact: true }).fill(code);
  await set.click();
  expect(await bea.getByRole('alert').textContent()).not.toContain(code);
  await bea.getByLabel('Code', { exact: true }).fill(codes[1]);
  await set.click();
  await bea.getByText('Set. The old code counts no more.').waitFor();
  await expect.poll(() => bea.getByLabel('Code', { exact: true }).inputValue()).toBe('');
  const arms = (typed: string) =>
    stage.site.lan.ask('arm', { partition: 'p1', mode: 'away', code: typed, force: true });
  expect(await arms(codes[0])).toMatchObject({ error: { code: 'BAD_CODE' } });
  expect(await arms(codes[1])).toMatchObject({ outcome: 'done' });
  await stage.site.lan.ask('disarm', { partition: 'p1', code: codes[1] });
});

test('a session that has ended leads to the login, which says what is wrong', async () => {
  await page.context().clearCookies();
  await page.getByRole('link', { name: 'Devices' }).click();
  await page.getByLabel('Name to log in with').fill(owner.id);
  await page.getByLabel('Password').fill('not this one');
  await page.getByRole('button', { name: 'Log in' }).click();
  await expect.poll(() => page.getByRole('alert').textContent()).toBe('The name or the password is wrong.');
  await page.getByLabel('Password').fill(owner.password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Devices' }).waitFor();
});

test('nothing of it made the browser complain, and no script ran that is not the page', () => {
  expect(stage.complaints).toEqual([]);
});
