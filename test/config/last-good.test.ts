import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { keepLastGood, loadConfig, loadLastGood } from '#config/index.ts';
import { secretSources } from '#lib/secret-ref.ts';
import { environment, folder, minimal, put } from './fixture.ts';

function site(extra = '') {
  const state = folder();
  const text = `${minimal}store: { dir: "${state}" }\n${extra}`;
  return { state, text, file: put(text) };
}

test('the last good copy is the text itself, private, and replaces the one before', async () => {
  const { state, file, text } = site();
  await keepLastGood(loadConfig(file, environment));
  writeFileSync(file, `${text}log: { level: debug }\n`);
  await keepLastGood(loadConfig(file, environment));
  writeFileSync(file, `${text}log: { level: loud }\n`);

  const good = loadLastGood(file, environment);
  expect(good?.lastGood).toBe(true);
  expect(good?.settings.log.level).toBe('debug');
  expect(readdirSync(state)).toEqual(['config.last-good.yaml']);
  expect(statSync(join(state, 'config.last-good.yaml')).mode & 0o777).toBe(0o600);
});

test.each([
  ['its YAML is broken', (text: string) => `${text}x: "open\n`],
  ['it is broken from the first line on', (text: string) => `site: "open\n${text.replaceAll('"', "'")}`],
])('it is found through the state directory a file names even when %s', async (_name, damage) => {
  const { file, text } = site();
  await keepLastGood(loadConfig(file, environment));
  writeFileSync(file, damage(text));
  expect(loadLastGood(file, environment)?.settings.site.external_id).toBe('hq');
});

test('of a file that is gone the state directory is known after it was moved', async () => {
  const [old, now] = [folder(), folder()];
  const variables = { STATE_DIRECTORY: old };
  const file = put(`${minimal}store: { dir: "${old}" }\n`);
  await keepLastGood(loadConfig(file, environment), variables);
  writeFileSync(file, `${minimal}store: { dir: "${now}" }\n`);
  await keepLastGood(loadConfig(file, environment), variables);
  rmSync(file);
  expect(loadLastGood(file, { ...environment, sources: secretSources(variables) })?.settings.store.dir).toBe(now);
});

test('it is found in the state directory of systemd when the file is gone', async () => {
  const { file, state } = site();
  await keepLastGood(loadConfig(file, environment));
  rmSync(file);
  expect(loadLastGood(file, { sources: secretSources({ STATE_DIRECTORY: state }) })?.settings.site.id).toBe('4711');
});

test('a copy of another configuration file is not taken', async () => {
  const { file } = site();
  await keepLastGood(loadConfig(file, environment));
  const other = join(dirname(file), 'other.yaml');
  renameSync(file, other);
  expect(loadLastGood(other, environment)).toBeUndefined();
});

test('a copy that is not good any more is not taken', async () => {
  const { file, state, text } = site();
  await keepLastGood(loadConfig(file, environment));
  writeFileSync(join(state, 'config.last-good.yaml'), `# siteward: last good copy of ${file}\n${text}nonsense: 1\n`);
  expect(loadLastGood(file, environment)).toBeUndefined();
});

test('a secret that is lost does not stop a start on the copy', async () => {
  const { file } = site('users: [ { id: a, name: A, code: { env: CODE_A } } ]\n');
  await keepLastGood(loadConfig(file, environment));
  const good = loadLastGood(file, { sources: secretSources({}) });
  expect(good?.warnings.join()).toContain('users[0].code');
});

test('a start on the copy does not copy the copy', async () => {
  const { file, state } = site();
  await keepLastGood(loadConfig(file, environment));
  const good = loadLastGood(file, environment);
  const before = statSync(join(state, 'config.last-good.yaml')).ino;
  if (good === undefined) expect.unreachable();
  await keepLastGood(good);
  expect(statSync(join(state, 'config.last-good.yaml')).ino).toBe(before);
});

test('a copy that cannot be put in place leaves nothing behind', async () => {
  const { file, state } = site();
  mkdirSync(join(state, 'config.last-good.yaml', 'in-the-way'), { recursive: true });
  await expect(keepLastGood(loadConfig(file, environment))).rejects.toMatchObject({
    code: 'state_dir_unusable',
  });
  expect(readdirSync(state)).toEqual(['config.last-good.yaml']);
});
