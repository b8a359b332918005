import { expect, test } from 'vitest';
import { checkText } from '#config/index.ts';
import { secretSources } from '#lib/secret-ref.ts';
import { minimal } from './fixture.ts';

const warned = (cameras: string, nvrs = '') =>
  checkText('x.yaml', `${minimal}cameras: [ ${cameras} ]\nnvrs: [ ${nvrs} ]\n`, {
    sources: secretSources({ WORD: 'not-easy' }),
  });
const one = (id: string, url: string, user = 'siteward') =>
  `{ id: ${id}, url: "${url}", username: ${user}, password: { env: WORD } }`;
const host = 'http://192.0.2.10';

test.each([
  ['one address', one('w2', `${host}/onvif/device_service`)],
  ['another path', one('w2', `${host}:80/onvif/service`)],
  ['https', one('w2', 'https://192.0.2.10/onvif/device_service')],
])('two entries of one device and one user are warned of: %s', (_, second) => {
  const { problems, warnings } = warned(`${one('w1', `${host}/onvif/device_service`)}, ${second}`);
  expect(problems).toEqual([]);
  expect(warnings).toEqual([expect.stringContaining('w1 and w2 are one device (192.0.2.10:80) and one user')]);
});

test('so are a camera and a recorder', () => {
  const nvr = one('rec', `${host}/onvif/device_service`).replace(/ }$/, ', channels: [ { id: gate, position: 1 } ] }');
  expect(warned(one('w1', `${host}/onvif/device_service`), nvr).warnings).toEqual([
    expect.stringContaining('w1 and rec'),
  ]);
});

test.each([
  ['another port', one('w2', `${host}:8080/onvif/device_service`)],
  ['another user', one('w2', `${host}/onvif/device_service`, 'other')],
  ['no user', `{ id: w2, url: "${host}/onvif/device_service" }`],
])('not with %s', (_, second) => {
  expect(warned(`${one('w1', `${host}/onvif/device_service`)}, ${second}`)).toMatchObject({
    problems: [],
    warnings: [],
  });
});
