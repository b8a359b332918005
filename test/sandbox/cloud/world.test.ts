import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ServerDialect } from '../../../src/cloud/contract/index.ts';
import { type Place, place, tokenFor } from './partner.ts';
import { control, form, postForm, type Service, send, startService } from './service.ts';

let service: Service;
let here: Place;
const open = async (dialect: Partial<ServerDialect> = {}) => {
  service = await startService({ dialect });
  here = await place(service);
};
beforeEach(() => open());
afterEach(() => service.cloud.close());

const reopen = async (dialect: Partial<ServerDialect>) => {
  await service.cloud.close();
  await open(dialect);
};
const clientToken = async (id: string, secret: string) =>
  (await postForm(service, form({ grant_type: 'client_credentials', client_id: id, client_secret: secret }))).json
    .access_token;
const siteId = () => here.site.split('/').at(-1);
const log = async () => (await here.call('GET', `${here.site}/activity-logs`)).json as { type: string }[];

describe('whom a token reaches', () => {
  it('S-053 connect opens the dealer to the tokens of that partner, also to those it has already', async () => {
    await control(service, 'POST', 'clients', { client_id: 'mine', client_secret: 'm', dealers: [] });
    await control(service, 'POST', 'clients', { client_id: 'other', client_secret: 'o', dealers: [] });
    const { dealer_id } = (await control(service, 'POST', 'dealers', { company_name: 'New' })).json;
    const path = `/partner/v1/dealers/${dealer_id}`;
    const [mine, other] = [await clientToken('mine', 'm'), await clientToken('other', 'o')];
    expect((await here.call('GET', path, undefined, mine)).status).toBe(403);
    const user = (await control(service, 'POST', 'tokens', { kind: 'user', dealers: [dealer_id], client_id: 'mine' }))
      .json.token;
    const body = { external_dealer_id: 'new', company_name: 'Newer' };
    expect((await here.call('PUT', '/partner/v1/dealers/connect', body, user)).json).toMatchObject(body);
    expect((await here.call('GET', path, undefined, mine)).status).toBe(200);
    expect((await here.call('GET', path, undefined, other)).status).toBe(403);
  });
  it('S-054 S-055 who disconnected may say so again, and reaches nothing else of the dealer', async () => {
    const other = await tokenFor(service, 'partner', 999);
    expect((await here.call('PUT', `${here.dealer}/disconnect`)).json).toMatchObject({ external_dealer_id: null });
    expect((await here.call('PUT', `${here.dealer}/disconnect`)).status).toBe(200);
    expect((await here.call('GET', here.dealer)).status).toBe(403);
    expect((await here.call('GET', here.site)).status).toBe(403);
    expect((await here.call('PUT', `${here.dealer}/disconnect`, undefined, other)).status).toBe(403);
  });
  it('S-054 a dealer that was never connected cannot be disconnected', async () => {
    const { dealer_id } = (await control(service, 'POST', 'dealers', {})).json;
    const token = await tokenFor(service, 'partner', dealer_id);
    expect((await here.call('PUT', `/partner/v1/dealers/${dealer_id}/disconnect`, undefined, token)).status).toBe(403);
  });
  it('S-007 an API key sees only sites of its dealers', async () => {
    const other = await place(service);
    const path = `/ext/v1/sites/${siteId()}/audio-messages`;
    expect((await here.call('GET', path, undefined, here.apiKey)).status).toBe(200);
    expect((await here.call('GET', path, undefined, other.apiKey)).status).toBe(404);
    const partition = `/v1/partitions/${siteId()}-1`;
    expect((await here.call('GET', partition, undefined, other.apiKey)).status).toBe(404);
  });
  it('an API key outlives a revocation, an access token does not', async () => {
    await control(service, 'POST', 'revoke');
    const path = `/ext/v1/sites/${siteId()}/audio-messages`;
    expect((await here.call('GET', path, undefined, here.apiKey)).status).toBe(200);
    expect((await here.call('GET', here.site)).status).toBe(401);
  });
});

describe('playbacks', () => {
  it('wait for the speakers, play as long as the message lasts, and are over, by the clock', async () => {
    const path = `/ext/v1/sites/${siteId()}/audio-messages/msg-closing/play`;
    for (const repeat of [2, 1]) {
      const answer = await here.call('POST', path, { repeat }, here.apiKey);
      expect(answer.json.data).toMatchObject({ status: 'playing', repeat, volume: 70 });
    }
    const at = async (offset_s: number) => {
      await control(service, 'POST', 'clock', { offset_s });
      const { playbacks } = (await control(service, 'GET', 'playbacks')).json;
      return playbacks.map((one: { status: string; devices: { status: string }[] }) => {
        expect(new Set(one.devices.map(({ status }) => status))).toEqual(new Set([one.status]));
        return one.status;
      });
    };
    expect(await at(0)).toEqual(['playing', 'queued']);
    expect(await at(11)).toEqual(['completed', 'playing']);
    expect(await at(16)).toEqual(['completed', 'completed']);
  });
  it('at a hundred that wait, the next is refused', async () => {
    const path = `/ext/v1/sites/${siteId()}/audio-messages/msg-closing/play`;
    for (let n = 0; n < 101; n += 1) {
      expect((await here.call('POST', path, { repeat: 5 }, here.apiKey)).status).toBe(200);
    }
    const answer = await here.call('POST', path, undefined, here.apiKey);
    expect(answer).toMatchObject({ status: 400, json: { error: { message: expect.stringContaining('100') } } });
  });
});

describe('arming', () => {
  it('a site with two partitions is armed only when both are', async () => {
    const more = await place(service, {
      sites: [
        {
          ...{ external_site_id: 'x', name: 'X', timezone: 'UTC' },
          partitions: [{ partition_id: 'left' }, { partition_id: 'right' }],
        },
      ],
    });
    const status = async () => (await more.call('GET', `${more.site}/arming-status`)).json.status;
    await more.call('POST', '/v1/partitions/left/arm', undefined, more.apiKey);
    expect(await status()).toBe('disarmed');
    await more.call('POST', '/v1/partitions/right/arm', undefined, more.apiKey);
    expect(await status()).toBe('armed');
    await more.call('PUT', `${more.site}/arming-status`, { status: 'disarmed' });
    const left = await more.call('GET', '/v1/partitions/left', undefined, more.apiKey);
    expect(left.json.data).toMatchObject({ status: 'disarmed', bypassed_zones: [] });
  });
  it('disarming ends a bypass', async () => {
    const path = `/v1/partitions/${siteId()}-1`;
    const bypass = await here.call('POST', `${path}/bypass`, { zones: ['2', '2'] }, here.apiKey);
    expect(bypass.json.data.bypassed_zones).toEqual(['2']);
    await here.call('POST', `${path}/arm`, undefined, here.apiKey);
    expect((await here.call('GET', path, undefined, here.apiKey)).json.data.bypassed_zones).toEqual(['2']);
    await here.call('POST', `${path}/disarm`, undefined, here.apiKey);
    expect((await here.call('GET', path, undefined, here.apiKey)).json.data.bypassed_zones).toEqual([]);
  });
});

describe('pictures on demand', () => {
  it('come as JPEG or as an address that leads to one', async () => {
    const { json: devices } = await here.call('GET', `${here.site}/devices`);
    const camera = devices.find((device: { device_type: string }) => device.device_type === 'camera').device_id;
    const path = `${service.cloud.url}/v1/devices/${camera}/snapshot`;
    const authorization = `Bearer ${here.apiKey}`;
    const direct = await send(path, { method: 'POST', headers: { authorization, accept: 'image/jpeg' } });
    expect(direct.headers['content-type']).toBe('image/jpeg');
    const { json } = await send(path, { method: 'POST', headers: { authorization, accept: '*/*' } });
    const picture = await fetch(json.data.url);
    expect(picture.headers.get('content-type')).toBe('image/jpeg');
    expect([...new Uint8Array(await picture.arrayBuffer()).slice(0, 2)]).toEqual([0xff, 0xd8]);
  });
});

describe('activity log', () => {
  it('has an entry for every change of a site, newest first', async () => {
    const { call, site, apiKey } = here;
    const [contact] = (await call('GET', `${site}/contacts`)).json;
    const [bridge, camera] = (await call('GET', `${site}/devices`)).json;
    const verification = await control(service, 'POST', 'verifications', {
      dealer_id: Number(here.dealer.split('/').at(-1)),
      site_id: Number(siteId()),
      contact_id: contact.contact_id,
    });
    const answer = { contact_id: contact.contact_id, action: 'dispatch', responded_at: new Date().toISOString() };
    const changes: [string, string, unknown?, string?][] = [
      ['PUT', site, { name: 'Renamed' }],
      ['PATCH', `${site}/activation-status`],
      ['PATCH', `${site}/link`],
      ['PATCH', `${site}/unlink`],
      ['PUT', `${site}/monitoring-bindings`, { account_number: '1' }],
      ['POST', `${site}/contacts`, { external_contact_id: 'l', first_name: 'L', last_name: 'L' }],
      ['PUT', `${site}/contacts/${contact.contact_id}`, { email: 'x@example.com' }],
      ['POST', `${site}/devices`, [{ external_device_id: 'n', device_type: 'camera', zone_number: '9' }]],
      ['PUT', `${site}/devices`, [{ device_id: camera.device_id, name: 'Gate' }]],
      ['POST', `${site}/devices/bulk-delete`, { deviceIds: [bridge.device_id] }],
      ['PATCH', `${site}/arming-settings`, { security_type: 1 }],
      ['PUT', `${site}/arming-status`, { status: 'armed' }],
      ['POST', `${site}/nvrs`, { external_nvr_id: 'n', name: 'N' }],
      ['PATCH', `${site}/alarm-verifications/${verification.json.verification_id}`, answer],
      ['POST', `/v1/sites/${siteId()}/dispatch`, { reason: 'noise' }, apiKey],
      ['POST', `/v1/devices/${camera.device_id}/snapshot`, undefined, apiKey],
      ['POST', `/v1/partitions/${siteId()}-1/bypass`, { zones: ['9'] }, apiKey],
      ['POST', `/ext/v1/sites/${siteId()}/audio-messages/msg-test/play`, undefined, apiKey],
      ['DELETE', `${site}/contacts/${contact.contact_id}`],
    ];
    for (const [method, path, body, token] of changes) {
      const before = (await log()).length;
      const changed = await call(method, path, body, token);
      expect(changed.status, `${method} ${path} ${changed.text}`).toBeLessThan(300);
      expect((await log()).length, `${method} ${path}`).toBe(before + 1);
    }
    const audit = await call('GET', `/v1/sites/${siteId()}/audit-log`, undefined, apiKey);
    expect(audit.json.data).toEqual(await log());
    expect((await log())[0]).toMatchObject({ type: 'contact_deleted' });
  });
});

describe('dialect', () => {
  it('strict_unknown refuses members nobody knows, in bulk calls only the item', async () => {
    await reopen({ strict_unknown: true });
    const site = await here.call('PUT', here.site, { name: 'A', colour: 'red' });
    expect(site).toMatchObject({ status: 400, json: { field: 'colour' } });
    const items = [
      { external_device_id: 'p', device_type: 'camera', zone_number: '1', colour: 'red' },
      { external_device_id: 'q', device_type: 'camera', zone_number: '2' },
    ];
    const bulk = await here.call('POST', `${here.site}/devices`, items);
    expect(bulk).toMatchObject({ status: 201, json: { success_count: 1, failure_count: 1 } });
    expect(bulk.json.results[0].error_message).toContain('colour');
  });
  it('site_time_style plain shows and filters times without a zone', async () => {
    await reopen({ site_time_style: 'plain' });
    const { created_at } = (await here.call('GET', here.site)).json;
    expect(created_at).toMatch(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/);
    const filter = new URLSearchParams({ filter: `created_at,${created_at},eq` });
    expect((await here.call('GET', `${here.dealer}/sites?${filter}`)).json).toHaveLength(1);
  });
  it.each([
    ['action', { action: 'arm' }, { action: 'arm' }],
    ['is_armed', { is_armed: true }, { is_armed: true }],
    ['is_armed_number', { is_armed: 1 }, { is_armed: 1 }],
  ] as const)('arming_status_form %s', async (arming_status_form, body, answer) => {
    await reopen({ arming_status_form, arming_status_wrapped: true });
    const path = `${here.site}/arming-status`;
    expect((await here.call('PUT', path, body)).json).toMatchObject({ data: answer });
    expect(await here.call('PUT', path, { status: 'armed' })).toMatchObject({ status: 400 });
  });
  it('activation_sets off toggles whatever the body says; is_activated asks for the member', async () => {
    await reopen({ activation_sets: false });
    const path = () => `${here.site}/activation-status`;
    expect((await here.call('PATCH', path(), { is_activated: 0 })).json.is_activated).toBe(1);
    await reopen({ activation_body: 'is_activated' });
    expect(await here.call('PATCH', path())).toMatchObject({ status: 400, json: { field: 'is_activated' } });
    expect((await here.call('PATCH', path(), { is_activated: 0 })).json.is_activated).toBe(0);
  });
  it('link_body empty_object asks for a body', async () => {
    await reopen({ link_body: 'empty_object' });
    expect((await here.call('PATCH', `${here.site}/link`)).status).toBe(400);
    expect((await here.call('PATCH', `${here.site}/link`, {})).status).toBe(200);
  });
  it('duplicate_status, security_type and token_expires_in', async () => {
    await reopen({ duplicate_status: 409, security_type: 2, token_expires_in: false });
    const twin = [{ external_device_id: 'c', device_type: 'camera', zone_number: '1' }];
    const bulk = await here.call('POST', `${here.site}/devices`, twin);
    expect(bulk.json.results).toMatchObject([{ status_code: 409 }]);
    expect((await here.call('GET', `${here.site}/arming-settings`)).json).toEqual({ security_type: 2 });
    const fields = { grant_type: 'client_credentials', client_id: 'partner-1', client_secret: 's3cr+t/%:x' };
    expect((await postForm(service, form(fields))).json).not.toHaveProperty('expires_in');
  });
  it('ref_path moves the audio calls by account reference', async () => {
    await reopen({ ref_path: '/ref/v1/accounts/{account_reference_id}' });
    const answer = await here.call('GET', '/ref/v1/accounts/0815/audio-messages', undefined, here.apiKey);
    expect(answer.json.data.total_count).toBeGreaterThan(0);
    expect((await here.call('GET', '/ref/v1/sites/0815/audio-messages', undefined, here.apiKey)).status).toBe(404);
  });
  it('requests_per_minute answers 429 with Retry-After, never on the control path', async () => {
    await reopen({ requests_per_minute: 3 });
    // In the middle of a minute of the service, so that the next one does not begin meanwhile.
    const second = 30 - new Date().getUTCSeconds();
    await control(service, 'POST', 'clock', { offset_s: second });
    const statuses = [];
    for (let n = 0; n < 5; n += 1) statuses.push((await here.call('GET', here.site)).status);
    expect(statuses.slice(0, 3).every((status) => status === 200)).toBe(true);
    expect(statuses.slice(3)).toEqual([429, 429]);
    const limited = await here.call('GET', here.site);
    expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0);
    expect((await control(service, 'GET', 'sites')).status).toBe(200);
    await control(service, 'POST', 'clock', { offset_s: second + 60 });
    expect((await here.call('GET', here.site)).status).toBe(200);
  });
});

describe('control path', () => {
  it('makes tokens that have expired already', async () => {
    const { token } = (await control(service, 'POST', 'tokens', { kind: 'partner', expires_in: -1 })).json;
    expect((await here.call('GET', here.dealer, undefined, token)).status).toBe(401);
  });
  it.each([
    ['tokens', { kind: 'user' }, 'dealers'],
    ['tokens', { kind: 'user', dealers: [1, 2] }, 'dealers'],
    ['tokens', { kind: 'king' }, 'kind'],
    ['tokens', { kind: 'event', client_id: 'nobody' }, 'client_id'],
    ['clients', { client_id: 'x', public_key_pem: 'no key' }, 'public_key_pem'],
    ['clients', {}, 'client_id'],
    ['dealers', { dealer_id: 1 }, 'dealer_id'],
    ['dealers', { sites: [{}] }, 'sites[0].external_site_id'],
    ['dealers', { colour: 'red' }, 'body'],
    ['verifications', { dealer_id: 9, site_id: 1, contact_id: 1 }, 'dealer_id'],
    ['verifications', { dealer_id: 1, site_id: 9, contact_id: 1 }, 'site_id'],
    ['verifications', { dealer_id: 1, site_id: 101, contact_id: 9 }, 'contact_id'],
  ])('POST %s refuses %j and names %s', async (path, body, field) => {
    expect(await control(service, 'POST', path, body)).toMatchObject({ status: 400, json: { field } });
  });
  it('shows whether a site is linked, and the last answer to a verification', async () => {
    await here.call('PATCH', `${here.site}/link`);
    expect((await control(service, 'GET', 'sites')).json.sites).toMatchObject([{ linked: true }]);
    const contact_id = (await here.call('GET', `${here.site}/contacts`)).json[0].contact_id;
    const body = { dealer_id: 1, site_id: Number(siteId()), contact_id };
    const { verification_id } = (await control(service, 'POST', 'verifications', body)).json;
    const answer = { contact_id, action: 'disregard', responded_at: '2026-01-02T03:04:05Z' };
    await here.call('POST', `${here.site}/alarm-verifications/${verification_id}/response`, answer);
    expect((await control(service, 'GET', 'verifications')).json.verifications).toMatchObject([
      { verification_id, answer: { ...answer, responded_at: '2026-01-02T03:04:05.000Z' } },
    ]);
  });
});
