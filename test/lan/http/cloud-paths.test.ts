import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { apiError } from '#cloud/contract/index.ts';
import { SitewardError } from '#errors.ts';
import { type Caller, denial, type Scope, scopes } from '#lan/access/index.ts';
import { lanApp } from '#lan/http/app.ts';
import { fakeCloudPaths } from '#lan/http/cloud-port.fake.ts';
import { type CloudPathsPort, cloudOperations, type DispatchTold, type PartitionAnswer } from '#lan/http/index.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import { problemReply } from '#lan/http/problem.ts';

type Key = Extract<Caller, { kind: 'key' }>;
const keyOf = (more: Partial<Key> = {}): Key => ({ kind: 'key', id: 'k1', scopes, role: 'owner', ...more });

/** The app as a listener serves it; `Bearer good` is the key. */
function served(replaced: Partial<CloudPathsPort> = {}, key: Key = keyOf()) {
  const port = fakeLanPort(0, { cloudPaths: fakeCloudPaths(replaced) });
  const app = lanApp(port, {
    log: pino({ level: 'silent' }),
    identify(operation, context) {
      const isGood = context.req.header('authorization') === 'Bearer good';
      const caller: Caller = isGood ? key : { kind: 'nobody' };
      const why = denial(caller, operation.id);
      if (why === 'login') throw new SitewardError('access_needed', 'this takes an API key');
      if (why !== undefined) throw new SitewardError('access_denied', 'this API key may not');
      return { caller, from: { address: '192.0.2.7' } };
    },
  });
  return async (method: string, path: string, json?: unknown, headers: Record<string, string> = {}) => {
    const answer = await app.request(path, {
      method,
      headers: {
        authorization: 'Bearer good',
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    return { status: answer.status, headers: answer.headers, bytes, body: isJson ? JSON.parse(bytes.toString()) : {} };
  };
}

const audio = '/ext/v1/sites/4711/audio-messages';
const calls: [method: string, path: string, body?: object][] = [
  ['GET', audio],
  ['POST', `${audio}/front-gate/play`],
  ['GET', '/ref/v1/sites/0815/audio-messages'],
  ['POST', '/ref/v1/sites/0815/audio-messages/front-gate/play'],
  ['POST', '/v1/partitions/p1/arm'],
  ['POST', '/v1/partitions/p1/disarm'],
  ['POST', '/v1/partitions/p1/bypass', { zones: ['1'] }],
  ['GET', '/v1/partitions/p1'],
  ['POST', '/v1/devices/yard/snapshot'],
  ['GET', '/v1/snapshots/picture-1'],
  ['POST', '/v1/sites/4711/dispatch', { reason: 'glass break' }],
  ['GET', '/v1/sites/hq/audit-log'],
];

describe('every path', () => {
  test('is among these', () => {
    expect(calls).toHaveLength(Object.keys(cloudOperations).length);
  });

  test.each(calls)(
    '%s %s takes a key, refuses in the form of the contract, and is done by the scope alone',
    async (...of) => {
      const [method, path, body] = of;
      for (const authorization of ['', 'Bearer bad', 'Basic good']) {
        const refused = await served()(method, path, body, { authorization });
        expect([refused.status, refused.body.error.code]).toEqual([401, 'unauthorized']);
      }
      const without = (scope: Scope) => served({}, keyOf({ scopes: scopes.filter((one) => one !== scope) }));
      const needed: Scope[] = [];
      for (const scope of scopes) {
        const answer = await without(scope)(method, path, body);
        if (answer.status !== 403) continue;
        expect(apiError.parse(answer.body).error.code).toBe('forbidden');
        needed.push(scope);
      }
      expect(needed).toHaveLength(1);
      expect((await served({}, keyOf({ scopes: needed }))(method, path, body)).status).not.toBe(403);
    },
  );

  test.each(calls)('%s %s takes no other method', async (...[method, path]) => {
    const answer = await served()(method === 'GET' ? 'POST' : 'DELETE', path);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, method]);
    expect(apiError.parse(answer.body).error.code).toBe('method_not_allowed');
  });

  test.each([
    ['GET', '/ext/v1/sites/4712/audio-messages'],
    ['GET', '/ref/v1/sites/4711/audio-messages'],
    ['POST', `${audio}/nothing/play`],
    ['POST', '/v1/partitions/p2/arm'],
    ['POST', '/v1/partitions/all/disarm'],
    ['GET', '/v1/partitions/a%20b'],
    ['POST', '/v1/partitions/__proto__/bypass'],
    ['POST', '/v1/devices/gate/snapshot'],
    ['GET', '/v1/snapshots/constructor'],
    ['POST', '/v1/sites/0815/dispatch'],
    ['GET', '/v1/sites/constructor/audit-log'],
  ])('%s %s is not there, whatever its body says', async (method, path) => {
    const answer = await served()(method, path, method === 'POST' && !path.endsWith('play') ? { zones: 7 } : undefined);
    expect(answer.status).toBe(404);
    expect(apiError.parse(answer.body).error.code).toBe('not_found');
  });
});

test('what a guard refuses to a page is a missing key to whoever shows neither key nor session (S-041)', async () => {
  const app = lanApp(fakeLanPort(0), {
    log: pino({ level: 'silent' }),
    identify: () => problemReply(403, 'origin_refused', { detail: 'Another page asked for this.' }),
  });
  const arm = async (headers: Record<string, string> = {}) => {
    const answer = await app.request('/v1/partitions/p1/arm', { method: 'POST', headers });
    return [answer.status, apiError.parse(await answer.json()).error.code];
  };
  expect(await arm()).toEqual([401, 'unauthorized']);
  expect(await arm({ cookie: '__Host-sw=x' })).toEqual([403, 'forbidden']);
  expect(await arm({ authorization: 'Bearer x' })).toEqual([403, 'forbidden']);
});

test('the path by reference is that of the dialect', async () => {
  const call = served({ referencePath: () => '/sites/{account_reference_id}/v2' });
  expect((await call('GET', '/sites/0815/v2/audio-messages')).body.data.total_count).toBe(1);
  expect((await call('GET', '/ref/v1/sites/0815/audio-messages')).status).toBe(404);
});

test('a dialect takes no path of the LAN API away', async () => {
  const call = served({ referencePath: () => '/api/v1/{account_reference_id}' });
  expect((await call('GET', '/api/v1/audio/messages')).body.items).toEqual([]);
});

describe('what is wrong is refused with its field, and does not come back', () => {
  test.each([
    ['/v1/partitions/p1/disarm', { code: 471_147 }, 'code'],
    ['/v1/partitions/p1/disarm', { code: 'my 471147' }, 'code'],
    ['/v1/partitions/p1/arm', ['471147'], 'body'],
    ['/v1/partitions/p1/bypass', { zones: [] }, 'zones'],
    ['/v1/partitions/p1/bypass', { zones: [471_147] }, 'zones[0]'],
    ['/v1/partitions/p1/bypass', { code: '471147' }, 'zones'],
    [`${audio}/front-gate/play`, { volume: 471_147 }, 'volume'],
    [`${audio}/front-gate/play`, { target_devices: [] }, 'target_devices'],
    ['/v1/sites/4711/dispatch', { reason: 'x', responder: '471147' }, 'responder'],
  ])('%s %j', async (path, body, field) => {
    const answer = await served()('POST', path, body);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code: 'invalid_request', field });
    expect(answer.bytes.toString()).not.toContain('471147');
  });

  test('also what is no JSON, too large, or another type', async () => {
    const call = served();
    const path = '/v1/partitions/p1/disarm';
    const odd = await call('POST', path, { code: '471147' }, { 'content-type': 'text/plain' });
    expect(odd.body.error).toMatchObject({ code: 'invalid_request', field: 'content-type' });
    const large = await call('POST', path, { code: '4'.repeat(70_000) });
    expect([large.status, large.body.error.code]).toEqual([413, 'too_large']);
  });
});

describe('a command', () => {
  const answering = (answer: PartitionAnswer) => served({ command: async () => answer });
  const refusal = (code: NonNullable<PartitionAnswer['error']>['code'], more = {}): PartitionAnswer => ({
    outcome: 'refused',
    error: { code, ...more },
  });

  test('goes to the site with its code, and its answer has the form of the contract', async () => {
    const wishes: unknown[] = [];
    const call = served({
      async command(wish, by) {
        wishes.push([wish, by]);
        return { outcome: 'already' };
      },
    });
    const by = { source: 'lan', client: 'key:k1', address: '192.0.2.7' };
    expect((await call('POST', '/v1/partitions/p1/arm')).body).toEqual({
      data: { partition_id: 'p1', status: 'armed' },
    });
    const disarmed = await call('POST', '/v1/partitions/p1/disarm', { code: '2580', mode: 'ignored' });
    expect(disarmed.body).toEqual({ data: { partition_id: 'p1', status: 'disarmed' } });
    expect(wishes).toEqual([
      [{ verb: 'arm', partition: 'p1' }, by],
      [{ verb: 'disarm', partition: 'p1', code: '2580' }, by],
    ]);
  });

  test.each([
    ['BAD_CODE', 403, 'bad_code'],
    ['BUSY', 503, 'busy'],
    ['CODE_REQUIRED', 403, 'code_required'],
    ['EXPIRED', 409, 'expired'],
    ['LOCKED', 429, 'locked'],
    ['NEWER_LOCAL_CHANGE', 409, 'superseded'],
    ['NOT_ALLOWED', 409, 'not_allowed'],
    ['NOT_CONTROLLED', 409, 'not_controlled'],
    ['NOT_READY', 409, 'not_ready'],
    ['PANEL_OFFLINE', 503, 'panel_offline'],
    ['RATE_LIMITED', 429, 'rate_limited'],
    ['UNCONFIRMED', 504, 'unconfirmed'],
    ['UNKNOWN_TARGET', 404, 'not_found'],
  ] as const)('refused as %s is %i %s', async (code, status, word) => {
    const answer = await answering(refusal(code, { retryAfterS: 88.2 }))('POST', '/v1/partitions/p1/disarm');
    expect([answer.status, answer.body.error.code]).toEqual([status, word]);
    expect(answer.body.error.message.split(' ').length).toBeGreaterThan(3);
    expect(answer.headers.get('retry-after')).toBe('89');
    expect(answer.body).not.toHaveProperty('data');
  });

  test('names the zones in the way as people do, not all of many', async () => {
    const zones = Array.from({ length: 12 }, (_, index) => ({ number: `${index + 1}`, name: `Window ${index + 1}` }));
    const one = await answering(refusal('NOT_READY', { zones: zones.slice(0, 1) }))('POST', '/v1/partitions/p1/arm');
    expect(one.body.error.message).toBe(
      'it cannot be armed as it is: open, or not answering: Window 1 (zone 1). Close or bypass them',
    );
    const many = await answering(refusal('NOT_READY', { zones }))('POST', '/v1/partitions/p1/arm');
    expect(many.body.error.message).toContain('Window 10 (zone 10) and 2 more.');
  });

  test.each(['failed', 'expired', 'superseded', 'unconfirmed', 'accepted'] as const)(
    'that is %s without a word of why is no success',
    async (outcome) => {
      const answer = await answering({ outcome })('POST', '/v1/partitions/p1/disarm');
      expect([answer.status, answer.body.error.code]).toEqual([504, 'unconfirmed']);
    },
  );

  test('of which the site says nothing in time is a problem of the bridge', async () => {
    const command = async () => Promise.reject(new SitewardError('deadline', 'the final answer did not come in time'));
    const answer = await served({ command })('POST', '/v1/partitions/p1/disarm');
    expect([answer.status, answer.body.error.code]).toEqual([503, 'deadline']);
    const broken = async () => Promise.reject(new Error('secret inside'));
    const odd = await served({ command: broken })('POST', '/v1/partitions/p1/disarm');
    expect([odd.status, odd.body.error.code]).toEqual([500, 'internal']);
    expect(odd.bytes.toString()).not.toContain('secret');
  });
});

describe('a bypass', () => {
  test('answers with the state of the partition', async () => {
    const partition = () => ({ status: 'armed' as const, ready: false, bypassed_zones: ['2'] });
    const answer = await served({ partition })('POST', '/v1/partitions/p1/bypass', { zones: ['2'] });
    expect(answer.body).toEqual({
      data: { partition_id: 'p1', status: 'armed', ready: false, bypassed_zones: ['2'] },
    });
  });

  test('that is refused in the middle says what was not left out', async () => {
    const answer = { outcome: 'refused', error: { code: 'NOT_ALLOWED', field: 'zone' } } as const;
    const bypass = async () => ({ kind: 'given', answer, left: ['3', '4'] }) as const;
    const told = await served({ bypass })('POST', '/v1/partitions/p1/bypass', { zones: ['2', '3', '4'] });
    expect([told.status, told.body.error.message]).toEqual([
      409,
      'this zone always watches; at most an installer leaves it out. Not left out: 3, 4',
    ]);
  });

  test('of what is no zone there, or too much without a code, does nothing', async () => {
    const unknown = await served({ bypass: async () => ({ kind: 'unknown_zone', place: 1 }) as const })(
      'POST',
      '/v1/partitions/p1/bypass',
      { zones: ['1', '471147'] },
    );
    expect(unknown.body.error).toEqual({
      code: 'invalid_request',
      message: 'zones[1]: is no zone of this partition',
      field: 'zones',
    });
    const many = await served({ bypass: async () => ({ kind: 'too_many', most: 5 }) as const })(
      'POST',
      '/v1/partitions/p1/bypass',
      { zones: ['1'] },
    );
    expect([many.status, many.body.error.field]).toEqual([400, 'zones']);
  });
});

test('a partition of which nobody knows whether it is armed is neither armed nor disarmed (safety 2)', async () => {
  const partition = () => ({ status: undefined, ready: false, bypassed_zones: [] });
  const answer = await served({ partition })('GET', '/v1/partitions/p1');
  expect([answer.status, answer.body.error.code]).toEqual([503, 'state_unknown']);
});

describe('a snapshot', () => {
  test('is a picture where one is asked for by name, else its address on this bridge, which takes the same rights', async () => {
    const call = served();
    for (const accept of ['image/jpeg', 'text/html, image/*;q=0.8']) {
      const taken = await call('POST', '/v1/devices/yard/snapshot', undefined, { accept });
      expect([taken.status, taken.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
      expect([...taken.bytes.subarray(0, 2)]).toEqual([0xff, 0xd8]);
    }
    const told = await call('POST', '/v1/devices/yard/snapshot', undefined, { accept: '*/*', host: '192.0.2.1:8443' });
    expect(told.body.data.url).toBe('https://192.0.2.1:8443/v1/snapshots/picture-3');
    const { pathname } = new URL(told.body.data.url);
    expect((await call('GET', pathname)).headers.get('content-type')).toBe('image/jpeg');
    expect((await call('GET', pathname, undefined, { authorization: '' })).status).toBe(401);
  });

  test('that may not be taken, or that the camera does not give, says why', async () => {
    const failing = (code: 'camera_refused' | 'camera_unreachable') =>
      served({ snapshot: async () => Promise.reject(new SitewardError(code, 'pictures: armed')) });
    const refused = await failing('camera_refused')('POST', '/v1/devices/yard/snapshot');
    expect([refused.status, refused.body.error]).toEqual([409, { code: 'camera_refused', message: 'pictures: armed' }]);
    expect((await failing('camera_unreachable')('POST', '/v1/devices/yard/snapshot')).status).toBe(503);
  });
});

describe('a dispatch', () => {
  const told = (answer: DispatchTold) =>
    served({ dispatch: async () => answer })('POST', '/v1/sites/4711/dispatch', { reason: 'glass break' });

  test('is 202 only where the service took it', async () => {
    const taken = await told({ kind: 'requested', dispatchId: 'd-1' });
    expect([taken.status, taken.body]).toEqual([202, { data: { dispatch_id: 'd-1', status: 'requested' } }]);
    const unnamed = await told({ kind: 'requested' });
    expect(unnamed.body.data).toEqual({ dispatch_id: expect.any(String), status: 'requested' });
  });

  test.each([
    ['offline', 503, 'cloud_offline', 'Nobody was called'],
    ['refused', 502, 'cloud_refused', 'Nobody was called'],
    ['not_configured', 501, 'not_configured', 'Nobody was called'],
    ['unknown', 504, 'dispatch_unknown', 'may have the request, or not'],
  ] as const)('%s is %i %s, and says what to do', async (kind, status, code, words) => {
    const answer = await told({ kind });
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    expect(answer.body.error.message).toContain(words);
    expect(answer.body.error.message).toContain('Call the monitoring station');
  });
});

test('the audit log is asked as the contract says', async () => {
  const asked: unknown[] = [];
  const call = served({
    async activity(query) {
      asked.push(query);
      return [];
    },
  });
  expect((await call('GET', '/v1/sites/4711/audit-log?limit=5&startDate=2026-11-01')).body).toEqual({ data: [] });
  expect(asked).toEqual([{ limit: 5, startDate: '2026-11-01' }]);
  const refused = await call('GET', '/v1/sites/4711/audit-log?limit=0');
  expect([refused.status, refused.body.error.field]).toEqual([400, 'limit']);
});

test('the control socket has them too, and a picture of it an address there', async () => {
  const app = lanApp(fakeLanPort(0), {
    log: pino({ level: 'silent' }),
    identify: () => ({ caller: { kind: 'local' }, from: 'local' }),
  });
  const answer = await app.request('/v1/devices/yard/snapshot', { method: 'POST' });
  expect(await answer.json()).toEqual({ data: { url: 'http://localhost/v1/snapshots/picture-1' } });
});
