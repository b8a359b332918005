import { generateKeyPairSync } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Standing } from '#box/standing.ts';
import { type Change, loadConfig, type Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { sha256 } from '#lib/digest.ts';
import { redactor } from '#lib/secret.ts';
import { never } from '#lib/wait.ts';
import type { AuditDraft } from '#site/model/index.ts';
import { judgeChange } from '../../src/daemon/config-change.ts';
import { type ConfigSaver, configSaver } from '../../src/daemon/config-saver.ts';
import { forgetCloud } from '../../src/daemon/forget-cloud.ts';

const pemOf = (modulusLength: number): string =>
  generateKeyPairSync('rsa', { modulusLength }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const [goodKey, otherKey, weakKey] = [pemOf(2048), pemOf(2048), pemOf(1024)];
const password = 'Geheim-ü-4711';

let dir: string;
let file: string;
let before: string;
let partitions: Standing[];
let isResetting: boolean;
let drafts: AuditDraft[];
const note = async (entry: AuditDraft) => void drafts.push(entry);
let reloads: number;
let reason: string | undefined;
let inForce: string;
let metrics: Registry;
let lines: string[];
let saver: ConfigSaver;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-saver-'));
  file = join(dir, 'siteward.yaml');
  mkdirSync(join(dir, 'secrets'), { mode: 0o750 });
  mkdirSync(join(dir, 'state'));
  put('camera-yard', 'yard-password');
  put('key.pem', goodKey.trimEnd());
  put('cloud-api-key', 'the-api-key');
  before = `# Of the shop.
site:   { id: "4711", external_id: hq, timezone: Europe/Berlin } # never changes
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: Offices } ]
store:  { dir: ${join(dir, 'state')} }
cloud:
  base_url: https://api.example.net
  auth_url: https://auth.example.net
  events: { client_id: bridge-1, private_key: { file: ${secret('key.pem')} } } # by hand
  api_key: { file: ${secret('cloud-api-key')} }
# The yard.
cameras:
  - id: yard # at the gate
    url: http://192.0.2.10/onvif/device_service
    username: siteward
    password: { file: ${secret('camera-yard')} }
speakers:
  - { id: shop, driver: command, command: [/usr/bin/play-it, --token, abcdef] }
`;
  writeFileSync(file, before, { mode: 0o640 });
  [partitions, drafts, reloads, reason, inForce, metrics] = [[], [], 0, undefined, before, new Registry()];
  [lines, isResetting] = [[], false];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  saver = configSaver({
    inForce: () => ({ path: file, lastGood: false, text: inForce, warnings: [], error: reason }),
    settings: () => loadConfig(file, { unreadableSecrets: 'degrade' }).settings,
    partitions: () => partitions,
    isResetting: () => isResetting,
    async reload() {
      reloads += 1;
      if (reason === undefined) inForce = readFileSync(file, 'utf8');
      return { error: reason };
    },
    redactor: redactor(),
    note,
    log,
    metrics,
    // The thread that does it in the daemon has a test of its own (config-save-daemon.test.ts).
    judge: judgeChange,
  });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const secret = (name: string) => join(dir, 'secrets', name);
const put = (name: string, text: string) => writeFileSync(secret(name), `${text}\n`, { mode: 0o600 });
const text = () => readFileSync(file, 'utf8');
const secrets = () => readdirSync(join(dir, 'secrets')).sort();
const files = () => readdirSync(dir).sort();
const by = { source: 'lan', client: 'account:ines', address: '192.0.2.99' } as const;
const save = (...changes: Change[]) =>
  saver.save({ action: 'config_saved', changes, version: sha256(text()), dryRun: false }, by, never());
const yard = (members: Record<string, unknown>): Change => ({ do: 'change', section: 'cameras', id: 'yard', members });
const cloud = (members: Record<string, unknown>): Change => ({ do: 'set', section: 'cloud', members });
const given = { secret: password };
async function outcomes() {
  const { values } = (await metrics.getSingleMetric('siteward_config_saves_total')?.get()) ?? { values: [] };
  return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]));
}

async function refusal(...changes: Change[]): Promise<SitewardError> {
  const was = [text(), secrets(), files()];
  const error: unknown = await save(...changes).catch((failure: unknown) => failure);
  if (!(error instanceof SitewardError)) throw new Error('it was not refused', { cause: error });
  expect([text(), secrets(), files()]).toEqual(was);
  expect(reloads).toBe(0);
  return error;
}

test('a save keeps every other byte, the mode and one backup, and tells what it did', async () => {
  const saved = await save(yard({ name: 'Yard' }));
  expect(text()).toBe(before.replace(/(camera-yard \}\n)/, '$1    name: Yard\n'));
  expect(saved).toEqual({
    version: sha256(text()),
    sections: ['cameras'],
    patch: [{ sign: '+', line: 17, text: '    name: Yard' }],
    written: true,
    taken: true,
  });
  expect(readFileSync(`${file}.bak`, 'utf8')).toBe(before);
  for (const path of [file, `${file}.bak`]) expect(statSync(path).mode & 0o777).toBe(0o640);
  expect(files()).toEqual(['secrets', 'siteward.yaml', 'siteward.yaml.bak', 'state']);
  expect(drafts).toEqual([
    expect.objectContaining({
      kind: 'config',
      action: 'config_saved',
      after: 'cameras',
      actor_ref: 'account:ines',
      outcome: 'done',
    }),
  ]);
  expect(await outcomes()).toEqual({ taken: 1 });
  await save(yard({ name: 'Yard 2' }));
  expect(readFileSync(`${file}.bak`, 'utf8')).toContain('name: Yard\n');
});

/** Everything that is told of saves. */
const told = (...more: unknown[]) => JSON.stringify([more, lines, drafts]);

test('a secret goes into a file of its own that siteward alone may read, and nowhere else; the old one goes', async () => {
  const saved = await save(yard({ password: given }));
  const path = secret('camera-yard-2');
  expect(text()).toBe(before.replace(secret('camera-yard'), path));
  expect(readFileSync(path, 'utf8')).toBe(`${password}\n`);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(secrets()).toEqual(['camera-yard-2', 'cloud-api-key', 'key.pem']);
  expect(files()).toEqual(['secrets', 'siteward.yaml', 'siteward.yaml.bak', 'state']);
  expect(told(saved)).not.toContain(password);
  const added = await save({
    ...{ do: 'add', section: 'speakers' },
    entry: { id: 'gate', driver: 'onvif', url: 'rtsp://192.0.2.9/1', username: 'u', password: { secret: 'sp-secret' } },
  });
  expect(readFileSync(secret('speaker-gate'), 'utf8')).toBe('sp-secret\n');
  expect(told(added)).not.toContain('sp-secret');
});

test('where what was written is not taken, that is said, and the old secret stays until it is', async () => {
  reason = `it did not like ${file}`;
  expect(await save(yard({ password: given }))).toMatchObject({ written: true, taken: false, reason });
  expect(secrets()).toEqual(['camera-yard', 'camera-yard-2', 'cloud-api-key', 'key.pem']);
  expect(drafts).toEqual([expect.objectContaining({ action: 'config_saved', reason: 'not taken' })]);
  expect(await outcomes()).toEqual({ not_taken: 1 });
  reason = undefined;
  inForce = text();
  await save(yard({ name: 'Yard' }));
  expect(secrets()).toEqual(['camera-yard-2', 'cloud-api-key', 'key.pem']);
  expect(files()).not.toContain('siteward.yaml.saving');
});

test('a dry run tells the same, and writes nothing', async () => {
  const was = [text(), secrets(), files()];
  const wish = { action: 'config_saved', changes: [yard({ password: given })], version: sha256(before) } as const;
  const dry = await saver.save({ ...wish, dryRun: true }, by, never());
  expect(dry).toMatchObject({ version: sha256(before), sections: ['cameras'], written: false, taken: false });
  expect([text(), secrets(), files(), reloads, drafts.length]).toEqual([...was, 0, 0]);
  const { version, ...saved } = await saver.save({ ...wish, dryRun: false }, by, never());
  expect(saved).toEqual({ sections: dry.sections, patch: dry.patch, written: true, taken: true });
  expect(version).toBe(sha256(text()));
});

test('what changes nothing writes nothing', async () => {
  expect(await save(yard({ username: 'siteward' }))).toMatchObject({ written: false, taken: true, patch: [] });
  expect([text(), files()]).toEqual([before, ['secrets', 'siteward.yaml', 'state']]);
});

test('everything that would be wrong is told at once, each at its place, and no secret is written', async () => {
  const error = await refusal(
    yard({ url: 'ftp://x', password: given }),
    { do: 'add', section: 'rules', entry: { id: 'r' } },
    { do: 'set', section: 'media', members: { snapshots: 99 } },
  );
  expect(error.code).toBe('config_invalid');
  expect(error.issues.map(({ field }) => field)).toEqual(['cameras[yard].url', 'rules[r].play', 'media.snapshots']);
  expect(told(error.message, error.issues)).not.toContain(password);
  expect(drafts).toEqual([
    expect.objectContaining({ kind: 'refusal', reason: 'config_invalid', after: 'cameras rules media' }),
  ]);
  expect(await outcomes()).toEqual({ invalid: 1 });
});

test.each([
  ['another site', { do: 'set', section: 'site', members: { external_id: 'other' } }, 'site.external_id'],
  ['an entry that is not there', { do: 'remove', section: 'cameras', id: 'gone' }, 'changes[0].id'],
  [
    'a zone that is taken',
    { do: 'add', section: 'cameras', entry: { id: 'yard', url: 'http://192.0.2.3/' } },
    'cameras[yard].id',
  ],
] as const)('%s is refused before anything is written', async (_, change, field) => {
  expect(await refusal(change)).toMatchObject({ code: 'config_invalid', issues: [{ field }] });
});

test.each<[string, () => string, RegExp]>([
  ['short', () => weakKey, /1024 bits/],
  ['no key', () => 'something that is no key, though it is long enough for one', /not a private key in PEM/],
])('a private key that the cloud would not take is refused: %s', async (_, key, words) => {
  const pem = key();
  const events = { client_id: 'bridge-1', private_key: { secret: pem } };
  const error = await refusal(cloud({ events }));
  expect(error).toMatchObject({
    issues: [{ field: 'cloud.events.private_key', message: expect.stringMatching(words) }],
  });
  expect(told(error.message, error.issues)).not.toContain(pem.slice(30, 60));
});

test.each([
  [{ secret: '' }],
  [{ secret: 'a\nb' }],
  [{ secret: 5 }],
  [{ secret: 'x', file: '/etc/shadow' }],
  [{ secret: 'x'.repeat(5000) }],
])('what cannot be a secret is refused by its field: %j', async (wrong) => {
  const error = await refusal(yard({ password: wrong }));
  expect(error.issues.map(({ field }) => field)).toEqual(['changes[0].members.password']);
});

// An installer with an account, who wants more than a camera.
const evil = 'https://evil.example.net';
test.each<[string, Change[], string]>([
  ['a file of the system', [cloud({ api_key: { file: '/etc/shadow' } })], 'cloud.api_key'],
  ['a file of the state', [yard({ password: { file: '/var/lib/siteward/user-key' } })], 'cameras[yard].password'],
  ['a variable', [yard({ password: { env: 'PATH' } })], 'cameras[yard].password'],
  ['a credential', [yard({ password: { credential: 'user-key' } })], 'cameras[yard].password'],
  ['another host for the old key', [cloud({ base_url: evil, api_key: { secret: 'x' } })], 'cloud.events.private_key'],
  ['another host of the cloud', [cloud({ ext_base_url: evil })], 'cloud.api_key'],
  ['another audience', [cloud({ audience: 'https://other' })], 'cloud.events.private_key'],
  ['another host of a camera', [yard({ url: 'http://192.0.2.66/onvif/device_service' })], 'cameras[yard].password'],
  ['pictures from another host', [yard({ snapshot_url: 'http://192.0.2.66/x' })], 'cameras[yard].password'],
  ['addresses that the camera names', [yard({ addresses: 'as_reported' })], 'cameras[yard].password'],
  ['a password in clear', [yard({ basic_login: true })], 'cameras[yard].password'],
  [
    'the camera under another name',
    [
      { do: 'remove', section: 'cameras', id: 'yard' },
      {
        do: 'add',
        section: 'cameras',
        entry: { id: 'yard', url: 'http://192.0.2.66/', username: 'u', password: 'REF' },
      },
    ],
    'cameras[yard].password',
  ],
  [
    'the password of another entry',
    [{ do: 'add', section: 'cameras', entry: { id: 'b', url: 'http://192.0.2.66/', username: 'u', password: 'REF' } }],
    'cameras[b].password',
  ],
  [
    'a program',
    [{ do: 'add', section: 'speakers', entry: { id: 'x', driver: 'command', command: ['/bin/sh'] } }],
    'speakers[x].command',
  ],
  [
    'other arguments',
    [{ do: 'change', section: 'speakers', id: 'shop', members: { command: ['/usr/bin/play-it', 'x'] } }],
    'speakers[shop].command',
  ],
  [
    'a probe',
    [{ do: 'change', section: 'speakers', id: 'shop', members: { probe: ['/bin/sh'] } }],
    'speakers[shop].probe',
  ],
  [
    'a folder',
    [{ do: 'add', section: 'speakers', entry: { id: 'x', driver: 'capture', folder: '/etc/siteward' } }],
    'speakers[x].folder',
  ],
  [
    'a sound device that is a program',
    [{ do: 'add', section: 'speakers', entry: { id: 'x', driver: 'alsa', device: "file:FILE='|/bin/sh',FORMAT=raw" } }],
    'speakers[x].device',
  ],
])('is refused with words: %s', async (_, changes, field) => {
  const real = JSON.parse(JSON.stringify(changes).replaceAll('"REF"', JSON.stringify({ file: secret('camera-yard') })));
  const error = await refusal(...real);
  expect(error).toMatchObject({
    code: 'config_invalid',
    issues: expect.arrayContaining([expect.objectContaining({ field })]),
  });
});

test.each([
  ...['\0', '\u0007', 'a\u202Eb', 'a\u2028b', '\ud800'].map((name) => [yard({ name }), 'cameras[yard].name'] as const),
  [{ do: 'set', section: 'site', members: { name: 'a\u2066b' } } as Change, 'site.name'] as const,
  [
    { do: 'add', section: 'cameras', entry: { id: 'b', name: 'a\n', url: 'http://192.0.2.3/' } } as Change,
    'cameras[b].name',
  ] as const,
])('a name that shows another one than it is, or none, is refused: %j', async (change, field) => {
  const error = await refusal(change);
  expect(error).toMatchObject({
    code: 'config_invalid',
    issues: [{ field, message: expect.stringContaining('control') }],
  });
});

test('a name of an older file stays until it is changed', async () => {
  before = before.replace('id: yard #', 'id: yard\n    name: "Ya\\u202Erd" #');
  writeFileSync(file, before);
  await save(yard({ zone: '21' }));
  await save(yard({ name: 'Yard' }));
  expect(text()).toContain('name: Yard #');
});

test('with the secrets given anew, other hosts are taken; references as they stand are, too', async () => {
  const events = { client_id: 'bridge-1', private_key: { secret: otherKey } };
  await save(cloud({ base_url: 'https://new.example.net', events, api_key: { secret: 'new-key' } }));
  expect(readFileSync(secret('cloud-events-private-key'), 'utf8')).toBe(otherKey);
  // One that somebody made by hand is never removed.
  expect(secrets()).toEqual(['camera-yard', 'cloud-api-key-2', 'cloud-events-private-key', 'key.pem']);
  expect(text()).toContain(`private_key: { file: ${secret('cloud-events-private-key')} } } # by hand\n`);
  await save(yard({ url: 'http://192.0.2.66/', password: given }));
  await save(yard({ url: 'http://192.0.2.66/onvif', password: { file: secret('camera-yard-2') } }));
  await save({
    do: 'add',
    section: 'speakers',
    entry: { id: 'x', driver: 'alsa', device: 'plughw:CARD=Device,DEV=0' },
  });
});

const standing = (state: Standing['state'], more: Partial<Standing> = {}): Standing => ({
  ...{ id: 'p1', name: 'Shop', state, stale: false, alarm: null },
  ...more,
});
const fire = { type: 'fire', state: 'active', zones: ['3'] } as never;

test.each([
  ...(['armed_away', 'arming', 'pending', 'triggered', 'armed_home'] as const).flatMap(
    (state) =>
      [
        [state, standing(state)],
        [`${state}, and not heard any more`, standing(state, { stale: true })],
      ] as const,
  ),
  ['last known to be disarmed', standing('disarmed', { stale: true })],
  ['disarmed, in a fire alarm', standing('disarmed', { alarm: 'fire' as never })],
  ['disarmed, with an alarm among several', standing('disarmed', { alarms: [fire] })],
  ['never heard, in a fire alarm', standing('unknown', { stale: true, alarm: 'fire' as never })],
] as const)('while a partition is %s, nothing is changed and no cloud forgotten', async (_, stands) => {
  partitions = [standing('disarmed'), stands];
  const error = await refusal(yard({ name: 'x' }));
  expect(error).toMatchObject({
    code: 'config_refused',
    message: expect.stringContaining('while partition Shop (p1) is'),
  });
  expect(await outcomes()).toEqual({ refused: 1 });
  const settings = () => loadConfig(file, { unreadableSecrets: 'degrade' }).settings;
  await expect(forgetCloud(settings, saver, note)('hq', by, never())).rejects.toMatchObject({ code: 'config_refused' });
  expect(text()).toBe(before);
});

test('a panel that was never heard holds up nothing; one that arms while the change is looked at does', async () => {
  partitions = [standing('unknown', { stale: true })];
  await save(yard({ name: 'x' }));
  const was = text();
  const late = save(yard({ name: 'y' }));
  partitions = [standing('arming')];
  await expect(late).rejects.toMatchObject({ code: 'config_refused' });
  expect(text()).toBe(was);
});

test('nothing is saved while a factory reset is under way, not even what was asked for before', async () => {
  const late = save(yard({ name: 'x' }));
  isResetting = true;
  await expect(late).rejects.toMatchObject({ code: 'config_refused' });
  expect(await refusal(yard({ name: 'x' }))).toMatchObject({ message: expect.stringContaining('factory reset') });
});

test('a dry run that is refused is on record and counts as any other', async () => {
  const wish = { action: 'config_saved', changes: [yard({ url: 'ftp://x' })], dryRun: true } as const;
  await expect(saver.save(wish, by, never())).rejects.toMatchObject({ code: 'config_invalid' });
  expect(drafts).toEqual([expect.objectContaining({ kind: 'refusal', reason: 'config_invalid', after: 'cameras' })]);
  expect(await outcomes()).toEqual({ invalid: 1 });
});

test('what a file without use holds is not told by the name that a new secret gets', async () => {
  put('camera-yard-2', password);
  const paths = [];
  for (const guess of [password, 'another']) {
    const changes = [yard({ password: { secret: guess } })];
    const { patch } = await saver.save({ action: 'config_saved', changes, dryRun: true }, by, never());
    paths.push(JSON.stringify(patch));
  }
  expect(paths[0]).toContain('camera-yard-3');
  expect(paths[1]).toBe(paths[0]);
});

test('a file that somebody else changed is left as it is', async () => {
  const wish = {
    action: 'config_saved',
    changes: [yard({ password: given })],
    version: sha256(before),
    dryRun: false,
  } as const;
  const late = saver.save(wish, by, never());
  writeFileSync(file, `${before}# by hand\n`);
  await expect(late).rejects.toMatchObject({ code: 'config_changed' });
  await expect(saver.save(wish, by, never())).rejects.toMatchObject({ code: 'config_changed' });
  expect([text(), secrets()]).toEqual([`${before}# by hand\n`, ['camera-yard', 'cloud-api-key', 'key.pem']]);
  expect(files()).toEqual(['secrets', 'siteward.yaml', 'state']);
});

test('one at a time', async () => {
  const [first, second] = await Promise.allSettled([save(yard({ name: 'a' })), save(yard({ name: 'b' }))]);
  expect(first.status).toBe('fulfilled');
  expect(second).toMatchObject({ reason: { code: 'queue_full' } });
  expect(await outcomes()).toEqual({ busy: 1, taken: 1 });
});

test('who leaves before it is written has nothing written', async () => {
  const leaving = new AbortController();
  const late = saver.save(
    { action: 'config_saved', changes: [yard({ name: 'x' })], dryRun: false },
    by,
    leaving.signal,
  );
  leaving.abort(new Error('gone'));
  await expect(late).rejects.toThrow('gone');
  expect(text()).toBe(before);
  await save(yard({ name: 'y' }));
});

test('a file with errors is mended by hand first', async () => {
  writeFileSync(file, `${before}nonsense: 1\n`);
  expect(await refusal(yard({ name: 'x' }))).toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('errors already'),
  });
});

test('behind a link the file itself is changed', async () => {
  const real = join(dir, 'real.yaml');
  writeFileSync(real, before);
  rmSync(file);
  symlinkSync(real, file);
  await save(yard({ name: 'Yard' }));
  expect(readFileSync(real, 'utf8')).toContain('name: Yard');
  expect(files()).toEqual(['real.yaml', 'real.yaml.bak', 'secrets', 'siteward.yaml', 'state']);
});

test('forgetting the cloud takes its section and the secrets siteward made for it; the name must be right', async () => {
  const settings = () => loadConfig(file, { unreadableSecrets: 'degrade' }).settings;
  const forget = (confirm: string) => forgetCloud(settings as () => Settings, saver, note)(confirm, by, never());
  await expect(forget('other')).rejects.toMatchObject({ code: 'request_invalid', facts: { field: 'confirm' } });
  partitions = [standing('armed_away')];
  await expect(forget('hq')).rejects.toMatchObject({ code: 'config_refused' });
  expect(text()).toBe(before);
  partitions = [];
  expect(await forget('hq')).toMatchObject({ sections: ['cloud'], written: true, taken: true });
  expect(text()).toBe(before.replace(/cloud:\n( .*\n)+/, ''));
  expect(secrets()).toEqual(['camera-yard', 'key.pem']);
  await expect(forget('hq')).rejects.toMatchObject({ code: 'danger_refused' });
  expect(drafts.map(({ action, outcome, reason }) => [action, outcome, reason])).toEqual([
    ['cloud_forgotten', 'refused', 'request_invalid'],
    ['cloud_forgotten', 'refused', 'config_refused'],
    ['cloud_forgotten', 'done', undefined],
    ['cloud_forgotten', 'refused', 'danger_refused'],
  ]);
});
