import { expect, test } from 'vitest';
import { checkText } from '#config/index.ts';
import { minimal } from './fixture.ts';

const told = (speakers: string, rules = '') =>
  checkText('x.yaml', `${minimal}speakers: [ ${speakers} ]\nrules: [ ${rules} ]\n`);
const two = '{ id: gate, driver: capture }, { id: hall, driver: capture, enabled: false }';
const fire = (play: string) => `{ id: fire, on: { kind: fire }, play: { message: alarm.siren, ${play} } }`;

test.each([
  ['no speaker that is used', fire('speakers: [hall]'), ['rule fire names only speakers that are not used']],
  ['one that is used', fire('speakers: [hall, gate]'), []],
  ['no volume', fire('volume: 0'), ['rule fire has volume: 0']],
  ['a volume', fire('volume: 1'), []],
])('a rule with %s', (_name, rule, warnings) => {
  expect(told(two, rule)).toMatchObject({
    problems: [],
    warnings: warnings.map((text) => expect.stringContaining(text)),
  });
});

test.each([
  ['push: { url: "http://192.0.2.30/a?password=easy-to-read" }', 'push.url'],
  ['push: { url: "http://192.0.2.30/a?x=1&Token=easy-to-read" }', 'push.url'],
  ['trigger: { url: "http://192.0.2.30/a" }, stop: { url: "http://192.0.2.30/b?pwd=easy-to-read" }', 'stop.url'],
])('a password in an address is warned of, and not told: %s', (calls, key) => {
  const { problems, warnings } = told(`{ id: horn, driver: http, ${calls} }`);
  expect(problems).toEqual([]);
  expect(warnings).toEqual([expect.stringContaining(`speaker horn: what looks like a password stands in ${key}`)]);
  expect(warnings.join()).not.toContain('easy-to-read');
});

test('an address without one is not', () => {
  expect(told('{ id: horn, driver: http, push: { url: "http://192.0.2.30/a?camera=1" } }').warnings).toEqual([]);
});
