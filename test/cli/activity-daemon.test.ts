import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { code, type Site, startSite } from '../harness/site.ts';
import { siteward } from './run-cli.ts';

const secret = 'correct horse battery';
const place = { site_id: 4711, external_site_id: 'proof', name: 'Proof', timezone: 'Europe/Berlin' };
const dealer = { dealer_id: 17, external_dealer_id: 'active', sites: [place] };

let site: Site;
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    siteYaml: 'id: "4711", dealer_id: "17"',
    cloudYaml: '  partner: { client_id: partner-9, client_secret: { env: PARTNER } }\n  devices: manual',
    env: { PARTNER: secret },
    yaml: () => 'partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]',
  });
  await site.cloud.control('dealers', { method: 'POST', body: dealer });
  await site.cloud.control('clients', { method: 'POST', body: { client_id: 'partner-9', client_secret: secret } });
});
afterAll(() => site?.close());

interface Line {
  readonly from: 'site' | 'cloud';
  readonly at: string;
  readonly action?: string;
  readonly type?: string;
  readonly description?: string;
}
async function lines(...args: string[]): Promise<{ lines: Line[]; err: string }> {
  const { code: ended, out, err } = await siteward(['activity', '--json', '--socket', site.socket, ...args]);
  expect(ended).toBe(0);
  return {
    lines: out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line),
    err,
  };
}

/** Later tests go on where earlier ones stop: a site takes seconds to start. */
test("the audit log and the cloud's activity log are one list in the order of time", async () => {
  await site.lan.ask('arm', { partition: 'p1', mode: 'away' });
  // Something that is done in the cloud, which makes an entry of it.
  const contact = { external_contact_id: 'ada', first_name: 'Ada', last_name: 'Byron', phone_number: '+49 30 5550100' };
  const members = Object.entries(contact).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  const env = { PARTNER: secret, HARNESS_CODE: code };
  const made = await siteward(['api', 'create-contact', '17', '4711', ...members, '--config', site.config], env);
  expect(made).toMatchObject({ code: 0 });
  await site.lan.ask('disarm', { partition: 'p1', code });
  const { lines: found, err } = await lines();
  expect(err).toBe('');
  const times = found.map(({ at }) => Date.parse(at));
  expect(times).toEqual([...times].sort((a, b) => b - a));
  const first = (fits: (line: Line) => boolean) => found.findIndex(fits);
  const armedAt = first(({ from, action }) => from === 'site' && action === 'armed_away');
  const toldAt = first(({ from }) => from === 'cloud');
  expect(first(({ from, action }) => from === 'site' && action === 'disarmed')).toBeGreaterThanOrEqual(0);
  expect(armedAt).toBeGreaterThan(toldAt);
  expect((await lines('--limit', '2')).lines).toHaveLength(2);
  const later = new Date((times.at(0) ?? 0) + 1).toISOString();
  expect((await lines('--since', later)).lines).toEqual([]);
}, 120_000);

test('safety 4: what the cloud may have written of a silent alarm is not shown', async () => {
  const body = join(site.folder, 'devices.json');
  const device = { device_type: 'camera', name: 'Button' };
  const devices = ['31', 'holdup32'].map((zone) => ({ ...device, external_device_id: `d-${zone}`, zone_number: zone }));
  writeFileSync(body, JSON.stringify(devices));
  const env = { PARTNER: secret, HARNESS_CODE: code };
  const args = ['api', 'create-devices', '17', '4711', '--body', body, '--config', site.config];
  expect(await siteward(args, env)).toMatchObject({ code: 0 });
  const told = (await lines()).lines.flatMap(({ type, description }) =>
    type === 'device_created' ? [description] : [],
  );
  expect(told).toEqual([expect.stringContaining('zone 31')]);
});

test('safety 4: of kinds that may come of an event of the site nothing is shown, whatever their words are', async () => {
  const api = (...args: string[]) =>
    siteward(['api', ...args, '--config', site.config], { PARTNER: secret, HARNESS_CODE: code });
  expect(await api('update-arming-status', '17', '4711', '--set', 'status=armed')).toMatchObject({ code: 0 });
  expect((await api('list-activity-logs', '17', '4711')).out).toMatch(/ arming /);
  const seen = (await lines('--limit', '100')).lines.flatMap(({ type }) => type ?? []);
  expect(seen).toContain('contact_created');
  expect(seen).not.toContain('arming');
});

test('while the cloud cannot be reached the audit log alone is shown, with a word on it', async () => {
  await site.line.cut();
  const { lines: found, err } = await lines();
  expect(err).toMatch(/without the activity log of the cloud: /);
  expect(found.map(({ from }) => from)).toContain('site');
  expect(found.map(({ from }) => from)).not.toContain('cloud');
}, 60_000);
