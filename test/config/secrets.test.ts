import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { checkConfig, formatProblem, loadConfig } from '#config/index.ts';
import { redactor, Secret } from '#lib/secret.ts';
import { secretSources } from '#lib/secret-ref.ts';
import { codes, environment, minimal, put } from './fixture.ts';

const camera = 'cameras: [ { id: yard, url: "http://192.0.2.1/", username: u, password: { env: CAM } } ]\n';
const user = (id: string, rest: string) => `  - { id: ${id}, name: X, ${rest} }\n`;

test('secrets come resolved, and show themselves in no JSON, inspection or text', () => {
  const { settings } = loadConfig(put(`${minimal}${camera}`), environment);
  const password = settings.cameras[0]?.password;
  expect(password).toBeInstanceOf(Secret);
  expect(password?.reveal()).toBe(codes.CAM);
  for (const shown of [JSON.stringify(settings), inspect(settings, { depth: 9 }), String(password)]) {
    expect(shown).not.toContain('hunter2');
  }
});

test('settings are frozen all the way down', () => {
  const { settings } = loadConfig(put(`${minimal}${camera}`), environment);
  expect(() => Object.assign(settings.site, { id: 'x' })).toThrow(TypeError);
  expect(() => settings.cameras.pop()).toThrow(TypeError);
  expect(() => Object.assign(settings.cameras[0] ?? {}, { id: 'x' })).toThrow(TypeError);
});

test('the redactor learns passwords, but no keypad code: blanking 1883 everywhere would tell it', () => {
  const known = redactor();
  const users = `users:\n${user('a', 'code: { env: CODE_A }')}`;
  loadConfig(put(`${minimal}${camera}${users}`), { ...environment, redactor: known });
  expect(known.redact(`${codes.CAM} 1234`)).toBe('[secret] 1234');
});

test('a secret that cannot be read is an error at its reference', () => {
  const file = put(`${minimal}${camera}`);
  const { problems } = checkConfig(file, { sources: secretSources({}) });
  expect(problems.map(formatProblem)).toEqual([
    `${file}:4:73 cameras[0].password: the secret of env CAM cannot be read: the variable is not set`,
  ]);
});

test('where degrading is allowed it is a warning, and the place holds a secret that matches nothing', () => {
  const file = put(`${minimal}users:\n${user('a', 'code: { env: GONE }')}`);
  const { settings, warnings } = loadConfig(file, { sources: secretSources({}), unreadableSecrets: 'degrade' });
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain('users[0].code: the secret of env GONE cannot be read');
  expect(settings.users[0]?.code.reveal()).toMatch(/^[0-9a-f]{64}$/);
});

test.each([
  [
    'the same code for two users',
    `${user('a', 'code: { env: CODE_A }')}${user('b', 'code: { env: CODE_A }')}`,
    'users[1].code: another code is the same',
  ],
  [
    'a duress code like another code',
    user('a', 'code: { env: CODE_A }, duress_code: { env: CODE_A }'),
    'users[0].duress_code: another code is the same',
  ],
  [
    'a code that is not made of digits',
    user('a', 'code: { env: CAM }'),
    'users[0].code: is no code, expected 4 to 12 digits',
  ],
])('%s is refused without showing it', (_name, users, expected) => {
  const { problems } = checkConfig(put(`${minimal}users:\n${users}`), environment);
  const shown = problems.map(formatProblem).join('\n');
  expect(shown).toContain(expected);
  expect(shown).not.toMatch(/1234|hunter2/);
});
