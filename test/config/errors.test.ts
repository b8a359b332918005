import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigError, checkConfig, formatProblem, loadConfig } from '#config/index.ts';
import { isCode } from '#errors.ts';
import { environment, folder, minimal, problems, put } from './fixture.ts';

const site = 'site: { id: "4711", external_id: hq, timezone: Europe/Berlin }\n';
const bridge = 'bridge: { external_id: sw-1 }\n';
const p1 = 'partitions: [ { id: p1, name: A } ]\n';
const yard =
  'cameras: [ { id: yard, url: "http://192.0.2.10/onvif/device_service", username: siteward, password: { env: CAM } } ]\n';

const gate = 'speakers: [ { id: gate, driver: capture } ]\n';

describe('one mistake is reported at its line and column, with what was expected', () => {
  test.each<[string, string, string]>([
    ['an unknown key', `${minimal}camras: []\n`, '4:1 camras: unknown key, expected one of site, bridge,'],
    [
      'the nearest key',
      `${minimal}log: { levle: info }\n`,
      '4:8 log.levle: unknown key, expected one of level; did you mean "level"?',
    ],
    [
      'a missing key',
      `site: { id: "1", timezone: UTC }\n${bridge}${p1}`,
      '1:7 site.external_id: is missing, expected text',
    ],
    [
      'an entry delay and an abort window that are too long together',
      `${site}${bridge}partitions: [ { id: p1, name: A, entry_delay: 40s, abort_delay: 30s } ]`,
      '3:65 partitions[0].abort_delay: is longer than 60s together with entry_delay; make one of them shorter',
    ],
    [
      'an abort window that is too short to be one',
      `${site}${bridge}partitions: [ { id: p1, name: A, abort_delay: 5s } ]`,
      '3:47 partitions[0].abort_delay: must be 0s for none, or 15s to 45s',
    ],
    [
      'life safety in a pair of zones that wait for each other',
      `${minimal}panels: [ { id: m, profile: pai, zones: { "1": { type: fire }, "2": { type: perimeter } } } ]\ncross_zones: [ { zones: ["1", "2"] } ]\n`,
      '5:26 cross_zones[0].zones[0]: is of type fire, which never waits for a second zone, expected a zone of type perimeter',
    ],
    [
      'supervision of a cloud that is not there',
      `${minimal}supervision: { cloud: { heartbeat: 30s } }\n`,
      '4:16 supervision.cloud: has no effect here, expected a section cloud, or leave this out',
    ],
    [
      'supervision of cameras that are not there',
      `${minimal}supervision: { cameras: { report_after: 0s } }\n`,
      '4:16 supervision.cameras: has no effect here, expected an entry of cameras, nvrs or speakers, or leave this out',
    ],
    [
      'a quiet time that is none',
      `${minimal}supervision: { unstable: { quiet: 1s } }\n`,
      'supervision.unstable.quiet: must be between 1m and 24h',
    ],
    [
      'a key switch that is to speak now and then',
      `${minimal}panels: [ { id: m, profile: pai, zones: { "1": { type: key_switch_momentary, supervised: 4h } } } ]\n`,
      '4:78 panels[0].zones.1.supervised: a key switch is silent by nature; it cannot be supervised',
    ],
    [
      'a pair of one zone',
      `${minimal}panels: [ { id: m, profile: pai, zones: { "2": { type: perimeter } } } ]\ncross_zones: [ { zones: ["2", "2"] } ]\n`,
      '5:31 cross_zones[0].zones[1]: is the same zone, expected two zones',
    ],
    [
      'a pair with a zone that is none',
      `${minimal}panels: [ { id: m, profile: pai, zones: { "2": { type: perimeter } } } ]\ncross_zones: [ { zones: ["2", "3"] } ]\n`,
      '5:31 cross_zones[0].zones[1]: there is no such zone, expected one of 2',
    ],
    [
      'a pair over two partitions',
      `${site}${bridge}partitions: [ { id: p1, name: A }, { id: p2, name: B } ]\npanels: [ { id: m, profile: pai, zones: { "1": { type: perimeter, partition: p1 }, "2": { type: perimeter, partition: p2 } } } ]\ncross_zones: [ { zones: ["1", "2"] } ]\n`,
      'cross_zones[0].zones: no partition holds both zones, expected two zones of one partition',
    ],
    [
      'a rule of the engine for a partition that a panel decides',
      `${site}${bridge}partitions: [ { id: p1, name: A, auto_stay: true } ]\npanels: [ { id: m, profile: pai, partitions: { p1: "1" } } ]\n`,
      'partitions[0].auto_stay: has no effect: a panel decides this partition, expected the rule in the panel itself',
    ],
    ['a missing section', `${site}${p1}`, '1:1 bridge: is missing, expected keys with values'],
    ['an empty section', `${minimal}mqtt:\n`, '4:6 mqtt: is empty, expected keys with values'],
    [
      'a number where text belongs',
      `site: { id: 4711, external_id: hq, timezone: UTC }\n${bridge}${p1}`,
      '1:13 site.id: is a number, expected text; write it in quotes',
    ],
    [
      'a duration without a unit',
      `${site}${bridge}partitions: [ { id: p1, name: A, entry_delay: 30 } ]`,
      '3:47 partitions[0].entry_delay: is a number, expected text with a unit, such as 30s',
    ],
    [
      'a size without a unit',
      `${minimal}store: { budget: 500 }`,
      '4:18 store.budget: is a number, expected text with a unit, such as 500MB',
    ],
    [
      'a duration out of range',
      `${site}${bridge}partitions: [ { id: p1, name: A, exit_delay: 256s } ]`,
      '3:46 partitions[0].exit_delay: must be between 0s and 255s',
    ],
    [
      'a word out of a list',
      `${minimal}log: { level: inof }`,
      '4:15 log.level: is none of the possible values, expected one of error, warn, info, debug, trace; did you mean "info"?',
    ],
    [
      'a map where a list belongs',
      `${minimal}cameras: { id: yard }`,
      '4:10 cameras: is a group of keys, expected a list',
    ],
    [
      'no partition at all',
      `${site}${bridge}partitions: []`,
      '3:13 partitions: is too small, expected at least 1 entries',
    ],
    [
      'a time zone with a slip',
      `site: { id: "1", external_id: hq, timezone: Europe/Berln }\n${bridge}${p1}`,
      '1:45 site.timezone: is not a time zone, expected an IANA name such as Europe/Berlin; did you mean "Europe/Berlin"?',
    ],
    [
      'a fixed offset as time zone',
      `site: { id: "1", external_id: hq, timezone: "+01:00" }\n${bridge}${p1}`,
      '1:45 site.timezone: is not a time zone',
    ],
    [
      'a partition id of another form',
      `${site}${bridge}partitions: [ { id: office, name: A } ]`,
      '3:21 partitions[0].id: must be p1, p2, ... p999',
    ],
    [
      'a rule of an event kind with a slip',
      `${minimal}${gate}rules: [ { id: a, on: { kind: fier }, play: { message: alarm.siren } } ]`,
      'rules[0].on.kind: is none of the possible values',
    ],
    [
      'a rule of a silent hold-up (safety 4)',
      `${minimal}${gate}rules: [ { id: a, on: { kind: panic_silent }, play: { message: alarm.siren } } ]`,
      '5:31 rules[0].on.kind: is none of the possible values',
    ],
    [
      'a rule that says neither when',
      `${minimal}${gate}rules: [ { id: a, play: { message: alarm.siren } } ]`,
      '5:10 rules[0]: must have exactly one of on, at',
    ],
    [
      'a rule with both',
      `${minimal}${gate}rules: [ { id: a, on: { kind: fire }, at: "08:00", play: { message: alarm.siren } } ]`,
      '5:10 rules[0]: must have exactly one of on, at',
    ],
    [
      'a rule of any event',
      `${minimal}${gate}rules: [ { id: a, on: { zones: ["1"] }, play: { message: alarm.siren } } ]`,
      'rules[0].on: must have kind, kinds or class',
    ],
    [
      'a rule by the clock without days',
      `${minimal}${gate}rules: [ { id: a, at: "08:00", play: { message: alarm.siren } } ]`,
      'rules[0].days: is missing',
    ],
    [
      'a rule by the clock with what it does not take',
      `${minimal}${gate}rules: [ { id: a, at: "08:00", days: [daily], cool_down: 5s, play: { message: alarm.siren } } ]`,
      'rules[0].cool_down: has no place beside at; leave it out',
    ],
    [
      'a test of the speakers on a day that not every month has',
      `${minimal}audio: { self_test: { day: 31 } }`,
      '4:28 audio.self_test.day: is too large, expected at most 26',
    ],
    [
      'a speaker without what its driver needs',
      `${minimal}speakers: [ { id: gate, driver: alsa } ]`,
      '4:13 speakers[0].device: driver alsa needs it',
    ],
    [
      'a speaker with what its driver does not take',
      `${minimal}speakers: [ { id: gate, driver: "null", sink: hall } ]`,
      '4:47 speakers[0].sink: driver null does not take it; leave it out',
    ],
    [
      'two speakers of one id',
      `${minimal}speakers: [ { id: gate, driver: capture }, { id: gate, driver: capture } ]`,
      '4:50 speakers[1].id: another entry of speakers has this id',
    ],
    [
      'a speaker in a partition that is none',
      `${minimal}speakers: [ { id: gate, driver: capture, partitions: [p7] } ]`,
      '4:55 speakers[0].partitions[0]: there is no such partition',
    ],
    [
      'a speaker in a zone that is none',
      `${minimal}speakers: [ { id: gate, driver: capture, zone: "7" } ]`,
      '4:48 speakers[0].zone: there is no such zone',
    ],
    [
      'a speaker of a camera that is none',
      `${minimal}speakers: [ { id: gate, driver: onvif, camera: yard } ]`,
      '4:48 speakers[0].camera: there is no such camera',
    ],
    [
      'a speaker of onvif that is nowhere',
      `${minimal}speakers: [ { id: gate, driver: onvif } ]`,
      '4:13 speakers[0].camera: driver onvif needs it, or a url for a device that is no camera here',
    ],
    [
      'a speaker with the account of a camera and one of its own',
      `${minimal}${yard}speakers: [ { id: gate, driver: onvif, camera: yard, username: u, password: { env: CAM } } ]`,
      '5:64 speakers[0].username: is that of the camera; leave it out, or the camera',
    ],
    [
      'a speaker that would be sent the password of a camera, elsewhere',
      `${minimal}${yard}speakers: [ { id: gate, driver: onvif, camera: yard, url: "rtsp://192.0.2.66/a" } ]`,
      '5:59 speakers[0].url: is another device than 192.0.2.10, expected the host of the camera',
    ],
    [
      'a stop that goes elsewhere',
      `${minimal}speakers: [ { id: gate, driver: http, push: { url: "http://192.0.2.1/a" }, stop: { url: "http://192.0.2.2/b" } } ]`,
      '4:89 speakers[0].stop.url: is another device than 192.0.2.1, expected the host of the other addresses',
    ],
    [
      'a second account of tries for one user of a camera',
      `${minimal}${yard}speakers: [ { id: gate, driver: onvif, url: "rtsp://192.0.2.10/a", username: siteward, password: { env: CAM } } ]`,
      '5:78 speakers[0].username: is the account of a camera at this address; wrong tries would count twice, expected camera with its id',
    ],
    [
      'two passwords of one user of one device',
      `${minimal}speakers: [ { id: a, driver: onvif, url: "rtsp://192.0.2.9/a", username: u, password: { env: CAM } }, { id: b, driver: onvif, url: "rtsp://192.0.2.9/b", username: u, password: { env: CODE_A } } ]`,
      'speakers[1].password: another speaker of this device and user has another password, expected the same',
    ],
    [
      'a password in the address of a speaker',
      `${minimal}speakers: [ { id: gate, driver: onvif, url: "rtsp://u:hunter2@192.0.2.9/a" } ]`,
      '4:45 speakers[0].url: must not hold a user name or password; use username and password',
    ],
    [
      'a password of nobody',
      `${minimal}speakers: [ { id: gate, driver: http, push: { url: "http://192.0.2.1/a" }, password: { env: CAM } } ]`,
      'speakers[0].username: is needed with a password',
    ],
    [
      'a speaker that nothing could silence',
      `${minimal}speakers: [ { id: gate, driver: http, trigger: { url: "http://192.0.2.1/play/{message}" } } ]`,
      '4:13 speakers[0].stop: a trigger needs it: what siteward cannot silence must not be made to sound',
    ],
    [
      'a speaker by http that is told nothing',
      `${minimal}speakers: [ { id: gate, driver: http } ]`,
      '4:13 speakers[0].push: or trigger is needed, and only one of them',
    ],
    [
      'a proof of no password',
      `${minimal}speakers: [ { id: gate, driver: http, push: { url: "http://192.0.2.1/a" }, auth: digest } ]`,
      'speakers[0].auth: needs username and password, or a camera',
    ],
    [
      'quiet hours of no length',
      `${minimal}speakers: [ { id: gate, driver: capture, quiet_hours: [ { from: "22:00", to: "22:00" } ] } ]`,
      '4:78 speakers[0].quiet_hours[0].to: must be another time than from',
    ],
    [
      'an alarm that sounds for too long',
      `${minimal}audio: { longest_alarm: 31m }`,
      '4:25 audio.longest_alarm: must be between 10s and 30m',
    ],
    [
      'an address of the LAN API without a port',
      `${minimal}http: { listen: 0.0.0.0 }`,
      '4:17 http.listen: must be ADDRESS:PORT, such as 0.0.0.0:8443',
    ],
    [
      'an address of the LAN API with a port that is none',
      `${minimal}http: { listen: "[::]:70000" }`,
      '4:17 http.listen: must be ADDRESS:PORT with a port of at most 65535',
    ],
    [
      'the same of the broker of siteward',
      `${minimal}mqtt: { listen: 127.0.0.1:70000 }`,
      '4:17 mqtt.listen: must be ADDRESS:PORT with a port of at most 65535',
    ],
    [
      'the same of the receiver for panels',
      `${minimal}dc09: { listen: 0.0.0.0:70000 }\npanels: [ { id: hall, profile: sia-dc09, dc09: { account: "1234" } } ]`,
      '4:17 dc09.listen: must be ADDRESS:PORT with a port of at most 65535',
    ],
    [
      'a name of the bridge that is none',
      `${minimal}http: { names: [ "https://gate" ] }`,
      '4:18 http.names[0]: must be a host name or an IP address',
    ],
    [
      'a certificate without its key',
      `${minimal}http: { certificate: { cert: /etc/siteward/tls/gate.crt } }`,
      '4:22 http.certificate.key: is missing',
    ],
    [
      'a secret that stands in the file',
      `${minimal}users: [ { id: a, name: A, code: "1234" } ]`,
      '4:34 users[0].code: must say where the secret lies, not the secret itself',
    ],
    [
      'two places for one secret',
      `${minimal}users:\n  - { id: a, name: A, code: { env: A, file: /b } }`,
      '5:29 users[0].code: must say where the secret lies',
    ],
    [
      'a cloud address without TLS',
      `${minimal}cloud: { base_url: "http://198.51.100.7", auth_url: "http://localhost:1", events: { client_id: a, private_key: { env: CAM } } }`,
      '4:20 cloud.base_url: must start with https://',
    ],
    ['the wrong type of broker', `${minimal}mqtt: { broker: 5 }`, '4:17 mqtt.broker: '],
    [
      'a bad key of a record',
      `${minimal}panels: [ { id: m, profile: pai, partitions: { px: "1" } } ]`,
      '4:48 panels[0].partitions.px: must be p1, p2, ... p999',
    ],
  ])('%s', (_name, text, expected) => {
    expect(problems(text)[0]).toContain(expected);
  });
});

describe('rules over several sections', () => {
  const panel = (id: string, rest: string) => `  - { id: ${id}, profile: pai, ${rest} }\n`;
  const fire = 'on: { kind: fire }';
  const siren = 'play: { message: alarm.siren }';
  const camera = (id: string, rest: string) => `  - { id: ${id}, url: "http://192.0.2.1/", ${rest} }\n`;
  test.each<[string, string, string]>([
    [
      'one id twice',
      `${site}${bridge}partitions:\n  - { id: p1, name: A }\n  - { id: p1, name: B }\n`,
      '5:11 partitions[1].id: another entry of partitions has this id',
    ],
    [
      'one id of the service twice',
      `${site}${bridge}partitions:\n  - { id: p1, name: A, cloud_id: "9-1" }\n  - { id: p2, name: B, cloud_id: "9-1" }\n`,
      'partitions[1].cloud_id: another entry has this id of the service',
    ],
    [
      'a zone number of two panels',
      `${minimal}panels:\n${panel('a', 'zones: { "1": { type: fire } }')}${panel('b', 'zones: { "1": { type: fire } }')}`,
      '6:37 panels[1].zones.1: this zone number is used twice',
    ],
    [
      'a zone number of a panel and a camera',
      `${minimal}panels:\n${panel('a', 'zones: { "01": { type: fire } }')}cameras:\n${camera('c', 'zone: "01"')}`,
      'cameras[0].zone: this zone number is used twice',
    ],
    [
      'an unknown partition of a panel',
      `${minimal}panels:\n${panel('a', 'partitions: { p2: "1" }')}`,
      'panels[0].partitions.p2: there is no such partition, expected one of p1; did you mean "p1"?',
    ],
    [
      'an unknown partition of a zone',
      `${minimal}panels:\n${panel('a', 'zones: { "1": { type: fire, partition: p7 } }')}`,
      'panels[0].zones.1.partition: there is no such partition',
    ],
    [
      'an unknown partition of a camera',
      `${minimal}cameras:\n${camera('c', 'zone: "1", partition: p7')}`,
      'cameras[0].partition: there is no such partition',
    ],
    [
      'an unknown camera of a zone',
      `${minimal}panels:\n${panel('a', 'zones: { "1": { type: fire, cameras: [yrad] } }')}cameras:\n${camera('yard', 'zone: "2"')}`,
      'panels[0].zones.1.cameras[0]: there is no such camera, expected one of yard; did you mean "yard"?',
    ],
    [
      'a partition claimed by two panels',
      `${minimal}panels:\n${panel('a', 'partitions: { p1: "1" }')}${panel('b', 'partitions: { p1: "2" }')}`,
      '6:42 panels[1].partitions.p1: another panel owns this partition',
    ],
    [
      'a zone of no partition where there are two',
      `${site}${bridge}partitions: [ { id: p1, name: A }, { id: p2, name: B } ]\npanels:\n${panel('a', 'zones: { "1": { type: fire } }')}`,
      'panels[0].zones.1.partition: is missing',
    ],
    [
      'two rules of one id',
      `${minimal}${gate}rules: [ { id: a, ${fire}, ${siren} }, { id: a, ${fire}, ${siren} } ]`,
      'rules[1].id: another entry of rules has this id',
    ],
    [
      'a zone, partition and speaker of a rule that are none',
      `${minimal}${gate}rules: [ { id: a, on: { kind: fire, zones: ["9"] }, ${siren} } ]`,
      'rules[0].on.zones[0]: there is no such zone',
    ],
    [
      'a partition of a rule that is none',
      `${minimal}${gate}rules: [ { id: a, on: { kind: fire, partitions: [p7] }, ${siren} } ]`,
      'rules[0].on.partitions[0]: there is no such partition, expected one of p1; did you mean "p1"?',
    ],
    [
      'a speaker of a rule that is none',
      `${minimal}${gate}rules: [ { id: a, ${fire}, play: { message: alarm.siren, speakers: [gaet] } } ]`,
      'rules[0].play.speakers[0]: there is no such speaker, expected one of gate; did you mean "gate"?',
    ],
    [
      'a rule that makes life safety depend on arming (safety 1)',
      `${minimal}${gate}rules: [ { id: a, on: { kinds: [burglary, fire], armed: [away] }, ${siren} } ]`,
      'rules[0].on.armed: is not for life safety, which no arming ends',
    ],
    [
      'a rule of all alarms that depends on arming (safety 1)',
      `${minimal}${gate}rules: [ { id: a, on: { class: alarm, armed: [away] }, ${siren} } ]`,
      'rules[0].on.armed: is not for life safety, which no arming ends',
    ],
    [
      'a rule of a zone that is a silent hold-up (safety 4)',
      `${minimal}${gate}panels:\n${panel('a', 'zones: { "1": { type: panic_silent } }')}rules: [ { id: a, on: { class: alarm, zones: ["1"] }, ${siren} } ]`,
      'rules[0].on.zones[0]: is a silent hold-up, which never makes a sound',
    ],
    [
      'a rule for holidays where there are none',
      `${minimal}${gate}rules: [ { id: a, at: "08:00", days: [daily], holidays: only, ${siren} } ]`,
      'rules[0].holidays: never runs: there are no holidays',
    ],
    [
      'a rule where nothing can play',
      `${minimal}rules: [ { id: a, ${fire}, ${siren} } ]`,
      'rules: has no effect: there are no speakers',
    ],
  ])('%s', (_name, text, expected) => {
    expect(problems(text).join('\n')).toContain(expected);
  });

  test('a rule by the clock is what holidays may be for', () => {
    const christmas = 'holidays: [ { name: Christmas, from: 2026-12-24 } ]\n';
    expect(problems(`${minimal}${christmas}`).join()).toContain('holidays: has no effect');
    const byClock = `rules: [ { id: a, at: "08:00", days: [daily], ${siren} } ]`;
    expect(problems(`${minimal}${christmas}${gate}${byClock}`)).toEqual([]);
  });

  test('they are checked also when other parts of the file are wrong', () => {
    const found = problems(`site: { id: 1, external_id: hq, timezone: Mars/Base }\n${bridge}${p1}`);
    expect(found).toEqual([
      '1:13 site.id: is a number, expected text; write it in quotes',
      '1:43 site.timezone: is not a time zone, expected an IANA name such as Europe/Berlin',
    ]);
  });
});

describe('YAML that cannot be read', () => {
  test.each<[string, string, string]>([
    ['a tab', 'site:\n\tid: x\n', '2:1 a tab is used to indent, expected spaces'],
    ['an open quote', 'site: "x\n', 'a character is missing'],
    ['a text that begins with *', 'site: *hunter2\n', '1:7 an alias is not valid here, expected quotes'],
    ['a text that begins with !', 'site: !hunter2 x\n', '1:7 unknown tag'],
    ['a second document', `${minimal}---\na: 1\n`, 'a second document begins'],
    ['a key twice', `${minimal}${bridge}`, '4:1 this key stands twice, expected each key once'],
    ['a group as a key', `${minimal}{ hunter2: 1 }: x\n`, '4:1 a key is a list or a group, expected text'],
    ['nothing', '', '1:1 the file is empty'],
    ['only a comment', '# hunter2\n', 'the file is empty'],
    ['a text', 'hunter2\n', '1:1 is text, expected keys with values'],
  ])('%s', (_name, text, expected) => {
    const found = problems(text).join('\n');
    expect(found).toContain(expected);
    expect(found).not.toContain('hunter2');
  });

  test('a cascade of aliases is refused', () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x,x]',
      ...'bcdefgh'.split('').map((key, index) => `${key}: &${key} [${Array(10).fill(`*${'abcdefg'[index]}`)}]`),
    ];
    expect(problems(bomb.join('\n')).join('\n')).toContain('alias');
  });

  test('a file that is not UTF-8 or not there is config_unreadable', () => {
    const file = join(folder(), 'x.yaml');
    writeFileSync(file, Uint8Array.of(0x61, 0xff));
    for (const path of [file, `${file}.absent`]) {
      try {
        checkConfig(path);
        expect.unreachable();
      } catch (error) {
        expect(isCode(error, 'config_unreadable')).toBe(true);
      }
    }
  });
});

test('all mistakes are reported at once, in the order of the file', () => {
  const found = problems(`site: { id: 1, external_id: hq, timezone: UTC, colour: red }
bridge: { external_id: sw-1, role: primery }
partitions: [ { id: p1 }, { id: p1, name: B, entry_delay: 10m } ]
log: { level: loud }
`);
  expect(found.map((line) => line.split(' ')[1])).toEqual([
    'site.id:',
    'site.colour:',
    'bridge.role:',
    'partitions[0].name:',
    'partitions[1].id:',
    'partitions[1].entry_delay:',
    'log.level:',
  ]);
});

test('loadConfig throws config_invalid with every problem in a typed property', () => {
  const file = put(`${minimal}log: { level: loud, x: 1 }`);
  try {
    loadConfig(file, environment);
    expect.unreachable();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.code).toBe('config_invalid');
    expect(error.problems.map(({ line, path }) => `${line} ${path}`)).toEqual(['4 log.level', '4 log.x']);
    expect(error.message).toContain(formatProblem(error.problems[0]!));
    expect(error.message).toContain('and 1 more');
  }
});

test('a zone number written without quotes keeps its leading zero', () => {
  const file = put(`${minimal}panels: [ { id: m, profile: pai, zones: { 007: { type: fire } } } ]`);
  expect(Object.keys(loadConfig(file, environment).settings.panels[0]?.zones ?? {})).toEqual(['007']);
});

test('a minimal file is complete with defaults', () => {
  const { settings } = loadConfig(put(minimal), environment);
  expect(settings).toMatchObject({
    partitions: [{ id: 'p1', exit_delay: 60_000, entry_delay: 30_000 }],
    arming: { disarm_code: 'required', confirm_timeout: 10_000, restores_to_station: false },
    media: { snapshots: 2, interval: 1000, max_per_event: 8, budget: 512e6 },
    mqtt: { broker: 'embedded' },
    store: { dir: '/var/lib/siteward' },
    log: { level: 'info' },
  });
  expect(settings.cloud).toBeUndefined();
});
