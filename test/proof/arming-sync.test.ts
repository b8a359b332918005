import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'undici';
import { afterEach, expect, it } from 'vitest';
import type { StatusDocument } from '#lan/http/schemas.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { metricsOf } from '../harness/control.ts';
import { code, type Site, startSite } from '../harness/site.ts';

const secret = 'proof-partner-secret';
const path = '/partner/v1/dealers/1/sites';

let site: Site;
afterEach(() => site?.close());

/** The whole site as processes, with a client for the partner interface and the ids the sandbox gave. */
async function begin(): Promise<{ held(): Promise<string>; press(status: string): Promise<void>; statusPath: string }> {
  site = await startSite({
    broker: 'embedded',
    env: { PARTNER_SECRET: secret },
    cloudYaml: '  partner: { client_id: partner-9, client_secret: { env: PARTNER_SECRET } }',
    yaml: () => 'partitions: [ { id: p1, name: Shop, exit_delay: 0s } ]',
  });
  await site.cloud.control('clients', { method: 'POST', body: { client_id: 'partner-9', client_secret: secret } });
  const { token } = (await site.cloud.control('tokens', { method: 'POST', body: { kind: 'partner' } })) as {
    token: string;
  };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const call = async (method: 'GET' | 'PUT' | 'PATCH', where: string, body?: object) => {
    const answer = await request(`${site.cloud.url}${where}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await answer.body.json()) as Record<string, unknown>;
  };
  const [first] = (await call('GET', path)) as unknown as { site_id: number }[];
  const id = first?.site_id;
  const statusPath = `${path}/${id}/arming-status`;
  await call('PATCH', `${path}/${id}/arming-settings`, { security_type: 3 });
  const text = readFileSync(site.config, 'utf8');
  writeFileSync(site.config, text.replace('id: "4711",', `id: "${id}", dealer_id: "1",`));
  await site.daemon.restart();
  return {
    statusPath,
    held: async () => String((await call('GET', statusPath)).status),
    press: async (status) => void (await call('PUT', statusPath, { status })),
  };
}

const status = async () => (await site.api('/api/v1/status')) as StatusDocument;
/** Good reads of the cloud since the start. */
async function reads(): Promise<number> {
  const [, count = '0'] =
    /siteward_arming_sync_requests_total\{method="get",outcome="disarmed"\} (\d+)/.exec(await metrics()) ?? [];
  return Number(count);
}
const metrics = () => metricsOf(site.socket);
const state = async () => (await status()).partitions[0]?.state;
const sync = async () => (await status()).arming_sync;
async function command(verb: 'arm' | 'disarm'): Promise<void> {
  const { outcome, error } = await site.lan.ask(verb, {
    partition: 'p1',
    code,
    ...(verb === 'arm' && { mode: 'away' }),
  });
  expect([outcome, error]).toEqual(['done', undefined]);
}

it('tells the cloud what changes on the site, does what changes in the cloud, and shows both', {
  timeout: 180_000,
}, async () => {
  const cloud = await begin();
  // A change in the first moments after a start is too close to it to tell.
  await eventually('the cloud was read for a while', async () => ((await reads()) >= 6 ? true : undefined), {
    timeoutMs: 90_000,
  });
  await cloud.press('armed');
  await eventually('the site follows', async () => ((await state()) === 'armed_away' ? true : undefined), {
    timeoutMs: 90_000,
  });
  await command('disarm');
  await eventually('the cloud is told', async () => ((await cloud.held()) === 'disarmed' ? true : undefined));
  await eventually('both are in step', async () => ((await sync())?.agreed === true ? true : undefined));
  expect(await sync()).toMatchObject({ mode: 'two-way', cloud: 'disarmed', site: 'disarmed', security_type: 3 });
  const arming = (await site.history())
    .filter(({ event }) => event.class === 'arming')
    .map(({ event }) => event.source);
  expect(arming).toEqual(['cloud', 'lan']);
});

it('killed while a write of "disarmed" is on its way, it takes its late arrival for no command to disarm', {
  timeout: 180_000,
}, async () => {
  const cloud = await begin();
  await command('arm');
  await eventually('the cloud is told', async () => ((await cloud.held()) === 'armed' ? true : undefined));
  // The write is done, and its answer never comes.
  await site.cloud.control('faults', {
    method: 'POST',
    body: { path: cloud.statusPath, method: 'PUT', mode: 'hang', when: 'after', count: 1 },
  });
  await command('disarm');
  await eventually('the write has arrived', async () => ((await cloud.held()) === 'disarmed' ? true : undefined));
  await site.daemon.kill();
  await cloud.press('armed');
  await site.daemon.restart();
  await command('arm');
  await eventually('both are in step', async () => ((await sync())?.agreed === true ? true : undefined));
  // As a write that lay somewhere on the line for half a minute would.
  await cloud.press('disarmed');
  await eventually('the cloud is told the truth', async () => ((await cloud.held()) === 'armed' ? true : undefined), {
    timeoutMs: 90_000,
  });
  expect(await state()).toBe('armed_away');
  const events = (await site.history()).map(({ event }) => event);
  expect(events.filter((event) => event.class === 'arming').map(({ kind, source }) => [kind, source])).toEqual([
    ['armed_away', 'lan'],
    ['disarmed', 'lan'],
    ['armed_away', 'lan'],
  ]);
  const conflicts = events.filter(({ kind }) => kind === 'arming_conflict');
  expect(conflicts.at(-1)).toMatchObject({
    data: { evidence: [{ cloud: 'disarmed', local: 'armed', reason: 'echo' }] },
  });
  expect(events.filter(({ source, class: of }) => source === 'cloud' && of === 'arming')).toEqual([]);
});
