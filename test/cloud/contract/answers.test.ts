import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { cloudOperations, type Dealer, type Device, type Site } from '#cloud/contract/index.ts';
import { problemsOf, without } from './check.ts';

const at = '2030-01-01T00:00:00.000Z';
const dealer: Dealer = {
  dealer_id: 1,
  external_dealer_id: 'd-1',
  company_name: 'Dealer',
  company_address1: '',
  company_address2: '',
  company_email: '',
  company_phone_number: '',
  created_at: at,
};
const site: Site = {
  site_id: 2,
  external_site_id: 's-1',
  name: 'Shop',
  external_monitoring_station_id: null,
  monitoring_station_id: null,
  account_number: '',
  address1: '',
  address2: '',
  timezone: 'UTC',
  is_activated: 0,
  created_at: at,
};
const device: Device = {
  device_id: 3,
  external_device_id: 'cam-1',
  device_type: 'camera',
  name: '',
  zone_number: '1',
  additional_zone_numbers: '',
  mac: '',
  manufacturer: '',
  model: '',
  serial_number: '',
  registered_by_partner: 'partner_a',
  created_at: at,
  updated_at: at,
};
const station = {
  ...{ monitoring_station_id: 4, external_monitoring_station_id: 'm-1', name: 'Centre', prefix: '', linecard: '' },
  ...{ created_at: at, updated_at: at },
};
const contact = {
  ...{ contact_id: 5, external_contact_id: 'c-1', first_name: 'Ada', last_name: 'Berg', phone_number: '', email: '' },
  ...{ created_at: at, updated_at: at },
};
const nvr = {
  ...{ nvr_id: 6, external_nvr_id: 'n-1', name: 'Recorder', manufacturer: '', model: '', serial_number: '' },
  ...{ mac: '', ip_address: '', created_at: at, updated_at: at },
};
const verification = { verification_id: crypto.randomUUID(), contact_id: 5, action: 'dispatch', responded_at: at };
const log = { activity_log_id: 1, type: 'site.created', description: 'Site created', created_at: at };
const message = {
  ...{ audio_message_id: 'a-1', name: 'Go', description: '', duration_seconds: 4.5, language: 'de-DE' },
  category: 'alarm',
};
const playback = {
  ...{ playback_id: 'p-1', audio_message_id: 'a-1', status: 'playing', started_at: at, volume: 70, repeat: 1 },
  devices: [{ device_id: '3', name: 'Speaker', status: 'queued' }],
};
const created = { external_device_id: 'cam-1', device_type: 'camera', zone_number: '1' };
const ok = { is_successful: true, req: created, res: device };
const failed = { is_successful: false, status_code: 400, error_message: 'zone_number: is required', req: { a: 1 } };
const bulk = (...results: { is_successful: boolean }[]) => ({
  success_count: results.filter((entry) => entry.is_successful).length,
  failure_count: results.filter((entry) => !entry.is_successful).length,
  results,
});

const ops = cloudOperations;
type Row = readonly [rule: string, name: string, schema: z.ZodType, value: unknown];

const good: readonly Row[] = [
  ['S-050', 'a dealer', ops.getDealer.responses[200].schema, dealer],
  [
    'S-054',
    'a dealer without a partner',
    ops.disconnectDealer.responses[200].schema,
    { ...dealer, external_dealer_id: null },
  ],
  ['S-061', 'a new site', ops.createSite.responses[201].schema, site],
  [
    'S-018',
    'the plain form of a time',
    ops.createSite.responses[201].schema,
    { ...site, created_at: '2030-01-01 00:00:00' },
  ],
  [
    'S-064',
    'a site with a station',
    ops.updateSite.responses[200].schema,
    { ...site, monitoring_station_id: 4, external_monitoring_station_id: 'm-1' },
  ],
  ['S-067', 'an empty list of sites', ops.listSites.responses[200].schema, []],
  [
    'S-080',
    'a row of chosen columns',
    ops.listSites.responses[200].schema,
    [{ name: 'Shop', 'monitoring_stations.name': 'x' }],
  ],
  ['S-068', 'a site with its bridge', ops.getSite.responses[200].schema, { ...site, has_physical_bridge: true }],
  ['S-071', 'an active site', ops.changeActivation.responses[200].schema, { ...site, is_activated: 1 }],
  ['S-101', 'a station', ops.createMonitoringStation.responses[201].schema, station],
  ['S-102', 'stations', ops.listMonitoringStations.responses[200].schema, [station]],
  ['S-111', 'a contact', ops.getContact.responses[200].schema, contact],
  ['S-120', 'devices', ops.listDevices.responses[200].schema, [device]],
  ['S-131', 'a code nobody named', ops.getDevice.responses[200].schema, { ...device, registered_by_partner: 'zzz' }],
  ['S-122', 'a creation where one failed', ops.createDevices.responses[201].schema, bulk(ok, failed)],
  ['S-123', 'a creation where all failed', ops.createDevices.responses[201].schema, bulk(failed, failed)],
  [
    'S-126',
    'the echo of an item that is no object',
    ops.createDevices.responses[201].schema,
    bulk({ ...failed, ...{ req: 7 } }),
  ],
  [
    'S-133',
    'an update with its reduced answer',
    ops.updateDevices.responses[200].schema,
    bulk({
      ...ok,
      ...{
        req: { device_id: 3, name: 'x' },
        res: { device_id: 3, device_type: 'camera', zone_number: '1', name: 'x', updated_at: at },
      },
    }),
  ],
  [
    'S-135',
    'a deletion',
    ops.deleteDevices.responses[200].schema,
    bulk({ ...ok, ...{ req: { device_id: 3 }, res: { device_id: 3, device_type: 'camera', zone_number: '1' } } }),
  ],
  ['S-140', 'a setting', ops.getArmingSettings.responses[200].schema, { security_type: 4 }],
  ['S-142', 'a status', ops.updateArmingStatus.responses[200].schema, { status: 'disarmed', updated_at: at }],
  ['S-143', 'a recorder', ops.createNvr.responses[201].schema, nvr],
  [
    'S-143',
    'devices of a recorder',
    ops.addNvrDevices.responses[200].schema,
    bulk({ ...ok, ...{ req: { device_id: 3 } } }),
  ],
  ['S-145', 'a log', ops.listActivityLogs.responses[200].schema, [log]],
  ['S-154', 'a verification', ops.answerVerification.responses[200].schema, verification],
  [
    'S-170',
    'messages',
    ops.listAudioMessages.responses[200].schema,
    { data: { audio_messages: [message], total_count: 1 } },
  ],
  ['S-171', 'a playback', ops.playAudioMessage.responses[200].schema, { data: playback }],
  ['S-175', 'a playback by reference', ops.playReferencedAudioMessage.responses[200].schema, { data: playback }],
  [
    'S-178',
    'an armed partition',
    ops.armPartition.responses[200].schema,
    { data: { partition_id: 'p1', status: 'armed' } },
  ],
  [
    'S-179',
    'a partition',
    ops.getPartition.responses[200].schema,
    { data: { partition_id: 'p1', status: 'armed', ready: true, bypassed_zones: ['12'] } },
  ],
  [
    'S-179',
    'the address of a picture',
    ops.captureSnapshot.responses[200].schema,
    { data: { url: 'https://example.net/1.jpg' } },
  ],
  [
    'S-179',
    'a dispatch',
    ops.dispatchResponder.responses[202].schema,
    { data: { dispatch_id: 'x', status: 'requested' } },
  ],
  ['S-179', 'an audit log', ops.getAuditLog.responses[200].schema, { data: [log] }],
  [
    'S-010',
    'a refusal that names the field',
    ops.createSite.responses[400].schema,
    {
      statusCode: 400,
      error: 'Bad Request',
      message: 'name: is required',
      field: 'name',
      errors: [{ field: 'name', message: 'is required' }],
    },
  ],
  [
    'S-010',
    'a refusal without a field',
    ops.createSite.responses[404].schema,
    { statusCode: 404, error: 'Not Found', message: 'no such site' },
  ],
  [
    'S-166',
    'a refusal of an event',
    ops.postEvent.responses[401].schema,
    { error: 'invalid_token', message: 'expired' },
  ],
  [
    'S-172',
    'a refusal of a playback',
    ops.playAudioMessage.responses[400].schema,
    { error: { code: 'invalid_request', message: 'too loud', field: 'volume' } },
  ],
];

const bad: readonly Row[] = [
  ['S-050', 'an id as text', ops.getDealer.responses[200].schema, { ...dealer, dealer_id: '1' }],
  ['S-050', 'unset text as null', ops.getDealer.responses[200].schema, { ...dealer, company_email: null }],
  [
    'S-018',
    'a time with an offset',
    ops.getDealer.responses[200].schema,
    { ...dealer, created_at: '2030-01-01T00:00:00+00:00' },
  ],
  ['S-060', 'a site without its time zone', ops.updateSite.responses[200].schema, without(site, 'timezone')],
  ['S-062', 'true as the activation', ops.createSite.responses[201].schema, { ...site, is_activated: true }],
  ['S-067', 'a wrapped list', ops.listSites.responses[200].schema, { data: [site] }],
  ['S-068', 'a single site without the bridge', ops.getSite.responses[200].schema, site],
  [
    'S-101',
    'a station without the time of its change',
    ops.getMonitoringStation.responses[200].schema,
    without(station, 'updated_at'),
  ],
  ['S-111', 'a contact without its id', ops.getContact.responses[200].schema, without(contact, 'contact_id')],
  ['S-120', 'a zone as a number', ops.getDevice.responses[200].schema, { ...device, zone_number: 1 }],
  ['S-120', 'another device type', ops.getDevice.responses[200].schema, { ...device, device_type: 'panel' }],
  [
    'S-126',
    'a success without its device',
    ops.createDevices.responses[201].schema,
    bulk(without(ok, 'res') as typeof ok),
  ],
  [
    'S-126',
    'a failure without its reason',
    ops.createDevices.responses[201].schema,
    bulk(without(failed, 'error_message') as typeof failed),
  ],
  [
    'S-127',
    'counts that disagree with the results',
    ops.createDevices.responses[201].schema,
    { ...bulk(ok, failed), success_count: 2 },
  ],
  [
    'S-127',
    'counts that swap success and failure',
    ops.createDevices.responses[201].schema,
    { ...bulk(ok, ok), success_count: 0, failure_count: 2 },
  ],
  ['S-140', 'a fifth type', ops.getArmingSettings.responses[200].schema, { security_type: 5 }],
  ['S-142', 'a status without its time', ops.getArmingStatus.responses[200].schema, { status: 'armed' }],
  ['S-154', 'another action', ops.answerVerification.responses[200].schema, { ...verification, action: 'none' }],
  [
    'S-170',
    'another category',
    ops.listAudioMessages.responses[200].schema,
    { data: { audio_messages: [{ ...message, category: 'song' }], total_count: 1 } },
  ],
  [
    'S-170',
    'a language without its country',
    ops.listAudioMessages.responses[200].schema,
    { data: { audio_messages: [{ ...message, language: 'de' }], total_count: 1 } },
  ],
  ['S-170', 'a bare list', ops.listAudioMessages.responses[200].schema, [message]],
  [
    'S-174',
    'a device id as a number',
    ops.playAudioMessage.responses[200].schema,
    { data: { ...playback, devices: [{ device_id: 3, name: 'x', status: 'queued' }] } },
  ],
  ['S-174', 'another status', ops.playAudioMessage.responses[200].schema, { data: { ...playback, status: 'paused' } }],
  ['S-166', 'a refusal of an event without a message', ops.postEvent.responses[403].schema, { error: 'forbidden' }],
];

describe('what the sandbox answers', () => {
  it.each(good)('%s: %s fits', (...[, , schema, value]) => {
    expect(problemsOf(schema, value)).toEqual([]);
  });

  it.each(bad)('%s: %s does not fit', (...[, , schema, value]) => {
    expect(problemsOf(schema, value)).not.toEqual([]);
  });
});
