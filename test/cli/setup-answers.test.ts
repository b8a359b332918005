import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { answersSchema, openToOthers, readAnswers } from '#cli/setup/answers.ts';
import { formOf, unknownName } from '#cli/setup/set.ts';

const folder = mkdtempSync(join(tmpdir(), 'siteward-answers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fileOf(text: string): string {
  const path = join(folder, 'answers.yaml');
  writeFileSync(path, text);
  return path;
}
const saidOf = (file: string | undefined, ...set: string[]): Promise<string> =>
  readAnswers(file, set).then(
    () => 'taken',
    (error: Error) => error.message,
  );

test('each answer is set by its name over the file, as text, as a switch or as the configuration has it', async () => {
  const file = fileOf(`site: { name: Shop, dealer_id: "1" }
cameras: [ { address: 192.0.2.10, id: yard } ]
panels: [ { id: main, profile: pai } ]
`);
  const answers = await readAnswers(file, [
    ...[
      'site.name=Shop 7 = the last',
      'monitoring.station=201',
      'activate=true',
      'cameras.0.zone=21',
      'recorders.0.channels.0.position=2',
    ],
    ...['panels.0.vars.b=paradox', 'panels.0.partitions.p1="1"', 'speakers.0.id=gate', 'speakers.0.trim_db=-3'],
    ...[
      'speakers.0.enabled=false',
      'speakers.0.password_file=/root/gate',
      'recorders.0.id=rec',
      'recorders.0.address=192.0.2.9',
      'settings.http.listen="0.0.0.0:8443"',
    ],
    ...['zones.0={panel: main, number: "1", type: fire}', 'zones.0.cameras=[yard]'],
  ]);
  expect(answers).toMatchObject({
    site: { name: 'Shop 7 = the last', dealer_id: '1' },
    monitoring: { station: '201' },
    activate: true,
    cameras: [{ address: '192.0.2.10', id: 'yard', zone: '21' }],
    panels: [{ id: 'main', profile: 'pai', vars: { b: 'paradox' }, partitions: { p1: '1' } }],
    speakers: [{ id: 'gate', trim_db: -3, enabled: false, password_file: '/root/gate' }],
    recorders: [{ id: 'rec', channels: [{ position: 2 }] }],
    settings: { http: { listen: '0.0.0.0:8443' } },
    zones: [{ panel: 'main', number: '1', type: 'fire', cameras: ['yard'] }],
  });
});

test('a name that there is not is refused with those there are', async () => {
  expect(await saidOf(undefined, 'site.sort=1')).toMatch(
    /^there is no answer site\.sort; there is site\.external_id, .*site\.timezone, .*site\.security_type$/,
  );
  const all = await saidOf(undefined, 'sit.name=x');
  for (const name of ['site.name', 'cloud.client_id', 'cameras.N.zone', 'speakers.N.*', 'settings.http.*', 'activate'])
    expect(all).toContain(` ${name}`);
  for (const name of ['settings.door.x', 'cameras.first.id', 'cameras.1000.id', 'site.name.first', 'zones.0.number.1'])
    expect(await saidOf(undefined, `${name}=1`), name).toContain(`there is no answer ${name}`);
  expect(await saidOf(fileOf('site: { sort: 1 }'))).toContain(
    'there is no answer site.sort; there is site.external_id',
  );
  for (const text of ['site', '=x', '.name=x', '__proto__.a=1', 'site.__proto__.name=x', 'a..b=1'])
    expect(await saidOf(undefined, text), text).toContain('--set takes NAME=VALUE');
  expect(({} as Record<string, unknown>).a).toBeUndefined();
});

test('a name that any object has is none of the answers', async () => {
  for (const name of ['__proto__', 'constructor'])
    expect(await saidOf(fileOf(`${name}: { a: 1 }\n`)), name).toMatch(
      new RegExp(`there is no answer ${name}[^;]*; there is site\\.external_id, `),
    );
});

test('a secret among the variables of a panel is refused, and not repeated', async () => {
  for (const name of ['api_token', 'brokerPassword', 'disarm_code', 'password']) {
    const panel = `{ id: main, profile: pai, vars: { b: paradox, ${name}: hunter2 } }`;
    for (const said of [
      await saidOf(fileOf(`panels: [ ${panel} ]\n`)),
      await saidOf(undefined, `panels.0.vars.${name}=hunter2`),
      await saidOf(undefined, `panels.0=${panel}`),
    ]) {
      expect(said, name).toMatch(/a secret does not stand .*variable of a profile/);
      expect(said).not.toContain('hunter2');
    }
  }
  expect(await saidOf(undefined, 'panels.0={ id: main, profile: pai, vars: { mapping: x, status_code: "2" } }')).toBe(
    'taken',
  );
});

test('every name that is told can be set', async () => {
  const told = unknownName(['none'], formOf(answersSchema))
    .replace(/.*there is /, '')
    .split(', ');
  expect(told.length).toBeGreaterThan(40);
  for (const name of told) {
    const said = await saidOf(undefined, `${name.replaceAll('N', '0').replace('*', 'id')}=x`);
    expect(said, name).not.toMatch(/there is no answer|NAME=VALUE|secret/);
  }
});

test('a secret is taken from nowhere but a file, and no message repeats it', async () => {
  const secret = 'hush-73914628';
  const told = async (name: string) => {
    const said = await saidOf(undefined, `${name}=${secret}`);
    expect(said, name).not.toContain(secret);
    return said;
  };
  expect(await told('users.0.code')).toMatch(/command line.*mode 0600.*: users\.0\.code_file$/);
  expect(await told('users.0.duress_code')).toContain('users.0.duress_code_file');
  expect(await told('cameras.0.password')).toContain('cameras.0.password_file');
  expect(await told('test.code')).toContain('test.code_file');
  expect(await told('cloud.client_secret')).toContain('cloud.partner_secret_file');
  expect(await told('cloud.api_key')).toContain('cloud.api_key_file');
  expect(await told('cloud.private_key')).toContain('siteward cloud registration');
  expect(await told('speakers.0.password')).toContain('speakers.0.password_file');
  expect(await told('settings.mqtt.password')).toContain('settings.mqtt.password.file');
  expect(await told('panels.0.dc09.key')).toContain('panels.0.dc09.key.file');
  for (const whole of [
    `users=[{id: anna, name: Anna, code: ${secret}}]`,
    `users=[{id:anna,code:${secret}}]`,
    `speakers.0={id: gate, driver: http, password: ${secret}}`,
    `cameras.0.address=http://siteward:${secret}@192.0.2.10/`,
    `panels.0.x=[${secret}`,
    `site.${secret}=1`.replace('-', '!'),
  ]) {
    const said = await saidOf(undefined, whole);
    expect(said, whole).not.toBe('taken');
    expect(said).not.toContain(secret);
  }
  const inFile = await saidOf(fileOf(`users: [ { id: anna, name: Anna, code: ${secret} } ]`));
  expect(inFile).toMatch(/does not stand in the answers.*users\.0\.code_file/);
  expect(inFile).not.toContain(secret);
  // What only sounds like one: the key of a zone, a reference.
  expect(await saidOf(undefined, 'panels.0.id=a', 'panels.0.zones.1.key=window')).toBe('taken');
});

test('what is wrong with a value is said in the words of the configuration', async () => {
  expect(await saidOf(undefined, 'cameras.0.address=192.0.2.10', 'cameras.2.id=yard')).toBe(
    'the answers cannot be used: cameras.0.id: is missing, expected text; cameras.1: is missing, expected keys with values; cameras.2.address: is missing, expected text',
  );
  expect(await saidOf(undefined, 'site.name=')).toContain('site.name: is empty, expected text');
  expect(await saidOf(fileOf('cameras: [ { address: 192.0.2.10, id: yard, pictures: allways } ]'))).toContain(
    'cameras.0.pictures: is none of the possible values, expected one of alarm, armed, always; did you mean "always"?',
  );
});

test('a file of a secret that others may open is told', async () => {
  const file = (name: string, mode: number) => {
    const path = join(folder, name);
    writeFileSync(path, '73914628', { mode });
    return path;
  };
  const [open, shut] = [file('open', 0o644), file('shut', 0o600)];
  const answers = await readAnswers(undefined, [
    ...['users.0.id=anna', 'users.0.name=Anna', `users.0.code_file=${open}`, `test.code_file=${shut}`],
    ...['cameras.0.id=yard', 'cameras.0.address=192.0.2.10', `cameras.0.password_file=${join(folder, 'nowhere')}`],
  ]);
  expect(await openToOthers(answers)).toEqual([
    `${open} holds a secret, and others may open it (mode 0644): run "chmod 600 ${open}"`,
  ]);
});

test('a file of answers that is none is told with its place, never with its text', async () => {
  expect(await saidOf(join(folder, 'nowhere.yaml'))).toContain('nowhere.yaml');
  expect(await saidOf(fileOf('- a\n- b\n'))).toContain('must be keys with values');
  expect(await saidOf(fileOf(''))).toBe('taken');
  const said = await saidOf(fileOf('site: { name: hush\nusers: ['));
  expect(said).toMatch(/answers\.yaml:\d+:\d+/);
  expect(said).not.toContain('hush');
});
