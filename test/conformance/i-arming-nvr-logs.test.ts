import { expect } from 'vitest';
import { done, number, refused, results, rows, text, time } from './answers.ts';
import { aDevice, aNvr, aSite, type Site } from './fixtures.ts';
import type { Loose } from './http.ts';
import { conformance, unique } from './server.ts';

const service = conformance();
const { rule, call } = service;

const settings = (site: Site, json: unknown) =>
  call('PATCH', `${site.path}/arming-settings`, { token: site.token, json });
const status = (site: Site, json: unknown) => call('PUT', `${site.path}/arming-status`, { token: site.token, json });
const read = async (site: Site, what: string) => done(await call('GET', `${site.path}/${what}`, { token: site.token }));

rule('S-140 the arming setting is one of 1 to 4', async () => {
  const site = await aSite(service);
  for (const security_type of [1, 2, 3, 4]) {
    expect(done(await settings(site, { security_type })).security_type).toBe(security_type);
    expect((await read(site, 'arming-settings')).security_type).toBe(security_type);
  }
});

rule('S-140 everything else gives 400 and changes nothing', async () => {
  const site = await aSite(service);
  done(await settings(site, { security_type: 3 }));
  for (const security_type of [0, 5, -1, 2.5, '2', null, true, [1], undefined]) {
    refused(await settings(site, { security_type }), 400, 'security_type');
  }
  expect((await read(site, 'arming-settings')).security_type).toBe(3);
});

rule('S-141 a new site has setting 4, and the setting has one member', async () => {
  expect(await read(await aSite(service), 'arming-settings')).toEqual({ security_type: 4 });
});

rule('S-142 the arming status is armed or disarmed, with the time of its change', async () => {
  const site = await aSite(service);
  for (const wanted of ['armed', 'disarmed', 'disarmed', 'armed']) {
    const answer = done(await status(site, { status: wanted }));
    expect(answer).toEqual({ status: wanted, updated_at: time });
    expect(await read(site, 'arming-status')).toEqual(answer);
  }
});

rule('S-142 another status gives 400 and changes nothing', async () => {
  const site = await aSite(service);
  done(await status(site, { status: 'armed' }));
  for (const wrong of ['Armed', 'away', '', 1, true, null, undefined]) {
    refused(await status(site, { status: wrong }), 400, 'status');
  }
  expect((await read(site, 'arming-status')).status).toBe('armed');
});

rule('S-143 a recorder is registered with two required texts and five optional ones', async () => {
  const site = await aSite(service);
  const create = (json: object) => call('POST', `${site.path}/nvrs`, { token: site.token, json });
  const body = {
    external_nvr_id: unique('nvr'),
    name: 'Recorder',
    manufacturer: 'Maker',
    model: 'N1',
    serial_number: 'S1',
    mac: '00:00:5e:00:53:03',
    ip_address: '192.0.2.7',
  };
  const nvr = done(await create(body), 201);
  expect(nvr).toEqual({ ...body, nvr_id: number, created_at: time, updated_at: time });
  for (const field of ['external_nvr_id', 'name']) refused(await create({ ...body, [field]: undefined }), 400, field);
  for (const field of Object.keys(body)) refused(await create({ ...body, [field]: 7 }), 400, field);
});

rule('S-143 a recorder is changed member by member; unknown is 404; there is no read', async () => {
  const site = await aSite(service);
  const { token } = site;
  const nvr = await aNvr(service, site);
  const path = `${site.path}/nvrs/${nvr.nvr_id}`;
  for (const [field, value] of Object.entries({ name: 'N', model: 'N2', ip_address: '192.0.2.8' })) {
    expect(done(await call('PATCH', path, { token, json: { [field]: value } }))[field]).toBe(value);
    refused(await call('PATCH', path, { token, json: { [field]: 7 } }), 400, field);
  }
  const still = done(await call('PATCH', path, { token, json: {} }));
  expect(still).toMatchObject({ nvr_id: nvr.nvr_id, name: 'N', model: 'N2', ip_address: '192.0.2.8' });
  refused(await call('PATCH', `${site.path}/nvrs/999999999`, { token, json: {} }), 404);
  refused(await call('GET', path, { token }), 405);
});

rule('S-143 devices are associated with a recorder, each for itself', async () => {
  const site = await aSite(service);
  const nvr = await aNvr(service, site);
  const device = await aDevice(service, site);
  const path = `${site.path}/nvrs/${nvr.nvr_id}/devices`;
  const attach = (deviceIds: unknown) => call('POST', path, { token: site.token, json: { deviceIds } });
  const answer = await attach([device.device_id, 999_999_999]);
  expect(done(answer)).toMatchObject({ success_count: 1, failure_count: 1 });
  const [first, second] = results(answer);
  expect(first).toMatchObject({ is_successful: true, req: { device_id: device.device_id } });
  expect(second).toMatchObject({ is_successful: false, status_code: 404, req: { device_id: 999_999_999 } });
  for (const wrong of [undefined, 'x', ['1'], []]) refused(await attach(wrong), 400, 'deviceIds');
});

const logs = (site: Site, query = '') => call('GET', `${site.path}/activity-logs${query}`, { token: site.token });
const idsOf = (entries: readonly Loose[]) => entries.map((entry) => Number(entry.activity_log_id));

/** A site where several things were done, one after the other. */
async function busySite(): Promise<Site> {
  const site = await aSite(service);
  for (const wanted of ['armed', 'disarmed', 'armed', 'disarmed']) done(await status(site, { status: wanted }));
  return site;
}

rule('S-144 activity logs take startDate, endDate, limit and offset, all optional', async () => {
  const site = await busySite();
  rows(await logs(site));
  const query = new URLSearchParams({
    startDate: '2000-01-01T00:00:00.000Z',
    endDate: new Date(Date.now() + 86_400_000).toISOString(),
    limit: '2',
    offset: '1',
  });
  expect(rows(await logs(site, `?${query}`))).toHaveLength(2);
  for (const [name, value] of query) rows(await logs(site, `?${new URLSearchParams({ [name]: value })}`));
});

rule('S-145 entries have an id, a type, a description and a time, newest first', async () => {
  const entries = rows(await logs(await busySite()));
  expect(entries.length).toBeGreaterThanOrEqual(4);
  for (const entry of entries) {
    expect(entry).toEqual({ activity_log_id: number, type: text, description: text, created_at: time });
  }
  const times = entries.map((entry) => Date.parse(String(entry.created_at)));
  expect(times).toEqual(times.toSorted((a, b) => b - a));
  expect(new Set(idsOf(entries)).size).toBe(entries.length);
});

rule('S-145 pages by limit and offset follow each other', async () => {
  const site = await busySite();
  const all = idsOf(rows(await logs(site)));
  const pages = [];
  for (let offset = 0; offset < all.length; offset += 2) {
    pages.push(...idsOf(rows(await logs(site, `?limit=2&offset=${offset}`))));
  }
  expect(pages).toEqual(all);
  expect(rows(await logs(site, `?offset=${all.length}`))).toEqual([]);
});

rule('S-145 the log is from startDate on, up to and without endDate', async () => {
  const site = await busySite();
  const all = rows(await logs(site));
  const moment = String(all[0]?.created_at);
  const at = encodeURIComponent(moment);
  const same = idsOf(all.filter((entry) => String(entry.created_at) === moment));
  expect(idsOf(rows(await logs(site, `?startDate=${at}`)))).toEqual(same);
  expect(idsOf(rows(await logs(site, `?endDate=${at}`)))).toEqual(idsOf(all).slice(same.length));
  expect(rows(await logs(site, `?startDate=${at}&endDate=${at}`))).toEqual([]);
});

rule('S-145 a bad date, an end before the start, a bad limit and a bad offset give 400', async () => {
  const site = await aSite(service);
  for (const date of ['yesterday', '2030-13-01', '2030-02-30T00:00:00Z', '1700000000']) {
    refused(await logs(site, `?startDate=${date}`), 400, 'startDate');
    refused(await logs(site, `?endDate=${date}`), 400, 'endDate');
  }
  const swapped = '?startDate=2030-01-02T00:00:00Z&endDate=2030-01-01T00:00:00Z';
  refused(await logs(site, swapped), 400, 'endDate');
  for (const limit of ['0', '1001', '-1', '1.5', 'x']) refused(await logs(site, `?limit=${limit}`), 400, 'limit');
  for (const offset of ['-1', '1.5', 'x']) refused(await logs(site, `?offset=${offset}`), 400, 'offset');
  rows(await logs(site, '?limit=1000'));
});

rule('S-145 without a limit there are 100 entries', async () => {
  const site = await aSite(service);
  for (let count = 0; count < 51; count += 1) {
    for (const wanted of ['armed', 'disarmed']) done(await status(site, { status: wanted }));
  }
  expect(rows(await logs(site))).toHaveLength(100);
  expect(rows(await logs(site, '?limit=1000')).length).toBeGreaterThanOrEqual(102);
});
