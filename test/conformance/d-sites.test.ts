import { expect } from 'vitest';
import { done, gone, refused, rows, text, time } from './answers.ts';
import {
  aContact,
  aDealer,
  aDevice,
  aNvr,
  aSite,
  aStation,
  aVerification,
  makeDealer,
  nowText,
  siteBody,
} from './fixtures.ts';
import { conformance, unique } from './server.ts';

const service = conformance();
const { rule, call } = service;

rule('S-060 a site has its eleven members', async () => {
  const { path, token, dealer, id, externalId } = await aSite(service);
  const station = await aStation(service, dealer);
  const json = {
    monitoring_station_id: station.monitoring_station_id,
    account_number: '0815',
    address1: 'a',
    address2: 'b',
  };
  expect(done(await call('PUT', path, { token, json }))).toEqual({
    site_id: id,
    external_site_id: externalId,
    name: 'Head office',
    external_monitoring_station_id: station.external_monitoring_station_id,
    monitoring_station_id: station.monitoring_station_id,
    account_number: '0815',
    address1: 'a',
    address2: 'b',
    timezone: 'Europe/Berlin',
    is_activated: 0,
    created_at: time,
  });
});

rule('S-061 a site is created from three required texts and four optional members', async () => {
  const dealer = await aDealer(service);
  const { path, token } = dealer;
  const station = await aStation(service, dealer);
  const least = siteBody();
  const small = done(await call('POST', `${path}/sites`, { token, json: least }), 201);
  expect(small).toMatchObject(least);
  expect(small).not.toHaveProperty('has_physical_bridge');
  const monitoring_station_id = station.monitoring_station_id;
  const most = siteBody({ monitoring_station_id, account_number: '1', address1: 'x', address2: 'y' });
  expect(done(await call('POST', `${path}/sites`, { token, json: most }), 201)).toMatchObject(most);
});

rule('S-061 a member of a wrong type refuses the site', async () => {
  const { path, token } = await aDealer(service);
  const wrong = { monitoring_station_id: '1', account_number: 815, address1: 7, address2: [], timezone: 1, name: {} };
  for (const [field, value] of Object.entries(wrong)) {
    refused(await call('POST', `${path}/sites`, { token, json: siteBody({ [field]: value }) }), 400, field);
  }
});

rule('S-062 a new site is inactive, and ids of the service are not for the caller to choose', async () => {
  const { path, token } = await aDealer(service);
  const json = siteBody({ is_activated: 1, site_id: 4711, external_monitoring_station_id: 'mine' });
  const site = done(await call('POST', `${path}/sites`, { token, json }), 201);
  expect(site).toMatchObject({ is_activated: 0, external_monitoring_station_id: null });
  expect(site.site_id).not.toBe(4711);
});

rule('S-063 a time zone that is no IANA name gives 400', async () => {
  const { path, token } = await aDealer(service);
  for (const timezone of ['Mars/Olympus', 'CEST', 'Berlin', 'Europe/Berlin ']) {
    refused(await call('POST', `${path}/sites`, { token, json: siteBody({ timezone }) }), 400, 'timezone');
  }
  const site = await aSite(service);
  refused(await call('PUT', site.path, { token: site.token, json: { timezone: 'Nowhere' } }), 400, 'timezone');
});

rule('S-063 time zones have exact case; offsets are none; aliases and UTC are kept as sent', async () => {
  const { path, token } = await aDealer(service);
  const create = (timezone: string) => call('POST', `${path}/sites`, { token, json: siteBody({ timezone }) });
  for (const timezone of ['europe/berlin', 'EUROPE/BERLIN', '+02:00', '-0500']) {
    refused(await create(timezone), 400, 'timezone');
  }
  for (const timezone of ['US/Eastern', 'UTC', 'Asia/Kolkata', 'America/Argentina/Buenos_Aires']) {
    expect(done(await create(timezone), 201).timezone).toBe(timezone);
  }
});

rule('S-064 the external id of the station follows the station; without one both are null', async () => {
  const dealer = await aDealer(service);
  const { path, token } = dealer;
  const station = await aStation(service, dealer);
  const monitoring_station_id = station.monitoring_station_id;
  const { external_monitoring_station_id } = station;
  const bound = done(await call('POST', `${path}/sites`, { token, json: siteBody({ monitoring_station_id }) }), 201);
  expect(bound).toMatchObject({ monitoring_station_id, external_monitoring_station_id });
  const free = done(await call('POST', `${path}/sites`, { token, json: siteBody() }), 201);
  expect(free).toMatchObject({ monitoring_station_id: null, external_monitoring_station_id: null });
});

rule('S-064 a station that this dealer does not have gives 400', async () => {
  const { path, token } = await aDealer(service);
  const ask = (id: number) => call('POST', `${path}/sites`, { token, json: siteBody({ monitoring_station_id: id }) });
  refused(await ask(999_999_999), 400, 'monitoring_station_id');
  const other = await makeDealer(service);
  const stranger = { id: other, path: `/partner/v1/dealers/${other}`, token: '' };
  const theirs = { ...stranger, token: await service.token('partner', { dealers: [other] }) };
  const station = await aStation(service, theirs);
  refused(await ask(Number(station.monitoring_station_id)), 400, 'monitoring_station_id');
});

rule('S-065 an external id in use gives 400, and is free again after the site is deleted', async () => {
  const { path, token, dealer, externalId } = await aSite(service);
  const json = siteBody({ external_site_id: externalId });
  refused(await call('POST', `${dealer.path}/sites`, { token, json }), 400, 'external_site_id');
  const sibling = await aSite(service, { dealer });
  const change = { external_site_id: externalId };
  refused(await call('PUT', sibling.path, { token, json: change }), 400, 'external_site_id');
  done(await call('PUT', path, { token, json: change }));
  gone(await call('DELETE', path, { token }));
  done(await call('POST', `${dealer.path}/sites`, { token, json }), 201);
});

rule('S-066 a dealer that is not connected has no sites: 403', async () => {
  const id = await makeDealer(service, { connected: false });
  const token = await service.token('partner', { dealers: [id] });
  refused(await call('POST', `/partner/v1/dealers/${id}/sites`, { token, json: siteBody() }), 403);
  refused(await call('GET', `/partner/v1/dealers/${id}/sites`, { token }), 403);
});

rule('S-067 the list holds the sites of the dealer, without has_physical_bridge', async () => {
  const { dealer, token, id } = await aSite(service);
  const second = await aSite(service, { dealer });
  const list = rows(await call('GET', `${dealer.path}/sites`, { token }));
  const ids = list.map((row) => row.site_id);
  expect(ids).toContain(id);
  expect(ids).toContain(second.id);
  for (const row of list) expect(row).not.toHaveProperty('has_physical_bridge');
});

rule('S-068 the read of one site says whether it has a bridge', async () => {
  const site = await aSite(service);
  const has = async () => done(await call('GET', site.path, { token: site.token })).has_physical_bridge;
  expect(await has()).toBe(false);
  await aDevice(service, site);
  expect(await has()).toBe(false);
  const bridge = await aDevice(service, site, { device_type: 'bridge' });
  expect(await has()).toBe(true);
  const json = { deviceIds: [Number(bridge.device_id)] };
  done(await call('POST', `${site.path}/devices/bulk-delete`, { token: site.token, json }));
  expect(await has()).toBe(false);
});

rule('S-069 each of seven members can be changed on its own', async () => {
  const { path, token, dealer } = await aSite(service);
  const station = await aStation(service, dealer);
  const changes = {
    external_site_id: unique('site'),
    name: 'Warehouse',
    monitoring_station_id: Number(station.monitoring_station_id),
    account_number: '4711',
    address1: 'Dock road',
    address2: 'Gate 3',
    timezone: 'America/New_York',
  };
  let expected = done(await call('GET', path, { token }));
  for (const [field, value] of Object.entries(changes)) {
    const site = done(await call('PUT', path, { token, json: { [field]: value } }));
    expect(site[field]).toBe(value);
    expected = { ...expected, ...site };
    refused(await call('PUT', path, { token, json: { [field]: true } }), 400, field);
  }
  expect(done(await call('GET', path, { token }))).toEqual(expected);
});

rule(
  'S-069 the answer has no has_physical_bridge, an empty change changes nothing, null clears the station',
  async () => {
    const { path, token, dealer } = await aSite(service);
    const station = await aStation(service, dealer);
    const json = { monitoring_station_id: station.monitoring_station_id };
    const bound = done(await call('PUT', path, { token, json }));
    expect(bound).not.toHaveProperty('has_physical_bridge');
    expect(done(await call('PUT', path, { token, json: {} }))).toEqual(bound);
    const cleared = done(await call('PUT', path, { token, json: { monitoring_station_id: null } }));
    expect(cleared).toMatchObject({ monitoring_station_id: null, external_monitoring_station_id: null });
  },
);

rule('S-070 a site is deleted for good, with 204 and no body', async () => {
  const { path, token, id, dealer } = await aSite(service);
  gone(await call('DELETE', path, { token }));
  refused(await call('GET', path, { token }), 404);
  refused(await call('PUT', path, { token, json: {} }), 404);
  refused(await call('DELETE', path, { token }), 404);
  const list = rows(await call('GET', `${dealer.path}/sites`, { token }));
  expect(list.map((row) => row.site_id)).not.toContain(id);
});

rule('S-070 what was below a deleted site is gone with it', async () => {
  const site = await aSite(service);
  const { token } = site;
  const device = await aDevice(service, site);
  const contact = await aContact(service, site);
  const nvr = await aNvr(service, site);
  const verification = await aVerification(service, site, contact);
  gone(await call('DELETE', site.path, { token }));
  refused(await call('GET', `${site.path}/devices/${device.device_id}`, { token }), 404);
  refused(await call('GET', `${site.path}/contacts/${contact.contact_id}`, { token }), 404);
  refused(await call('PATCH', `${site.path}/nvrs/${nvr.nvr_id}`, { token, json: {} }), 404);
  const json = { contact_id: contact.contact_id, action: 'dispatch', responded_at: nowText() };
  refused(await call('PATCH', verification.path, { token, json }), 404);
});

rule('S-071 activation-status toggles between 0 and 1', async () => {
  const { path, token } = await aSite(service);
  const toggle = () => call('PATCH', `${path}/activation-status`, { token });
  expect(done(await toggle()).is_activated).toBe(1);
  expect(done(await call('GET', path, { token })).is_activated).toBe(1);
  expect(done(await toggle())).toMatchObject({ is_activated: 0, external_site_id: text });
});

rule('S-071 an empty object toggles too, is_activated sets, another value gives 400', async () => {
  const { path, token } = await aSite(service);
  const patch = (json: unknown) => call('PATCH', `${path}/activation-status`, { token, json });
  expect(done(await patch({})).is_activated).toBe(1);
  expect(done(await patch({ is_activated: 1 })).is_activated).toBe(1);
  expect(done(await patch({ is_activated: 0 })).is_activated).toBe(0);
  for (const value of [2, -1, '1', true, null, 0.5]) refused(await patch({ is_activated: value }), 400, 'is_activated');
  expect(done(await call('GET', path, { token })).is_activated).toBe(0);
});

rule('S-072 a toggle that is sent twice has no effect: it is not to be repeated blindly', async () => {
  const { path, token } = await aSite(service);
  const before = done(await call('GET', path, { token }));
  for (let time = 0; time < 2; time += 1) done(await call('PATCH', `${path}/activation-status`, { token }));
  expect(done(await call('GET', path, { token }))).toEqual(before);
});

rule('S-073 link and unlink take no body, answer with the site, and may be repeated', async () => {
  const { path, token, id } = await aSite(service);
  for (const word of ['link', 'link', 'unlink', 'unlink', 'link']) {
    expect(done(await call('PATCH', `${path}/${word}`, { token })).site_id).toBe(id);
  }
});

rule('S-074 monitoring-bindings takes a station or its absence, an account number, or both', async () => {
  const { path, token, dealer } = await aSite(service);
  const station = await aStation(service, dealer);
  const monitoring_station_id = station.monitoring_station_id;
  const put = (json: unknown) => call('PUT', `${path}/monitoring-bindings`, { token, json });
  expect(done(await put({ monitoring_station_id, account_number: '12' }))).toMatchObject({
    monitoring_station_id,
    account_number: '12',
    external_monitoring_station_id: station.external_monitoring_station_id,
  });
  expect(done(await put({ account_number: '13' }))).toMatchObject({ monitoring_station_id, account_number: '13' });
  expect(done(await put({ monitoring_station_id: null })).monitoring_station_id).toBeNull();
  refused(await put({}), 400, 'body');
  refused(await put({ monitoring_station_id: 999_999_999 }), 400, 'monitoring_station_id');
  refused(await put({ monitoring_station_id: '7' }), 400, 'monitoring_station_id');
});
