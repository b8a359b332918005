import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { askSocket } from '../harness/control.ts';
import { code, type Site, startSite } from '../harness/site.ts';
import { onTerminal } from './on-terminal.ts';
import { type Ran, siteward } from './run-cli.ts';

const secret = 'site-cli-secret';
const contact = { external_contact_id: 'k1', first_name: 'Ada', last_name: 'Byron', phone_number: '+49 30 5550100' };
const station = { external_monitoring_station_id: 'central', name: 'Central station' };

let site: Site;
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    siteYaml: 'id: "4711", dealer_id: "17"',
    cloudYaml: '  partner: { client_id: partner-9, client_secret: { env: PARTNER } }',
    env: { PARTNER: secret },
    yaml: () => 'partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]',
    async prepare(cloud) {
      const place = { site_id: 4711, external_site_id: 'proof', name: 'Proof', timezone: 'Europe/Berlin' };
      const sites = [{ ...place, security_type: 3, contacts: [contact] }];
      const dealer = { dealer_id: 17, external_dealer_id: 'd17', company_name: 'Acme', monitoring_stations: [station] };
      await cloud.control('dealers', { method: 'POST', body: { ...dealer, sites } });
      await cloud.control('clients', { method: 'POST', body: { client_id: 'partner-9', client_secret: secret } });
    },
  });
}, 60_000);
afterAll(() => site?.close());

const run = (...args: string[]): Promise<Ran> =>
  siteward([...args, '--config', site.config], { PARTNER: secret, HARNESS_CODE: code, SITEWARD_SOCKET: site.socket });
async function json(...args: string[]) {
  const { code: ended, out, err } = await run(...args, '--json');
  expect({ ended, err: ended === 0 ? '' : err }).toEqual({ ended: 0, err: '' });
  return JSON.parse(out);
}
/** Changes in the cloud by hand as the audit log tells them, oldest first. */
async function changes() {
  const { out } = await siteward(['audit', 'show', '--json', '--limit', '200', '--socket', site.socket]);
  const entries = out.split('\n').filter((line) => line !== '');
  return entries
    .map((line) => JSON.parse(line))
    .filter(({ action, source }) => source === 'cli' && action.startsWith('cloud_'))
    .sort((a, b) => a.at.localeCompare(b.at));
}
/** Orders to the cloud that were taken since the start; tokens are asked for by POST as well. */
const orders = async () => {
  const { log } = (await site.cloud.control('log')) as { log: { method: string; path: string }[] };
  const ours = /\/sites(\/4711(\/(?!arming-status|devices|nvrs).*)?)?$/;
  return log.filter(({ method, path }) => method !== 'GET' && ours.test(path)).length;
};

/** Later tests go on where earlier ones stop: a site takes seconds to start. */
describe('siteward site', { timeout: 120_000 }, () => {
  it('shows the site, the stations, the dealer and the contacts', async () => {
    expect(await json('site', 'show')).toMatchObject({ name: 'Proof', is_activated: 0 });
    expect(await json('site', 'list')).toEqual([expect.objectContaining({ name: 'Proof' })]);
    expect(await json('site', 'list', '--filter', 'name,Other,eq')).toEqual([]);
    const [found] = await json('station', 'list');
    expect(found).toMatchObject(station);
    expect(await json('station', 'show', String(found.monitoring_station_id))).toMatchObject(station);
    expect(await json('dealer', 'show')).toMatchObject({ company_name: 'Acme' });
    expect(await json('contact', 'list')).toEqual([expect.objectContaining(contact)]);
    expect((await run('contact', 'list')).out).toContain('Byron');
  });

  it('--dry-run sends nothing, and says what would be changed', async () => {
    const before = await orders();
    expect(await json('site', 'set', '--name', 'Shop', '--timezone', 'Europe/Berlin', '--dry-run')).toMatchObject({
      changes: { name: { from: 'Proof', to: 'Shop' } },
      dry_run: true,
    });
    const plans = [
      ['site', 'activate'],
      ['site', 'unlink'],
      ['site', 'delete', '--force'],
      ['site', 'create', '--external-id', 'x', '--name', 'X', '--timezone', 'Europe/Berlin'],
      ['site', 'bind-monitoring', '--account', '42'],
      ['contact', 'add', '--external-id', 'k2', '--first-name', 'Bo', '--last-name', 'Byron'],
      ['arming', 'source', '1'],
    ];
    for (const plan of plans) {
      const ran = await run(...plan, '--dry-run');
      expect(ran).toMatchObject({ code: 0, out: expect.stringContaining('nothing was sent') });
    }
    expect(await orders()).toBe(before);
  });

  it('changes what differs, once', async () => {
    expect(await json('site', 'set', '--name', 'Shop', '--account-number', '42')).toMatchObject({ name: 'Shop' });
    // Ids in the form in which "show" and "list" have them.
    const shown = await json('site', 'show');
    expect(await json('site', 'activate')).toMatchObject({ is_activated: 1, site_id: shown.site_id });
    const before = await orders();
    expect((await run('site', 'activate')).out).toContain('it is so already');
    expect((await run('site', 'set', '--name', 'Shop')).out).toContain('it is so already');
    expect(await orders()).toBe(before);
    expect(await json('site', 'deactivate')).toMatchObject({ is_activated: 0 });
    const [{ monitoring_station_id: id }] = await json('station', 'list');
    expect(await json('site', 'bind-monitoring', '--station', String(id), '--account', '43')).toMatchObject({
      account_number: '43',
      monitoring_station_id: id,
    });
    expect(
      await json('site', 'create', '--external-id', 'x', '--name', 'X', '--timezone', 'Europe/Berlin'),
    ).toMatchObject({
      is_activated: 0,
    });
    expect(await json('arming', 'source')).toMatchObject({ security_type: 3 });
    expect(await json('arming', 'source', '1')).toMatchObject({ security_type: 1 });
    expect(await json('arming', 'source', '3')).toMatchObject({ security_type: 3 });
  });

  it('what was changed stands in the audit log, by ids and names of members, never their values', async () => {
    const all = await changes();
    expect(all.map(({ action, target, after }) => [action, target, after ?? ''])).toEqual([
      ['cloud_site_changed', 'cloud site 4711', 'name account_number'],
      ['cloud_site_activated', 'cloud site 4711', 'is_activated'],
      ['cloud_site_deactivated', 'cloud site 4711', 'is_activated'],
      ['cloud_site_bound', 'cloud site 4711', 'monitoring_station_id account_number'],
      ['cloud_site_created', expect.stringMatching(/^cloud site new \d+$/), 'external_site_id name timezone'],
      ['cloud_arming_source_changed', 'cloud site 4711', 'security_type'],
      ['cloud_arming_source_changed', 'cloud site 4711', 'security_type'],
    ]);
    expect(all.map(({ outcome }) => outcome)).toEqual(all.map(() => 'done'));
    expect(JSON.stringify(all)).not.toContain('Shop');
  });

  it('a change the cloud refuses stands there too; without the daemon it is made, and said to be in no log', async () => {
    const before = (await changes()).length;
    await site.cloud.control('faults', {
      method: 'POST',
      body: {
        path: '/partner/v1/dealers/17/sites/4711',
        method: 'PUT',
        mode: 'status',
        status: 400,
        body: {},
        count: 1,
      },
    });
    expect(await run('site', 'set', '--address1', 'Main street 1')).toMatchObject({ code: 65 });
    expect((await changes()).slice(before)).toMatchObject([
      { action: 'cloud_site_changed', outcome: 'failed', reason: 'cloud_refused', after: 'address1' },
    ]);
    const unseen = await run('site', 'set', '--address1', 'Main street 2', '--socket', join(site.folder, 'none'));
    expect(unseen).toMatchObject({ code: 0, err: expect.stringContaining('not in the audit log of the box') });
    expect(await changes()).toHaveLength(before + 1);
  });

  it('bind-monitoring sends what a file has, as it is, and shows the answer', async () => {
    const file = join(site.folder, 'binding.json');
    writeFileSync(file, '{"account_number": "44", "receiver": {"line": 2}}');
    const plan = await run('site', 'bind-monitoring', '--body', file, '--dry-run');
    expect(plan.out).toContain('{"line":2}');
    await site.cloud.control('faults', {
      method: 'POST',
      body: {
        ...{
          path: '/partner/v1/dealers/17/sites/4711/monitoring-bindings',
          method: 'PUT',
          mode: 'status',
          status: 200,
        },
        ...{ body: { site_id: 4711, receiver: { line: 2 }, note: 'as it comes' }, count: 1 },
      },
    });
    expect(await json('site', 'bind-monitoring', '--body', file)).toMatchObject({ note: 'as it comes' });
    expect((await changes()).at(-1)).toMatchObject({ action: 'cloud_site_bound', after: 'account_number receiver' });
    writeFileSync(file, '[1]');
    expect(await run('site', 'bind-monitoring', '--body', file)).toMatchObject({
      code: 2,
      err: expect.stringContaining('no JSON object'),
    });
    expect(await run('site', 'bind-monitoring', '--body', file, '--account', '1')).toMatchObject({ code: 2 });
  });

  it('bind-monitoring looks where the reply was lost, and says what the site shows', async () => {
    const lose = (when: 'before' | 'after') =>
      site.cloud.control('faults', {
        method: 'POST',
        body: {
          path: '/partner/v1/dealers/17/sites/4711/monitoring-bindings',
          method: 'PUT',
          mode: 'reset',
          when,
          count: -1,
        },
      });
    const forget = () => site.cloud.control('faults', { method: 'DELETE' });
    await lose('after');
    expect(await json('site', 'bind-monitoring', '--account', '45')).toMatchObject({ account_number: '45' });
    expect((await changes()).at(-1)).toMatchObject({ action: 'cloud_site_bound', outcome: 'done' });
    await forget();
    await lose('before');
    const undone = await run('site', 'bind-monitoring', '--account', '46');
    expect(undone.err).toContain('has another account_number: it was not done');
    expect(undone.code).not.toBe(0);
    await forget();
  });

  it('contacts are added, changed, and deleted only with the name of the site', async () => {
    const made = await json('contact', 'add', '--external-id', 'k2', '--first-name', 'Bo', '--last-name', 'Byron');
    const id = String(made.contact_id);
    expect(await json('contact', 'list')).toContainEqual(expect.objectContaining({ contact_id: made.contact_id }));
    const changed = { contact_id: made.contact_id, phone_number: '110', first_name: 'Bo' };
    expect(await json('contact', 'set', id, '--phone', '110')).toMatchObject(changed);
    const refused = await run('contact', 'delete', id);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('--yes "Shop"') });
    expect(await run('contact', 'delete', id, '--yes', 'Proof')).toMatchObject({ code: 2 });
    expect(await json('contact', 'list')).toHaveLength(2);
    const typing = (name: string) =>
      onTerminal(['contact', 'delete', id, '--config', site.config], [['Type Shop to go on:', name]], {
        ...{ PARTNER: secret, HARNESS_CODE: code, SITEWARD_SOCKET: site.socket },
      });
    const otherwise = await typing('Proof');
    expect(otherwise).toMatchObject({ code: 2, shown: expect.stringContaining('nothing was changed') });
    expect(otherwise.shown).toMatch(/delete a contact: Bo Byron \(\d+\)[\s\S]*for good: /);
    expect(await json('contact', 'list')).toHaveLength(2);
    expect(await typing('Shop')).toMatchObject({ code: 0, shown: expect.stringContaining('done') });
    expect((await changes()).at(-1)).toMatchObject({
      action: 'cloud_contact_deleted',
      target: `cloud site 4711 ${id}`,
    });
    expect(await json('contact', 'list')).toHaveLength(1);
    expect(await run('contact', 'set', '999999', '--phone', '1')).toMatchObject({ code: 66 });
  });

  it('shows what the box has kept while the line is cut', async () => {
    await eventually('the contacts', async () => {
      const { contacts, stations } = (await askSocket(site.socket, 'GET', '/api/v1/cloud/site')).body;
      return contacts.count > 0 && stations.items.length > 0 ? true : undefined;
    });
    await site.line.cut();
    try {
      expect((await run('contact', 'list', '--kept')).out).toContain('Byron');
      expect((await run('station', 'list', '--kept')).out).toContain('Central station');
      expect((await run('site', 'show', '--kept')).code).toBe(0);
      expect(await run('site', 'show', '--timeout', '3')).toMatchObject({ code: 69 });
    } finally {
      await site.line.restore();
    }
  });

  it('is deleted only while nothing is armed and nothing waits, with its name', async () => {
    await site.lan.ask('arm', { partition: 'p1', mode: 'away' });
    const armed = await run('site', 'delete', '--yes', 'Shop');
    expect(armed).toMatchObject({ code: 65, err: expect.stringContaining('p1 is armed_away') });
    await site.lan.ask('disarm', { partition: 'p1', code });
    expect(await run('site', 'delete', '--yes', 'Proof', '--force')).toMatchObject({ code: 2 });
    expect(await json('site', 'show')).toMatchObject({ name: 'Shop' });
    await eventually('nothing waits', async () => {
      const { outbox } = (await site.api('/api/v1/status')) as { outbox: { waiting: Record<string, number> } };
      return Object.values(outbox.waiting).every((one) => one === 0) ? true : undefined;
    });
    expect(await run('site', 'delete', '--yes', 'Shop')).toMatchObject({ code: 0 });
    expect(await run('site', 'show')).toMatchObject({ code: 66 });
  });
});

it('siteward verify is siteward verification', async () => {
  expect(await run('verify', 'list', '--socket', site.socket).then(({ err }) => err)).toContain(
    "unknown option '--config'",
  );
  expect(await siteward(['verify', 'list', '--socket', site.socket])).toMatchObject({ code: 0 });
});
