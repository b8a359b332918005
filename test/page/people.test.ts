import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { code } from '../harness/site.ts';
import { type Stage, seriousFaults, startStage } from './stage.ts';

const installer = { id: 'ines', password: 'seven boats at the pier' };
const given = 'a first one for the owner';
const own = 'three owls in the old barn';
const another = 'four owls in the new barn';

let stage: Stage;
let page: Page;
beforeAll(async () => {
  stage = await startStage({ claimed: false });
  page = await stage.tab(await stage.visit({ login: false }));
}, 180_000);
afterAll(() => stage?.close());

const section = (title: string) => page.locator('section.card', { has: page.getByRole('heading', { name: title }) });

async function login(id: string, password: string): Promise<void> {
  // The forms of a session that ends have fields of the same names.
  await page.getByRole('button', { name: 'Log in' }).waitFor();
  await page.getByLabel('Name to log in with').fill(id);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
}

/** Later tests go on where earlier ones stop. */
test('an installer who has claimed the bridge is told what comes next, and walks its zones with the code of a person', async () => {
  await page.goto(stage.address);
  await page.getByLabel('Claim code').fill(await stage.claimCode());
  await page.getByLabel('Name to log in with').fill(installer.id);
  await page.getByLabel('Your name').fill('Ines');
  await page.getByLabel('Password').fill(installer.password);
  await page.getByLabel(/the installer/).check();
  await page.getByRole('button', { name: 'Claim' }).click();
  await page.getByRole('heading', { name: 'Not handed over yet' }).waitFor();

  await page.getByRole('link', { name: 'Walk test', exact: true }).click();
  await page.getByRole('button', { name: 'Begin the walk test' }).click();
  await page.getByText('This takes a code.').waitFor();
  await page.getByLabel('Code').fill(code);
  await page.getByRole('button', { name: 'Begin the walk test' }).click();
  await page.getByText('It has begun.').waitFor();
  await page.getByRole('button', { name: 'End the walk test' }).click();
  await page.getByText('It has ended; burglar alarms are signalled again.').waitFor();
});

test('the account of the owner is added with a first password, and may only set another or leave', async () => {
  await page.getByRole('navigation').getByRole('link', { name: 'Users' }).click();
  await expect.poll(() => page.getByRole('heading', { name: 'Add a user' }).count()).toBe(0);
  const add = section('Add an account');
  await add.getByLabel('Name to log in with').fill('olga');
  await add.getByLabel('Name of the person').fill('Olga');
  await add.getByLabel('First password').fill(given);
  await add.getByRole('button', { name: 'Add an account' }).click();
  await page.getByText('Olga can log in now').waitFor();
  await section('Olga').getByText('first password not changed yet').waitFor();
  expect(await seriousFaults(page)).toEqual([]);

  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  await login('olga', given);
  await page.getByRole('button', { name: 'Log out' }).click();
  await login('olga', given);
  await page.getByLabel('Password of now').fill(given);
  await page.getByLabel('New password').fill(own);
  await page.getByRole('button', { name: 'Set it' }).click();
  await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
});

test('an owner lets the installer in for a time, and not any longer', async () => {
  const ines = section('Ines');
  await ines.getByText('not let in now').waitFor();
  await ines.getByLabel('For').selectOption('7');
  await ines.getByRole('button', { name: 'Let in for this time' }).click();
  await ines.locator('.badge', { hasText: / valid$/ }).waitFor();
  await ines.getByRole('button', { name: 'Let in no longer' }).click();
  await ines.getByText('not let in now').waitFor();
  await ines.getByText('Remove').first().click();
  await ines.getByLabel(/Type ines/).fill('ines');
  await ines.getByRole('button', { name: 'Remove' }).click();
  await ines.waitFor({ state: 'detached' });
});

test('everybody sets another password and logs out everywhere', async () => {
  const elsewhere = await stage.tab(await stage.visit({ login: false }));
  await page.getByText('Your account').click();
  await page.getByLabel('Password of now').fill(own);
  await page.getByLabel('New password').fill(another);
  await page.getByRole('button', { name: 'Set it' }).click();
  await page.getByText('Your new password counts from now on.').waitFor();
  expect(await seriousFaults(page)).toEqual([]);

  await elsewhere.goto(stage.address);
  await elsewhere.getByLabel('Name to log in with').fill('olga');
  await elsewhere.getByLabel('Password').fill(another);
  await elsewhere.getByRole('button', { name: 'Log in' }).click();
  await elsewhere.getByRole('heading', { level: 1, name: 'Now' }).waitFor();
  await page.getByRole('button', { name: 'Log out everywhere' }).click();
  await page.getByLabel('Name to log in with').waitFor();
  await elsewhere.getByText('Your session has ended').waitFor();
});

test('an address of no screen says so, and leads to the first', async () => {
  await login('olga', another);
  await page.goto(`${stage.address}/#/nothing`);
  await page.getByRole('heading', { name: 'There is no such screen' }).waitFor();
  await page.getByRole('link', { name: 'Go to Now' }).click();
  await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor();
  expect(stage.complaints).toEqual([]);
});
