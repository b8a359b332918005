import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cameraPassword, camera as configured } from '../harness/site.ts';
import { type Stage, seriousFaults, startStage } from './stage.ts';

const sizes = [390, 1280] as const;
const apiKey = 'an-api-key-that-nobody-sees-again';

let stage: Stage;
let page: Page;
/** Of a camera of the configuration, and of one that is not in it. */
let [shop, yard] = ['', ''];
/** All that the bridge has answered to the page. */
const answers: Promise<string>[] = [];

beforeAll(async () => {
  stage = await startStage({
    yaml({ cameras }) {
      [shop = '', yard = ''] = [cameras.shop, cameras.yard];
      return `partitions: [ { id: p1, name: Shop } ] # one for the whole house
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Door, key: door, partition: p1 }
cameras: # as found in spring
${configured('shop', cameras.shop, 'name: Shop camera, zone: "2", partition: p1')}
`;
    },
  });
  page = await stage.open('#/setup');
  page.on('response', (answer) => {
    if (answer.url().includes('/api/v1/') && !answer.url().includes('/stream'))
      answers.push(answer.text().catch(() => ''));
  });
}, 120_000);
afterAll(() => stage?.close());

const text = () => readFileSync(stage.site.config, 'utf8');
const changes = () => page.getByRole('region', { name: 'Changes not saved' });
const press = (name: string, where: Page | Locator = page) => where.getByRole('button', { name, exact: true }).click();
const save = async (where = page) => {
  await press('Save', where);
  await where.getByText('Saved; the bridge runs on it.').waitFor();
};
const goTo = async (name: string, where = page) => {
  await where.getByRole('navigation').getByRole('link', { name }).click();
  await where.getByRole('heading', { level: 1, name }).waitFor();
};

test('a camera is found by its address, asked what it is, and added; then it is a device like any other', {
  timeout: 120_000,
}, async () => {
  const before = text();
  await page.getByLabel('Ask these directly, too').fill(`${new URL(shop).host}, ${new URL(yard).host}`);
  await press('Look for cameras');
  await page.getByText('2 devices answered.').waitFor();
  await page.getByText('is shop already').waitFor();
  await page.getByRole('button', { name: /^Approve / }).click();
  const form = page.locator('form', { has: page.getByRole('button', { name: 'Add to the changes' }) });
  await form.getByLabel('User of the camera').fill('siteward');
  await form.getByLabel('Password of that user').fill(cameraPassword);
  await goTo('Devices');
  await goTo('Setup');
  await form.getByText('Type it again: a password is not kept here.').waitFor();
  await expect.poll(() => form.getByLabel('User of the camera').inputValue()).toBe('siteward');
  await expect.poll(() => form.getByLabel('Password of that user').inputValue()).toBe('');
  await form.getByLabel('Password of that user').fill(cameraPassword);
  await press('Ask it what it is', form);
  await form.getByText('Siteward Simulated camera').waitFor();
  await form.getByLabel('Short name').fill('shop');
  await form.getByText('Another device has this short name.').waitFor();
  await form.getByLabel('Short name').fill('yard');
  await form.getByLabel('Name', { exact: true }).fill('Back yard');
  await form.getByLabel('Zone that it opens').fill('1');
  await form.getByText('Zone 1 is taken: Door').waitFor();
  await form.getByText('Free: 3, 4, 5, 6.').waitFor();
  await form.getByLabel('Zone that it opens').fill('3');
  for (const width of sizes) {
    await page.setViewportSize({ width, height: 844 });
    expect({ width, faults: await seriousFaults(page) }).toEqual({ width, faults: [] });
    expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false);
  }
  await press('Add to the changes');

  await goTo('Devices');
  await goTo('Setup');
  await changes().getByText('One change not saved').waitFor();
  const warned = `dispatchEvent(new Event('beforeunload', { cancelable: true })) === false`;
  expect(await page.evaluate(warned)).toBe(true);
  await press('Preview');
  await changes().getByText('The file would lose').waitFor();
  const lines = await changes().locator('.patch .in').allTextContents();
  expect(lines.join('\n')).toContain('yard');
  expect(lines.join('\n')).not.toContain(cameraPassword);
  expect(text()).toBe(before);
  expect(await seriousFaults(page)).toEqual([]);
  await save();
  expect(await page.evaluate(warned)).toBe(false);

  expect(text()).toContain('# as found in spring');
  expect(text()).not.toContain(cameraPassword);
  await goTo('Devices');
  await page.getByRole('heading', { name: 'Camera Back yard' }).waitFor();
  expect(await page.content()).not.toContain(cameraPassword);
});

test('a secret of the cloud goes in and never comes out', async () => {
  await goTo('Setup');
  await page.getByLabel('API key', { exact: true }).fill(apiKey);
  await page.getByText('typed, not saved yet').waitFor();
  await press('Preview');
  await changes().getByText('The file would lose').waitFor();
  await save();
  await page.getByRole('button', { name: 'Take the API key away' }).waitFor();
  await expect.poll(() => page.getByLabel('API key', { exact: true }).inputValue()).toBe('');
  await expect.poll(() => page.getByText('is set', { exact: false }).count()).toBeGreaterThanOrEqual(2);
  expect(await page.content()).not.toContain(apiKey);
  expect(
    await page.locator('input, textarea').evaluateAll((all) => all.map((one) => 'value' in one && one.value)),
  ).not.toContain(apiKey);
  expect(text()).toContain('api_key');
  expect(text()).not.toContain(apiKey);
  const told = await Promise.all(answers);
  expect(told.length).toBeGreaterThan(2);
  for (const secret of [apiKey, cameraPassword]) expect(told.filter((one) => one.includes(secret))).toEqual([]);
});

test('what would be wrong is told at its field, and nothing is written', async () => {
  const before = text();
  const zone = page.getByLabel('Time zone', { exact: true });
  await zone.fill('Europe/Nowhere');
  await press('Save');
  await changes().getByRole('alert').waitFor();
  await expect.poll(() => zone.getAttribute('aria-invalid')).toBe('true');
  const about = (await zone.getAttribute('aria-describedby')) ?? '';
  expect(about).toContain('field-site-timezone-fault');
  await expect.poll(() => page.locator('#field-site-timezone-fault').textContent()).not.toBe('');
  expect(await seriousFaults(page)).toEqual([]);
  expect(text()).toBe(before);
  await press('Discard all');
  await expect.poll(() => zone.inputValue()).toBe('Europe/Berlin');
});

test('two tabs do not overwrite each other: the later one is told, and keeps what it was to change', async () => {
  const other = await stage.open('#/setup');
  await other.getByLabel('Time zone', { exact: true }).fill('Europe/Vienna');
  await page.getByLabel('Name', { exact: true }).first().fill('Corner shop');
  await save();
  await press('Save', other);
  await other.getByText('Somebody else changed the configuration meanwhile.').waitFor();
  expect(text()).toContain('Europe/Berlin');
  await expect.poll(() => other.getByLabel('Name', { exact: true }).first().inputValue()).toBe('Corner shop');
  await expect.poll(() => other.getByLabel('Time zone', { exact: true }).inputValue()).toBe('Europe/Vienna');
  await save(other);
  expect(text()).toContain('Europe/Vienna');
  expect(text()).toContain('Corner shop');
  await other.context().close();
});

test('two people at the credentials: each writes what he typed alone', async () => {
  const [others, own] = [await stage.open('#/setup'), page];
  await goTo('Devices');
  await goTo('Setup');
  await others.locator('#field-events-key_id').fill('key-of-the-other');
  await own.locator('#field-events-client_id').fill('bridge-again');
  await own
    .locator('#field-events-private_key')
    .fill(readFileSync(`${stage.site.folder}/event-key.pem`, 'utf8').trim());
  await save(own);
  await press('Save', others);
  await others.getByText('Somebody else changed the configuration meanwhile.').waitFor();
  await expect.poll(() => others.locator('#field-events-client_id').inputValue()).toBe('bridge-again');
  await save(others);
  expect(text()).toContain('bridge-again');
  expect(text()).toContain('key-of-the-other');
  await others.context().close();
});

test('a save whose answer is lost counts as saved when the file is as it was wanted', async () => {
  await goTo('Devices');
  await goTo('Setup');
  await page.getByLabel('Name', { exact: true }).first().fill('Lost and found');
  await page.route('**/config/changes', async (route) => {
    await route.fetch();
    await route.abort('connectionreset');
  });
  await press('Save');
  await changes().getByText('Saved: the answer was lost, and the file is as you wanted it.').waitFor();
  await expect.poll(() => changes().getByRole('alert').count()).toBe(0);
  await expect.poll(() => changes().getByRole('button', { name: 'Save', exact: true }).count()).toBe(0);
  expect(text()).toContain('Lost and found');
  await page.unroute('**/config/changes');
});

test('what is typed while something is saved is told as not saved yet', async () => {
  const name = page.getByLabel('Name', { exact: true }).first();
  await name.fill('First');
  await page.route('**/config/changes', async (route) => {
    await name.fill('Second');
    await route.continue();
  });
  await press('Save');
  await changes()
    .getByText('Saved; the bridge runs on it. What was typed since is not saved yet: one change.')
    .waitFor();
  expect(text()).toContain('First');
  await page.unroute('**/config/changes');
  await save();
  expect(text()).toContain('Second');
});

test('a camera goes only when its short name was typed, and the change saved', async () => {
  await goTo('Devices');
  await goTo('Setup');
  const card = page.locator('section.card', { has: page.getByRole('heading', { name: 'Camera Back yard' }) });
  await card.getByText('Remove', { exact: true }).first().click();
  await card.getByLabel('Type yard to remove it').fill('yar');
  await expect.poll(() => card.getByRole('button', { name: 'Remove' }).isDisabled()).toBe(true);
  await card.getByLabel('Type yard to remove it').fill('yard');
  await press('Remove', card);
  await card.getByText('is removed when you save').waitFor();
  await save();
  await expect.poll(() => card.count()).toBe(0);
  expect(text()).not.toContain(yard);
});

test('the browser had nothing to complain of', () => {
  expect(stage.complaints).toEqual([]);
});
