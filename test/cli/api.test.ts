import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cloudOperations } from '#cloud/contract/index.ts';
import { html, json, keyPair, type Scripted, scripted } from '../cloud/support.ts';
import { main, siteward } from './run-cli.ts';

type Answer = Parameters<typeof scripted>[0];

let server: Scripted;
let answer: Answer;
beforeEach(async () => {
  answer = (_, response) => json(response, 404, { message: 'nothing here' });
  server = await scripted((seen, response, socket) => answer(seen, response, socket));
});
afterEach(() => server.close());

const token = 'tok-5f1c8e-secret';
const api = (...args: string[]) =>
  siteward(['api', ...args, '--base-url', server.url, '--token-env', 'TOKEN'], { TOKEN: token });

const site = { site_id: 2, name: 'Shop', timezone: 'Europe/Berlin', is_activated: 1 };

describe('what it lists', () => {
  test('alone it lists every operation with one line each', async () => {
    const { out, code } = await siteward(['api']);
    expect(code).toBe(0);
    const kebab = (id: string) => id.replaceAll(/[A-Z]/g, (upper) => `-${upper.toLowerCase()}`);
    for (const { id, summary } of Object.values(cloudOperations)) {
      expect(out).toMatch(new RegExp(`^${kebab(id)} +${summary.replaceAll(/[()/]/g, '.')}$`, 'm'));
    }
  });

  test('the help of an operation names its places, its query and how a body is given', async () => {
    const list = await siteward(['api', 'list-activity-logs', '--help']);
    expect(list.out).toContain('<dealer-id> <site-id>');
    expect(list.out).toContain('--start-date <start-date>');
    expect(list.out).not.toContain('--body');
    expect((await siteward(['api', 'create-site', '--help'])).out).toContain('--set <name=value>');
  });
});

describe('what it sends', () => {
  test('places, query, token and trace id reach the service', async () => {
    answer = (_, response) => json(response, 200, [site]);
    const { code, out } = await api(
      'list-sites',
      '1',
      '--filter',
      'name,a&b,eq',
      '--filter',
      'site_id,1,gt',
      '--limit',
      '5',
    );
    expect(code).toBe(0);
    expect(out).toBe('site_id  name  timezone       is_activated\n2        Shop  Europe/Berlin  1\n');
    const [seen] = server.seen;
    const url = new URL(seen?.path ?? '', server.url);
    expect(url.pathname).toBe('/partner/v1/dealers/1/sites');
    expect(url.searchParams.getAll('filter')).toEqual(['name,a&b,eq', 'site_id,1,gt']);
    expect(url.searchParams.get('limit')).toBe('5');
    expect(seen?.headers).toMatchObject({ authorization: `Bearer ${token}` });
    expect(seen?.headers['x-partner-trace-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('--set gives text where the interface wants text, and JSON elsewhere', async () => {
    answer = (_, response) => json(response, 201, site);
    await api('create-site', '1', '--set', 'name=12', '--set', 'monitoring_station_id=7', '--set', 'timezone=UTC');
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ name: '12', monitoring_station_id: 7, timezone: 'UTC' });
    await api('update-monitoring-bindings', '1', '2', '--set', 'monitoring_station_id=null');
    expect(JSON.parse(server.seen[1]?.body ?? '')).toEqual({ monitoring_station_id: null });
  });

  test('the help of an operation lists the members of its body, and says which are needed', async () => {
    const one = await siteward(['api', 'update-arming-settings', '--help']);
    expect(one).toMatchObject({
      code: 0,
      out: expect.stringMatching(/Members of the body:\n {2}security_type +number; needed; 1 /),
    });
    const bulk = await siteward(['api', 'create-devices', '--help']);
    expect(bulk.out).toMatch(/Members of one item of the body:\n[\s\S]*device_type +camera, bridge; needed\n/);
  });

  test('a bulk call by --set is a list of one item; a failed item is told and is exit code 1', async () => {
    const results = [{ is_successful: false, status_code: 400, error_message: 'zone_number: is required', req: {} }];
    answer = (_, response) => json(response, 201, { success_count: 0, failure_count: 1, results });
    const { code, out, err } = await api('create-devices', '1', '2', '--set', 'external_device_id=cam-1');
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual([{ external_device_id: 'cam-1' }]);
    expect(code).toBe(1);
    expect(out).toContain('zone_number: is required');
    expect(err).toContain('1 of the items failed');
  });

  test('a body comes from standard input', async () => {
    answer = (_, response) => json(response, 200, site);
    const args = [
      main,
      'api',
      'update-site',
      '1',
      '2',
      '--body',
      '-',
      '--base-url',
      server.url,
      '--token-env',
      'TOKEN',
    ];
    const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH, TOKEN: token } });
    child.stdin.end('{"name":"Corner"}');
    const [out, code] = await Promise.all([text(child.stdout), new Promise((done) => child.once('exit', done))]);
    expect([code, out]).toEqual([0, expect.stringContaining('Shop')]);
    expect(server.seen[0]?.body).toBe('{"name":"Corner"}');
  });

  test('an operation that cannot be undone needs --yes where nobody can be asked', async () => {
    answer = (_, response) => json(response, 204, undefined);
    for (const args of [
      ['delete-site', '1', '2'],
      ['delete-devices', '1', '2', '--set', 'deviceIds=[3]'],
      ['disconnect-dealer', '1'],
      ['unlink-site', '1', '2'],
    ]) {
      const { code, err } = await api(...args);
      expect([code, err]).toEqual([2, expect.stringContaining('--yes')]);
    }
    expect(server.seen).toEqual([]);
    expect(await api('delete-site', '1', '2', '--yes')).toMatchObject({ code: 0, out: 'done\n' });
  });
});

describe('how it ends', () => {
  const html503: Answer = (_, response) => html(response, 503);
  test.each([
    [
      'a refusal',
      65,
      (_, response) => json(response, 400, { field: 'name', message: 'name: is required' }),
      'field: name',
    ],
    ['a 403, with what may explain it', 65, (_, response) => json(response, 403, {}), 'kind A'],
    ['nothing there', 66, (_, response) => json(response, 404, {}), 'cloud_not_found'],
    ['a token that is not accepted', 77, (_, response) => json(response, 401, {}), 'cloud_unauthorized'],
    ['HTML in place of the service', 69, html503, 'cloud_unreachable'],
    ['HTML that says it is well', 1, (_, response) => html(response, 200), 'cloud_bad_answer'],
    ['a connection that is cut', 69, (_, __, socket) => void socket.destroy(), 'cloud_unreachable'],
  ] satisfies [string, number, Answer, string][])('%s is exit code %i', async (_, expected, scripted, said) => {
    answer = scripted;
    const { code, err, out } = await api('get-dealer', '1', '--json');
    expect([code, err]).toEqual([expected, expect.stringContaining(said)]);
    expect(JSON.parse(out).error.trace_id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('an order that a page of HTML answered is not done', async () => {
    answer = (_, response) => html(response, 200);
    const { code, err, out } = await api('delete-site', '1', '2', '--yes');
    expect([code, out, err]).toEqual([1, '', expect.stringContaining('cloud_outcome_unknown')]);
  });

  test('failed items are exit code 1 and tokens stay hidden, also where the service wraps its answers', async () => {
    answer = (_, response) =>
      json(response, 200, { data: { results: [{ is_successful: false }], access_token: 'abc' } });
    const { code, out } = await api('create-devices', '1', '2', '--set', 'external_device_id=cam-1');
    expect([code, out]).toEqual([1, expect.not.stringContaining('abc')]);
  });

  test('wrong usage is 2 and sends nothing', async () => {
    for (const args of [
      ['no-such-operation'],
      ['get-site', '1'],
      ['get-site', '1', '..'],
      ['create-site', '1', '--set', 'name'],
      ['create-site', '1', '--body', '/nowhere'],
    ]) {
      expect((await api(...args)).code).toBe(2);
    }
    expect(server.seen).toEqual([]);
  });

  test('no secret is in any output, not even one the service sends back', async () => {
    answer = (seen, response) => json(response, 400, { message: `not with ${seen.headers.authorization}` });
    const refused = await api('get-dealer', '1', '--json');
    expect(refused.out + refused.err).not.toContain(token);
    const args = ['client-credentials-token', '--set', 'client_secret=x'];
    expect(await api(...args)).toMatchObject({ code: 2, err: expect.stringContaining('is a secret') });
  });
});

describe('with a configuration', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'siteward-api-'));
    const file = (name: string, content: string) => writeFileSync(join(dir, name), content, { mode: 0o600 });
    file('key.pem', keyPair().pem.reveal());
    file('secret', 's3cret-of-partner');
    file('api-key', 'k3y-of-audio');
    file(
      'siteward.yaml',
      `site: { id: '2', external_id: hq, name: HQ, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [{ id: p1, name: Ground floor }]
cloud:
  base_url: ${server.url}
  auth_url: ${server.url}
  events: { client_id: bridge-1, private_key: { file: ${dir}/key.pem } }
  partner: { client_id: partner-1, client_secret: { file: ${dir}/secret } }
  api_key: { file: ${dir}/api-key }
`,
    );
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));
  const withConfig = (...args: string[]) => siteward(['api', ...args, '--config', join(dir, 'siteward.yaml')]);

  test('each interface gets its own credential', async () => {
    answer = ({ path, body }, response) => {
      if (path !== '/oauth/token') return json(response, 200, {});
      const grant = new URLSearchParams(body).get('grant_type');
      return json(response, 200, { access_token: `token-${grant?.split(':').at(-1)}`, token_type: 'Bearer' });
    };
    expect(await withConfig('get-dealer', '1')).toMatchObject({ code: 0, err: '' });
    expect(await withConfig('list-audio-messages', '2')).toMatchObject({ code: 0 });
    expect(await withConfig('post-event', '--set', 'event_id=e-1')).toMatchObject({ code: 0 });
    const used = server.seen.filter(({ path }) => path !== '/oauth/token').map(({ headers }) => headers.authorization);
    expect(used).toEqual(['Bearer token-client_credentials', 'Bearer k3y-of-audio', 'Bearer token-jwt-bearer']);
  });

  test.each(['client-credentials-token', 'jwt-bearer-token'])(
    '%s asks with its credentials and shows no token',
    async (grant) => {
      answer = (_, response) =>
        json(response, 200, { access_token: 'tok-given', token_type: 'Bearer', expires_in: 3600 });
      const { code, out } = await withConfig(grant, '--json');
      expect([code, JSON.parse(out)]).toEqual([
        0,
        { access_token: '[secret]', token_type: 'Bearer', expires_in: 3600 },
      ]);
      expect(server.seen).toHaveLength(1);
    },
  );
});
