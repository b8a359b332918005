import { readFileSync, writeFileSync } from 'node:fs';
import { Client } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defaultSeed, type SandboxCloud, startCloud } from '#sandbox/cloud/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { startDeafHost } from '../harness/deaf-host.ts';
import { camera, code, type Site, startSite } from '../harness/site.ts';

const apiKey = 'api-key-which-nobody-sees';
const bertsCode = '369147';
const duress = '369148';
let sandbox: SandboxCloud;
let siteId: string;
let site: Site;
const asked: string[] = [];
beforeAll(async () => {
  sandbox = await startCloud({ listen: { host: '127.0.0.1', port: 0 }, clients: [], dealers: defaultSeed().dealers });
  siteId = String(sandbox.sites()[0]?.site_id);
  sandbox.issueToken('api_key', { lifetimeS: 3600, token: apiKey });
  site = await startSite({
    broker: 'embedded',
    cameras: ['7'],
    siteYaml: `id: "${siteId}", account_reference_id: "0815"`,
    cloudYaml: '  api_key: { env: CLOUD_KEY }\n  dialect: { public_paths: true }\n',
    env: { CLOUD_KEY: apiKey },
    armingYaml: ', disarm_code: optional',
    yaml: ({ cameras }) => `
partitions:
  - { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s }
  - { id: p2, name: Stock, exit_delay: 255s }
  - { id: p3, name: Cellar }
panels:
  - { id: sensors, profile: zigbee2mqtt, zones: { "1": { type: perimeter, name: Window, key: window, partition: p1 } } }
  - { id: main, profile: pai, vars: { b: paradox }, partitions: { p3: "1" } }
cameras:
${camera('"7"', cameras['7'], 'name: Yard, zone: "21", partition: p1, pictures: always, inputs: { "1": { zone: "22", partition: p1, zone_type: panic_silent } }')}
speakers:
  - { id: "7", name: Yard, driver: "null", cloud_device_id: "4007" }
  - { id: hall, driver: "null" }
  - { id: attic, driver: "null", enabled: false }
log: { level: trace }
`,
  });
  await site.line.connect(sandbox.url);
  await window('closed');
  await site.lan.publish('zigbee2mqtt/bridge/state', '{"state":"online"}', { retain: true });
  await eventually('the camera', async () => ((await state()).data?.ready === true ? true : undefined), {
    timeoutMs: 60_000,
  });
}, 120_000);
afterAll(async () => {
  await site?.close();
  await sandbox?.close();
});

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly bytes: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: whatever comes is looked at by the tests.
  readonly data?: any;
  readonly error?: { readonly code: string; readonly message: string; readonly field?: string };
}

async function call(
  method: 'GET' | 'POST',
  path: string,
  json?: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const client = new Client('http://localhost', { socketPath: site.socket });
  try {
    const {
      statusCode,
      headers: got,
      body,
    } = await client.request({
      method,
      path,
      headers: { ...(json !== undefined && { 'content-type': 'application/json' }), ...headers },
      body: json === undefined ? null : JSON.stringify(json),
    });
    const bytes = Buffer.from(await body.arrayBuffer());
    const type = String(got['content-type']);
    asked.push(bytes.toString('latin1'));
    return { status: statusCode, type, bytes, ...(type === 'application/json' && JSON.parse(bytes.toString())) };
  } finally {
    await client.destroy();
  }
}
const window = (is: 'open' | 'closed') =>
  site.lan.publish('zigbee2mqtt/window', JSON.stringify({ contact: is === 'closed' }), { retain: true });
const state = () => call('GET', '/v1/partitions/p1');
const order = (verb: string, json?: object) => call('POST', `/v1/partitions/p1/${verb}`, json);
const armed = { partition_id: 'p1', status: 'armed' };
const disarmed = { partition_id: 'p1', status: 'disarmed' };

/** Changes the configuration of the running daemon. */
async function reload(from: string, to: string): Promise<void> {
  const text = readFileSync(site.config, 'utf8');
  expect(text).toContain(from);
  writeFileSync(site.config, text.replaceAll(from, to));
  const before = site.daemon.lines().filter((line) => line.includes('configuration read again')).length;
  site.daemon.reload();
  await eventually('the reload', async () => {
    const lines = site.daemon.lines().filter((line) => line.includes('configuration read again'));
    return lines.length > before ? true : undefined;
  });
}

test('with the line up the service is asked for a guard, once', async () => {
  const answer = await call('POST', `/v1/sites/${siteId}/dispatch`, { reason: 'glass break' });
  expect([answer.status, answer.data]).toEqual([202, { dispatch_id: expect.any(String), status: 'requested' }]);
  expect(sandbox.log().filter(({ path }) => path.endsWith('/dispatch'))).toHaveLength(1);
});

describe.each(['nobody listens', 'a black hole'])('with the line cut (%s)', (how) => {
  let restore = async () => {};
  beforeAll(async () => {
    if (how === 'nobody listens') {
      await site.line.cut();
      restore = () => site.line.restore();
      return;
    }
    const deaf = await startDeafHost();
    const there = `http://${deaf.host}`;
    await reload(site.line.url, there);
    restore = async () => {
      await reload(there, site.line.url);
      await deaf.stop();
    };
  }, 60_000);
  afterAll(() => restore(), 60_000);

  test('messages are listed and played, by every name of the site and of the speakers', async () => {
    const { data } = await call('GET', `/ext/v1/sites/${siteId}/audio-messages`);
    expect(data.total_count).toBe(data.audio_messages.length);
    expect(data.audio_messages).toContainEqual(
      expect.objectContaining({ audio_message_id: 'test.tone1k', language: 'en-US', category: 'test' }),
    );
    for (const place of ['/ext/v1/sites/proof', '/ref/v1/sites/0815'])
      expect((await call('GET', `${place}/audio-messages`)).data).toEqual(data);
    const ids = new Set<string>();
    for (const [target, shown] of [
      ['7', '7'],
      ['4007', '4007'],
      [4007, '4007'],
      ['hall', 'hall'],
    ] as const) {
      const path = '/ref/v1/sites/0815/audio-messages/test.tone1k/play';
      const played = await call('POST', path, { volume: 5, target_devices: [target] });
      expect(played.data).toMatchObject({ audio_message_id: 'test.tone1k', volume: 5, repeat: 1 });
      expect(played.data.devices).toMatchObject([
        { device_id: shown, status: expect.stringMatching(/playing|queued/) },
      ]);
      ids.add(played.data.playback_id);
    }
    const all = await call('POST', `/ext/v1/sites/${siteId}/audio-messages/test.tone1k/play`);
    expect(all.data.devices.map((device: { device_id: string }) => device.device_id)).toEqual(['4007', 'hall']);
    expect(ids.add(all.data.playback_id).size).toBe(5);
    const { items } = (await site.api('/api/v1/audio/playbacks')) as { items: { playback_id: string }[] };
    expect(items.map(({ playback_id }) => playback_id)).toEqual(expect.arrayContaining([...ids]));
  }, 60_000);

  test.each(['cellar', 'attic'])('speaker %s is no target', async (target) => {
    const path = `/ext/v1/sites/${siteId}/audio-messages/test.tone1k/play`;
    const { status, error } = await call('POST', path, { target_devices: ['hall', target] });
    expect([status, error?.code, error?.field]).toEqual([400, 'invalid_request', 'target_devices']);
    expect(error?.message).toContain('target_devices[1]');
  });

  test('the partition is armed and disarmed, and its state is told', async () => {
    expect((await order('arm', { code })).data).toEqual(armed);
    expect((await state()).data).toEqual({ ...armed, ready: true, bypassed_zones: [] });
    expect((await order('arm', { code })).data).toEqual(armed);
    expect(site.lan.retained('partition/p1/state')).toBe('armed_away');
    expect((await order('disarm', { code })).data).toEqual(disarmed);
    await site.lan.shows('partition/p1/state', 'disarmed');
    expect((await state()).data).toEqual({ ...disarmed, ready: true, bypassed_zones: [] });
  });

  test('zones are left out until the disarm; a silent one is no zone at all (safety 4)', async () => {
    for (const zones of [['22'], ['21', '99']]) {
      const { status, error } = await order('bypass', { zones, code });
      expect([status, error?.field, error?.message]).toEqual([
        400,
        'zones',
        `zones[${zones.length - 1}]: is no zone of this partition`,
      ]);
    }
    const left = { ...disarmed, ready: true, bypassed_zones: ['21'] };
    expect((await order('bypass', { zones: ['21', '21'], code })).data).toEqual(left);
    expect((await state()).data).toEqual(left);
    expect((await order('arm', { code })).data).toEqual(armed);
    expect((await order('disarm', { code })).data).toEqual(disarmed);
    expect((await state()).data.bypassed_zones).toEqual([]);
  });

  test('an open zone stands in the way by its name, and can be left out', async () => {
    await window('open');
    await site.lan.shows('zone/1/state', 'ON');
    const { status, error } = await order('arm', { code });
    expect([status, error?.code]).toEqual([409, 'not_ready']);
    expect(error?.message).toContain('Window (zone 1)');
    expect((await state()).data).toEqual({ ...disarmed, ready: false, bypassed_zones: [] });
    expect((await order('bypass', { zones: ['1'], code })).data).toMatchObject({ ready: true, bypassed_zones: ['1'] });
    expect((await order('arm', { code })).data).toEqual(armed);
    expect((await order('disarm', { code })).data).toEqual(disarmed);
    await window('closed');
    await site.lan.shows('zone/1/state', 'OFF');
  });

  test('in its exit delay a partition is armed', async () => {
    expect((await call('POST', '/v1/partitions/p2/arm', { code })).data).toEqual({
      partition_id: 'p2',
      status: 'armed',
    });
    await site.lan.shows('partition/p2/state', 'arming');
    expect((await call('GET', '/v1/partitions/p2')).data.status).toBe('armed');
    expect((await call('POST', '/v1/partitions/p2/disarm', { code })).data.status).toBe('disarmed');
  });

  test('of a panel that does not answer nothing is claimed', async () => {
    for (const verb of ['arm', 'disarm']) {
      const { status, error } = await call('POST', `/v1/partitions/p3/${verb}`, { code });
      expect([status, error?.code]).toEqual([503, 'panel_offline']);
    }
    const { status, error } = await call('GET', '/v1/partitions/p3');
    expect([status, error?.code]).toEqual([503, 'state_unknown']);
  });

  test('a picture is taken, at once or for whoever fetches it', async () => {
    const picture = await call('POST', '/v1/devices/7/snapshot', undefined, { accept: 'image/jpeg' });
    expect([picture.status, picture.type, picture.bytes[0], picture.bytes[1]]).toEqual([200, 'image/jpeg', 0xff, 0xd8]);
    const { data } = await call('POST', '/v1/devices/7/snapshot');
    const { origin, pathname } = new URL(data.url);
    expect(origin).toBe('http://localhost');
    const fetched = await call('GET', pathname);
    expect([fetched.status, fetched.type, fetched.bytes[0]]).toEqual([200, 'image/jpeg', 0xff]);
    expect((await call('GET', `${pathname}x`)).status).toBe(404);
  }, 60_000);

  test('a guard is not called, and that is said', async () => {
    const { status, error } = await call('POST', '/v1/sites/proof/dispatch', { reason: 'glass break' });
    expect([status, error?.code]).toEqual([503, 'cloud_offline']);
    expect(error?.message).toMatch(/Nobody was called\. Call the monitoring station/);
  }, 60_000);

  test('the audit log tells of all that, newest first', async () => {
    const { data } = await call('GET', `/v1/sites/${siteId}/audit-log`);
    const ids = data.map(({ activity_log_id: id }: { activity_log_id: number }) => id);
    expect(ids.every((id: unknown) => Number.isSafeInteger(id) && Number(id) > 0)).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
    const times = data.map(({ created_at }: { created_at: string }) => created_at);
    expect(times).toEqual(times.toSorted().toReversed());
    const types = data.map(({ type }: { type: string }) => type);
    expect(types.slice(0, 3)).toEqual(['dispatch_guard', 'snapshot', 'snapshot']);
    expect(types).toEqual(expect.arrayContaining(['arm', 'disarm', 'bypass', 'audio_play']));
    const [, second] = data;
    const page = `/v1/sites/${siteId}/audit-log?limit=1&offset=1`;
    expect((await call('GET', page)).data).toEqual([second]);
    expect((await call('GET', `${page}&endDate=2020-01-01`)).data).toEqual([]);
  });
});

describe('where disarming needs a code', () => {
  beforeAll(async () => {
    const bert = { id: 'bert', name: 'Bert', code: bertsCode, duress_code: duress };
    expect((await call('POST', '/api/v1/users', bert)).status).toBe(200);
    await reload('disarm_code: optional', 'disarm_code: required');
  }, 60_000);

  test('none without one, or with a wrong one, is a disarm; a bypass neither', async () => {
    expect((await order('arm', { code })).data).toEqual(armed);
    for (const [body, word] of [
      [undefined, 'code_required'],
      [{}, 'code_required'],
      [{ code: '9999' }, 'bad_code'],
    ] as const) {
      const { status, error } = await order('disarm', body);
      expect([status, error?.code]).toEqual([403, word]);
      expect((await state()).data.status).toBe('armed');
    }
    expect((await order('bypass', { zones: ['21'] })).error?.code).toBe('code_required');
    expect((await order('disarm', { code })).data).toEqual(disarmed);
  });

  test('a duress code looks like any other (safety 4)', async () => {
    const log = async () => (await call('GET', `/v1/sites/${siteId}/audit-log`)).data.slice(0, 2);
    await order('arm', { code: bertsCode });
    const plain = await order('disarm', { code: bertsCode });
    const plainly = await log();
    await order('arm', { code: bertsCode });
    expect(await order('disarm', { code: duress })).toEqual(plain);
    const forced = await log();
    const words = (entries: readonly { type: string; description: string }[]) =>
      entries.map(({ type, description }) => `${type} ${description.replaceAll(/\d+/g, 'n')}`);
    expect(words(forced)).toEqual(words(plainly));
    expect(forced[0].activity_log_id).not.toBe(plainly[0].activity_log_id);
  });
});

test('no code and no key stands in a log line or an answer', () => {
  const said = [...site.daemon.lines(), ...asked].join('\n');
  for (const secret of [code, bertsCode, duress, apiKey]) expect(said).not.toContain(secret);
  expect(said).toContain('test.tone1k');
});
