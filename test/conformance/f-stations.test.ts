import { expect } from 'vitest';
import { done, gone, number, refused, rows, time } from './answers.ts';
import { aDealer, aSite, aStation } from './fixtures.ts';
import { conformance, unique } from './server.ts';

const service = conformance();
const { rule, call } = service;

const stationPath = (dealer: string, station: { monitoring_station_id?: unknown }) =>
  `${dealer}/monitoring-stations/${station.monitoring_station_id}`;

rule('S-100 a station is created from two required texts and two optional ones', async () => {
  const { path, token } = await aDealer(service);
  const create = (json: object) => call('POST', `${path}/monitoring-stations`, { token, json });
  const least = { external_monitoring_station_id: unique('station'), name: 'Central' };
  expect(done(await create(least), 201)).toMatchObject(least);
  const most = { ...least, external_monitoring_station_id: unique('station'), prefix: '99', linecard: '4' };
  expect(done(await create(most), 201)).toMatchObject(most);
  for (const field of ['external_monitoring_station_id', 'name'] as const) {
    refused(await create({ ...most, [field]: undefined }), 400, field);
  }
  for (const field of Object.keys(most)) refused(await create({ ...most, [field]: 7 }), 400, field);
});

rule('S-101 a station is answered with seven members', async () => {
  const dealer = await aDealer(service);
  const external_monitoring_station_id = unique('station');
  const station = await aStation(service, dealer, { external_monitoring_station_id, prefix: '9' });
  expect(station).toEqual({
    monitoring_station_id: number,
    external_monitoring_station_id,
    name: 'Central',
    prefix: '9',
    linecard: '',
    created_at: time,
    updated_at: time,
  });
});

rule('S-102 stations are listed, read, changed and deleted', async () => {
  const dealer = await aDealer(service);
  const { token } = dealer;
  const station = await aStation(service, dealer);
  const path = stationPath(dealer.path, station);
  expect(rows(await call('GET', `${dealer.path}/monitoring-stations`, { token }))).toContainEqual(station);
  expect(done(await call('GET', path, { token }))).toEqual(station);
  const json = { name: 'North', prefix: '12', linecard: '3' };
  expect(done(await call('PUT', path, { token, json }))).toMatchObject(json);
  expect(done(await call('GET', path, { token }))).toMatchObject(json);
  for (const field of Object.keys(json)) refused(await call('PUT', path, { token, json: { [field]: 7 } }), 400, field);
  gone(await call('DELETE', path, { token }));
});

rule('S-103 a deleted station is 404', async () => {
  const dealer = await aDealer(service);
  const { token } = dealer;
  const path = stationPath(dealer.path, await aStation(service, dealer));
  gone(await call('DELETE', path, { token }));
  refused(await call('GET', path, { token }), 404);
  refused(await call('PUT', path, { token, json: { name: 'x' } }), 404);
  refused(await call('DELETE', path, { token }), 404);
});

rule('S-104 deleting a station that is in use unbinds its sites', async () => {
  const dealer = await aDealer(service);
  const { token } = dealer;
  const station = await aStation(service, dealer);
  const { monitoring_station_id } = station;
  const site = await aSite(service, { dealer, body: { monitoring_station_id } });
  gone(await call('DELETE', stationPath(dealer.path, station), { token }));
  expect(done(await call('GET', site.path, { token }))).toMatchObject({
    monitoring_station_id: null,
    external_monitoring_station_id: null,
  });
});

rule('S-104 an external id in use gives 400; an update keeps it; an empty update changes nothing', async () => {
  const dealer = await aDealer(service);
  const { token } = dealer;
  const station = await aStation(service, dealer);
  const { external_monitoring_station_id } = station;
  const json = { external_monitoring_station_id, name: 'Twin' };
  const twin = await call('POST', `${dealer.path}/monitoring-stations`, { token, json });
  refused(twin, 400, 'external_monitoring_station_id');
  const path = stationPath(dealer.path, station);
  const renamed = done(await call('PUT', path, { token, json: { external_monitoring_station_id: 'other' } }));
  expect(renamed.external_monitoring_station_id).toBe(external_monitoring_station_id);
  expect(done(await call('PUT', path, { token, json: {} }))).toMatchObject({ name: station.name });
});
