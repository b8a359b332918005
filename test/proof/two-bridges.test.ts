import { request } from 'undici';
import { afterEach, expect, it } from 'vitest';
import type { StatusDocument } from '#lan/http/schemas.ts';
import { eventually, type Running } from '#sandbox/demo/processes.ts';
import type { CloudProcess } from '../harness/cloud.ts';
import { metricsOf } from '../harness/control.ts';
import { type Site, startSite } from '../harness/site.ts';

/**
 * I9 with real parts: a site of security type 2 with two bridges, each a daemon beside a panel of its own, at one cloud.
 * The first one speaks for the site; the other one only shows what the cloud says.
 */
const secret = 'two-bridges-partner-secret';
const place = { dealer_id: 17, site_id: 4711 };
const statusPath = `/partner/v1/dealers/${place.dealer_id}/sites/${place.site_id}/arming-status`;
const clients = { first: 'partner-first', second: 'partner-second', operator: 'partner-operator' } as const;
const patience = { timeoutMs: 90_000, everyMs: 250 } as const;

interface Bridge {
  readonly site: Site;
  readonly panel: Running;
  readonly partition: 'p1' | 'p2';
}

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function startBridge(
  partition: Bridge['partition'],
  client: string,
  { beside, ...options }: { beside?: Site; prepare?: (cloud: CloudProcess) => Promise<void> },
): Promise<Bridge> {
  const audience = beside === undefined ? '' : `\n  audience: ${beside.line.url}`;
  const role = partition === 'p1' ? 'primary' : 'individual';
  const site = await startSite({
    siteYaml: 'id: "4711", dealer_id: "17", security_type: 2',
    bridgeYaml: `external_id: sw-${role}, role: ${role}`,
    env: { PARTNER_SECRET: secret },
    // The sandbox knows itself by the address of the first bridge's line.
    cloudYaml: `  partner: { client_id: ${client}, client_secret: { env: PARTNER_SECRET } }${audience}`,
    yaml: () => `
partitions: [ { id: ${partition}, name: Part ${partition} } ]
panels:
  - id: main
    profile: pai
    partitions: { ${partition}: Area_1 }
    zones: { "1": { type: perimeter, name: Door, key: Door, partition: ${partition} } }
`,
    ...(beside !== undefined && { beside }),
    ...options,
  });
  open.push(site);
  const panel = await site.panel('panel', [
    '--kind',
    'pai',
    '--partition',
    'Area_1:0:0',
    '--zone',
    'Door:Area_1:instant',
  ]);
  await site.lan.shows(`partition/${partition}/state`, 'disarmed', 30_000);
  return { site, panel, partition };
}

/** The site in the cloud, with a client for each bridge and one for the operator. */
async function settle(cloud: CloudProcess): Promise<void> {
  const site = { site_id: place.site_id, external_site_id: 'proof', name: 'Proof', timezone: 'Europe/Berlin' };
  const dealer = { dealer_id: place.dealer_id, external_dealer_id: 'two', sites: [{ ...site, security_type: 2 }] };
  await cloud.control('dealers', { method: 'POST', body: dealer });
  for (const client_id of Object.values(clients))
    await cloud.control('clients', { method: 'POST', body: { client_id, client_secret: secret } });
}

/** The operator's page, and what the cloud knows of who wrote what. */
async function operator(cloud: CloudProcess) {
  const body = { kind: 'partner', client_id: clients.operator };
  const { token } = (await cloud.control('tokens', { method: 'POST', body })) as { token: string };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const call = async (method: 'GET' | 'PUT', given?: object) => {
    const answer = await request(`${cloud.url}${statusPath}`, {
      method,
      headers,
      ...(given !== undefined && { body: JSON.stringify(given) }),
    });
    return (await answer.body.json()) as { status: string };
  };
  return {
    press: async (status: 'armed' | 'disarmed') => void (await call('PUT', { status })),
    holds: async (status: 'armed' | 'disarmed') => {
      const what = `the cloud holds ${status}`;
      await eventually(what, async () => ((await call('GET')).status === status ? true : undefined), patience);
    },
    /** Writes of the arming status by one client. */
    async puts(client: string): Promise<number> {
      const { log } = (await cloud.control('log')) as { log: { method: string; path: string; client?: string }[] };
      return log.filter((one) => one.method === 'PUT' && one.path === statusPath && one.client === client).length;
    },
  };
}

const atKeypad = ({ panel }: Bridge, verb: 'arm' | 'disarm') => panel.send(`${verb} Area_1`);
const stands = ({ site, partition }: Bridge, state: 'armed_away' | 'disarmed') =>
  site.lan.shows(`partition/${partition}/state`, state, 30_000);
const syncOf = async ({ site }: Bridge) => ((await site.api('/api/v1/status')) as StatusDocument).arming_sync;

/** At a mirror, that it has read it; at the bridge that speaks, that it agrees with it as well. */
async function shows(bridge: Bridge, cloud: 'armed' | 'disarmed'): Promise<void> {
  await eventually(
    `${bridge.partition} shows that the cloud holds ${cloud}`,
    async () => {
      // A read is due at once, as after the word of a technician.
      bridge.site.daemon.reload();
      const sync = await syncOf(bridge);
      return sync?.cloud === cloud && (sync.mode === 'mirror' || sync.agreed) ? true : undefined;
    },
    { timeoutMs: 60_000, everyMs: 1_000 },
  );
}

const counter = 'siteward_arming_sync_requests_total{method="get"';
async function reads({ site }: Bridge): Promise<number> {
  const lines = (await metricsOf(site.socket)).split('\n').filter((line) => line.startsWith(counter));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

const armings = async ({ site }: Bridge) =>
  (await site.history()).flatMap(({ event }) => (event.class === 'arming' ? [`${event.kind} by ${event.source}`] : []));

it('two bridges of one site show what the other one told the cloud, and write nothing against each other', {
  timeout: 300_000,
}, async () => {
  const first = await startBridge('p1', clients.first, { prepare: settle });
  const { cloud } = first.site;
  const second = await startBridge('p2', clients.second, { beside: first.site });
  const page = await operator(cloud);

  // What is done at the first panel shows at the second bridge, whose own panel stays as it is.
  atKeypad(first, 'arm');
  await stands(first, 'armed_away');
  await page.holds('armed');
  await shows(second, 'armed');
  await stands(second, 'disarmed');
  // What is done at the second panel is told as an event, never as the word for the site.
  atKeypad(second, 'arm');
  await stands(second, 'armed_away');
  await eventually(
    'the arming of p2 in the cloud',
    async () =>
      (await cloud.events()).find(({ body }) => body.payload.partition === 'p2' && body.payload.kind === 'armed_away'),
    patience,
  );
  await shows(first, 'armed');

  // The line of the second bridge is cut: what happened there arrives with its own times, what was said is not done.
  await second.site.line.cut();
  atKeypad(second, 'disarm');
  await stands(second, 'disarmed');
  atKeypad(second, 'arm');
  await stands(second, 'armed_away');
  await second.site.line.restore();
  // The line of the first one is cut, the operator presses, and then somebody disarms and arms at its panel.
  await first.site.line.cut();
  await page.press('disarmed');
  await shows(second, 'disarmed');
  await stands(second, 'armed_away');
  atKeypad(first, 'disarm');
  await stands(first, 'disarmed');
  atKeypad(first, 'arm');
  await stands(first, 'armed_away');
  await first.site.line.restore();
  await page.holds('armed');
  await Promise.all([shows(first, 'armed'), shows(second, 'armed')]);
  await Promise.all([stands(first, 'armed_away'), stands(second, 'armed_away')]);

  // On a healthy line a press is a command, to the panel of the bridge that speaks and to no other.
  for (const bridge of [first, second]) {
    atKeypad(bridge, 'disarm');
    await stands(bridge, 'disarmed');
  }
  await page.holds('disarmed');
  await Promise.all([shows(first, 'disarmed'), shows(second, 'disarmed')]);
  await page.press('armed');
  await first.site.lan.shows('partition/p1/state', 'armed_away', 90_000);
  await shows(second, 'armed');
  await stands(second, 'disarmed');

  // Both daemons are killed, and somebody disarms at the first panel.
  await Promise.all([first.site.daemon.kill(), second.site.daemon.kill()]);
  atKeypad(first, 'disarm');
  await Promise.all([first.site.daemon.restart(), second.site.daemon.restart()]);
  // What the broker retained meanwhile may be older than the arming, so it disarms nothing; the panel's next words do.
  await eventually(
    'a word of the panel that did not wait in the broker',
    async () => {
      atKeypad(first, 'arm');
      await stands(first, 'armed_away');
      atKeypad(first, 'disarm');
      const isHeard = () => first.site.lan.shows('partition/p1/state', 'disarmed', 2_000);
      return isHeard().then(
        () => true,
        () => undefined,
      );
    },
    patience,
  );
  await page.holds('disarmed');
  await Promise.all([shows(first, 'disarmed'), shows(second, 'disarmed')]);
  await stands(second, 'disarmed');

  // One write for each truth that the cloud had not: armed, armed after the outage, disarmed, disarmed after the kill.
  const written = await page.puts(clients.first);
  expect(written).toBeGreaterThanOrEqual(4);
  expect(written).toBeLessThanOrEqual(6);
  const [mine, other] = [await reads(first), await reads(second)];
  await eventually(
    'four more reads of both',
    async () => {
      for (const { site } of [first, second]) site.daemon.reload();
      return (await reads(first)) >= mine + 4 && (await reads(second)) >= other + 4 ? true : undefined;
    },
    { ...patience, everyMs: 1_000 },
  );
  expect(await page.puts(clients.first)).toBe(written);
  expect(await page.puts(clients.second)).toBe(0);

  // The first word of each panel is a change too.
  expect(await armings(first)).toEqual([
    'disarmed by panel',
    'armed_away by panel',
    'disarmed by panel',
    'armed_away by panel',
    'disarmed by panel',
    'armed_away by cloud',
    'disarmed by panel',
  ]);
  const [on, off] = ['armed_away by panel', 'disarmed by panel'];
  expect(await armings(second)).toEqual([off, on, off, on, off]);
  // The press of the outage is told, never done; how it is called depends on how long the outage was.
  const told = (await first.site.history()).filter(({ event }) => event.kind === 'arming_conflict');
  expect(told).toMatchObject([{ event: { data: { evidence: [{ cloud: 'disarmed', local: 'armed' }] } } }]);
  expect((await second.site.history()).filter(({ event }) => event.kind === 'arming_conflict')).toEqual([]);
});
