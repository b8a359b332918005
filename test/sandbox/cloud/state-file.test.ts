import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { defaultSeed, startCloud } from '../../../src/sandbox/cloud/index.ts';
import { place, tokenFor } from './partner.ts';
import { control, type Service, startService } from './service.ts';

let folder: string;
let stateFile: string;
let running: Service | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-state-'));
  stateFile = join(folder, 'world.json');
});
afterEach(async () => {
  await running?.cloud.close();
  running = undefined;
  rmSync(folder, { recursive: true, force: true });
});
const start = async () => {
  running = await startService({ stateFile, dealers: defaultSeed().dealers });
  return running;
};

it('keeps everything below dealers over a restart, and gives no id twice', async () => {
  const first = await start();
  const { call, site, dealer, apiKey } = await place(first);
  await call('POST', `${site}/devices`, [{ external_device_id: 'x', device_type: 'camera', zone_number: '9' }]);
  await call('PUT', `${site}/arming-status`, { status: 'armed' });
  await call('POST', `${site}/nvrs`, { external_nvr_id: 'n', name: 'N' });
  await call('POST', `/ext/v1/sites/${site.split('/').at(-1)}/audio-messages/msg-test/play`, undefined, apiKey);
  const gone = await call('POST', `${dealer}/monitoring-stations`, { external_monitoring_station_id: 'g', name: 'G' });
  await call('DELETE', `${dealer}/monitoring-stations/${gone.json.monitoring_station_id}`);
  const paths = ['', '/devices', '/contacts', '/arming-status', '/activity-logs', '/arming-settings'];
  const look = async (service: Service, token: string) => [
    ...(await Promise.all(paths.map(async (path) => (await call('GET', `${site}${path}`, undefined, token)).json))),
    (await control(service, 'GET', 'playbacks')).json.playbacks.length,
    (await control(service, 'GET', 'sites')).json,
  ];
  const before = await look(first, await tokenFor(first, 'partner', 2));
  await first.cloud.close();
  expect(statSync(stateFile).mode & 0o777).toBe(0o600);

  const second = await start();
  const port = (path: string) => path.replace(first.cloud.url, second.cloud.url);
  const token = await tokenFor(second, 'partner', 2);
  const again = await Promise.all(
    paths.map(async (path) => {
      const answer = await fetch(port(first.cloud.url + site + path), {
        headers: { authorization: `Bearer ${token}` },
      });
      return answer.json();
    }),
  );
  const [playbacks, sites] = [
    (await control(second, 'GET', 'playbacks')).json.playbacks.length,
    (await control(second, 'GET', 'sites')).json,
  ];
  expect([...again, playbacks, sites]).toEqual(before);
  const made = await fetch(`${second.cloud.url}${dealer}/monitoring-stations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ external_monitoring_station_id: 'h', name: 'H' }),
  });
  const { monitoring_station_id } = (await made.json()) as { monitoring_station_id: number };
  expect(monitoring_station_id).toBeGreaterThan(gone.json.monitoring_station_id);
});

it('writes soon after a change, whole, and leaves no other file behind', async () => {
  const service = await start();
  await place(service, { company_name: 'Written' });
  await expect.poll(() => readFileSync(stateFile, 'utf8'), { timeout: 5000 }).toContain('Written');
  await service.cloud.close();
  running = undefined;
  expect(readdirSync(folder)).toEqual(['world.json']);
});

it('a reset goes back to the seed, also in the file', async () => {
  const service = await start();
  await place(service, { company_name: 'Passing' });
  await control(service, 'POST', 'reset');
  expect(service.cloud.dealers()).toMatchObject([{ company_name: 'Acme Security' }]);
  await service.cloud.close();
  running = undefined;
  expect(readFileSync(stateFile, 'utf8')).not.toContain('Passing');
});

it.each([
  ['no JSON', '{', /not JSON/],
  ['another kind of file', '{"format":"x"}', /format/],
  ['a row that is none', '', /dealers/],
])('refuses %s, names the place and leaves the file alone', async (_, text, place) => {
  const service = await start();
  await service.cloud.close();
  running = undefined;
  const damaged = text === '' ? readFileSync(stateFile, 'utf8').replace('"dealer_id":1', '"dealer_id":"1"') : text;
  writeFileSync(stateFile, damaged);
  const listen = { host: '127.0.0.1', port: 0 };
  await expect(startCloud({ listen, clients: [], stateFile })).rejects.toThrow(place);
  await expect(startCloud({ listen, clients: [], stateFile })).rejects.toMatchObject({ code: 'config_invalid' });
  expect(readFileSync(stateFile, 'utf8')).toBe(damaged);
});

it('says at the start that the place cannot be written', async () => {
  stateFile = join(folder, 'absent', 'world.json');
  await expect(start()).rejects.toMatchObject({ code: 'state_dir_unusable' });
  expect(existsSync(join(folder, 'absent'))).toBe(false);
});
