import { expect, test } from 'vitest';
import { configOf } from '#config/index.ts';
import { guardProblems } from '../../src/daemon/config-guard.ts';

const base = `site: { id: "4711", external_id: hq, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: Offices } ]
store: { dir: /var/lib/siteward }
cameras:
  - { id: yard, url: "https://192.0.2.10/onvif", username: u, password: { file: /s/yard } } # yard
  - { id: gate, url: "http://192.0.2.20:8081/onvif", username: u, password: { file: /s/gate } } # gate
nvrs:
  - id: rec
    url: https://192.0.2.30/onvif
    username: u
    password: { file: /s/rec }
    channels:
      - { id: hall, position: 1 } # hall
speakers:
  - { id: old, driver: http, camera: gate, auth: basic, push: { url: "http://192.0.2.20:9000/a" } } # old
`;
/** Members added to the entry whose line ends with the comment. */
const more = (entry: string, members: string) => base.replace(` } # ${entry}\n`, `, ${members} } # ${entry}\n`);
const speaker = (members: string) => `${base}  - { id: new, ${members} }\n`;
const fields = (after: string, ...given: string[]) =>
  guardProblems(configOf(base), configOf(after), new Set(given)).map(({ path }) => path.join('.'));

test.each([
  ['pictures in clear', more('yard', 'snapshot_url: "http://192.0.2.10:443/x"'), 'cameras.0.password', '/s/yard'],
  ['a stream in clear', more('yard', 'stream_url: "rtsp://192.0.2.10:443/x"'), 'cameras.0.password', '/s/yard'],
  ['a channel in clear', more('hall', 'stream_url: "rtsp://192.0.2.30:443/x"'), 'nvrs.0.password', '/s/rec'],
  ['another port', base.replace('.20:8081', '.20:8082'), 'cameras.1.password', '/s/gate'],
  ['the port that goes without saying', base.replace('.20:8081', '.20'), 'cameras.1.password', '/s/gate'],
])('a password goes nowhere else, and not in clear, without being given anew: %s', (_, after, field, file) => {
  expect(fields(after)).toEqual([field]);
  const anew = after.replace(file, '/s/anew');
  expect(fields(anew, '/s/anew')).toEqual([]);
});

test.each([
  ['another host', 'driver: onvif, camera: yard, url: "rtsps://192.0.2.66:443/1"', '/s/yard'],
  ['another port', 'driver: onvif, camera: yard, url: "rtsps://192.0.2.10:8443/1"', '/s/yard'],
  ['in clear', 'driver: onvif, camera: yard, url: "rtsp://192.0.2.10:443/1"', '/s/yard'],
  ['a channel', 'driver: onvif, camera: hall, url: "rtsp://192.0.2.30:443/1"', '/s/rec'],
  ['basic', 'driver: http, camera: gate, auth: basic, push: { url: "http://192.0.2.20:8081/a" }', '/s/gate'],
])('a speaker of a camera has its password sent where and how the camera has: %s', (_, members, file) => {
  const after = speaker(members);
  const found = guardProblems(configOf(base), configOf(after), new Set());
  expect(found).toEqual([
    { path: ['speakers', 1, 'camera'], message: expect.stringMatching(/on the box alone.*anew/) },
  ]);
  expect(fields(after.replace(file, '/s/anew'), '/s/anew')).toEqual([]);
});

test('what a speaker may do already stays; with another camera it is judged again', () => {
  expect(fields(base.replace('id: old', 'id: old, name: Gate'))).toEqual([]);
  expect(fields(speaker('driver: onvif, camera: yard'))).toEqual([]);
  expect(fields(speaker('driver: http, camera: gate, push: { url: "http://192.0.2.20:8081/a" }'))).toEqual([]);
  expect(fields(base.replace('camera: gate', 'camera: yard'))).toEqual(['speakers.0.camera']);
  expect(fields(base.replace('9000/a', '9000/b'))).toEqual([]);
  expect(fields(base.replace('9000/a', '9001/a'))).toEqual(['speakers.0.camera']);
});
