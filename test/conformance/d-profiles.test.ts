import { expect } from 'vitest';
import { done, refused, rows } from './answers.ts';
import { siteBody } from './fixtures.ts';
import { type Answer, type Ask, type Method, send } from './http.ts';
import { conformance, unique } from './server.ts';
import { startSandbox } from './target.ts';

const service = conformance();
const { rule } = service;

/** A sandbox of one kind of integration, with a connected dealer, a site and a token. */
async function profile(kind: 'A' | 'B', body: (ask: Ready) => Promise<void>): Promise<void> {
  service.need(service.target().own || undefined, 'needs a sandbox this suite starts itself');
  const sandbox = await startSandbox(['--control'], { dialect: { profile: kind } });
  try {
    const control = async (path: string, json: object) =>
      (await send('POST', `${sandbox.url}/__sandbox${path}`, { json })).json ?? {};
    const dealer = await control('/dealers', { company_name: 'D', external_dealer_id: unique('d'), connected: true });
    const { token } = await control('/tokens', { kind: 'partner', dealers: [dealer.dealer_id] });
    const base = `/partner/v1/dealers/${dealer.dealer_id}`;
    const call = (method: Method, path: string, ask: Ask = {}) =>
      send(method, `${sandbox.url}${base}${path}`, { token: String(token), ...ask });
    const site = done(await call('POST', '/sites', { json: siteBody() }), 201);
    await body({ call, site: `/sites/${site.site_id}` });
  } finally {
    await sandbox.stop();
  }
}

interface Ready {
  call(method: Method, path: string, ask?: Ask): Promise<Answer>;
  readonly site: string;
}

const devices = { json: [{ external_device_id: 'c', device_type: 'camera', zone_number: '1' }] };
const bindings = { json: { account_number: '1' } };

rule('S-075 an alarm platform (A) has no monitoring-bindings', async () => {
  await profile('A', async ({ call, site }) => {
    refused(await call('PUT', `${site}/monitoring-bindings`, bindings), 403);
    done(await call('GET', ''));
    done(await call('POST', `${site}/devices`, devices), 201);
    rows(await call('GET', `${site}/activity-logs`));
  });
});

rule('S-075 a video platform (B) neither reads dealers nor creates devices nor reads activity logs', async () => {
  await profile('B', async ({ call, site }) => {
    refused(await call('GET', ''), 403);
    refused(await call('PUT', '/disconnect'), 403);
    refused(await call('POST', `${site}/devices`, devices), 403);
    refused(await call('GET', `${site}/activity-logs`), 403);
    done(await call('PUT', `${site}/monitoring-bindings`, bindings));
    done(await call('PUT', '', { json: {} }));
    rows(await call('GET', `${site}/devices`));
    expect(rows(await call('GET', `${site}/contacts`))).toEqual([]);
  });
});
