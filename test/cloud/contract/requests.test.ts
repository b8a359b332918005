import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import {
  activationChange,
  armingSettingUpdate,
  armingStatusUpdate,
  bypassRequest,
  cloudEvent,
  contactCreate,
  contactUpdate,
  dealerConnect,
  dealerUpdate,
  deviceCreate,
  deviceIds,
  deviceUpdate,
  dispatchRequest,
  linkChange,
  monitoringBindings,
  monitoringStationCreate,
  monitoringStationUpdate,
  nvrCreate,
  nvrUpdate,
  playRequest,
  siteCreate,
  siteUpdate,
  verificationResponse,
} from '#cloud/contract/index.ts';
import { problemsOf, without } from './check.ts';

const long = (length: number) => 'x'.repeat(length);
const connect = { external_dealer_id: 'd-1', company_name: 'Dealer' };
const site = { external_site_id: 's-1', name: 'Shop', timezone: 'Europe/Berlin' };
const station = { external_monitoring_station_id: 'm-1', name: 'Centre' };
const contact = { external_contact_id: 'c-1', first_name: 'Ada', last_name: 'Berg' };
const device = { external_device_id: 'cam-1', device_type: 'camera', zone_number: '1' };
const nvr = { external_nvr_id: 'n-1', name: 'Recorder' };
const answer = { contact_id: 5, action: 'dispatch', responded_at: '2030-01-01T00:00:00.000Z' };
const event = {
  version: '1.0',
  location_id: 'hq',
  event_id: 'e-1',
  event_type: 'alarm',
  event_time: '2030-01-01T00:00:00.000Z',
  sent_at: '2030-01-01T00:00:01.000Z',
};

type Accepted = readonly [rule: string, name: string, schema: z.ZodType, value: unknown];
type Refused = readonly [...Accepted, problem: string];

const accepted: readonly Accepted[] = [
  ['S-012', 'members nobody knows', siteCreate, { ...site, colour: 'red' }],
  ['S-014', 'a name of 255 characters', siteCreate, { ...site, name: long(255) }],
  ['S-014', 'an id of 4096 characters', siteCreate, { ...site, external_site_id: long(4096) }],
  ['S-014', 'an optional text that is empty', siteCreate, { ...site, address2: '' }],
  ['S-051', 'a connection', dealerConnect, connect],
  ['S-057', 'no change of a dealer', dealerUpdate, {}],
  ['S-057', 'an e-mail that is none', dealerUpdate, { company_email: 'nobody', company_phone_number: 'call me' }],
  ['S-057', 'an external id, which means nothing', dealerUpdate, { external_dealer_id: 7 }],
  ['S-061', 'a site with required members only', siteCreate, site],
  ['S-061', 'a whole site', siteCreate, { ...site, monitoring_station_id: 3, account_number: '7', address1: 'a' }],
  ['S-062', 'members that are not for the caller to set', siteCreate, { ...site, is_activated: 'x', site_id: null }],
  ['S-063', 'an alias of a time zone', siteCreate, { ...site, timezone: 'US/Eastern' }],
  ['S-063', 'UTC', siteCreate, { ...site, timezone: 'UTC' }],
  ['S-069', 'no change of a site', siteUpdate, {}],
  ['S-069', 'null, to clear the station', siteUpdate, { monitoring_station_id: null }],
  ['S-071', 'no member, to toggle', activationChange, {}],
  ['S-071', '0', activationChange, { is_activated: 0 }],
  ['S-071', '1', activationChange, { is_activated: 1 }],
  ['S-073', 'an empty object for a link', linkChange, {}],
  ['S-074', 'a station alone', monitoringBindings, { monitoring_station_id: 3 }],
  ['S-074', 'null as the station', monitoringBindings, { monitoring_station_id: null }],
  ['S-074', 'an account number alone', monitoringBindings, { account_number: '77' }],
  ['S-100', 'a monitoring station', monitoringStationCreate, station],
  ['S-100', 'a whole monitoring station', monitoringStationCreate, { ...station, prefix: 'A', linecard: '2' }],
  ['S-104', 'no change of a station', monitoringStationUpdate, {}],
  ['S-104', 'an external id in an update, which means nothing', monitoringStationUpdate, without(station, 'name')],
  ['S-110', 'a contact', contactCreate, contact],
  ['S-111', 'a telephone number of any form', contactCreate, { ...contact, phone_number: 'at the desk', email: '-' }],
  ['S-111', 'each of the five on its own', contactUpdate, { external_contact_id: 'c-2' }],
  ['S-121', 'a camera', deviceCreate, device],
  ['S-121', 'a bridge', deviceCreate, { ...device, device_type: 'bridge', additional_zone_numbers: '2,3' }],
  ['S-133', 'an update of nothing', deviceUpdate, { device_id: 1 }],
  ['S-134', 'type and external id in an update, which mean nothing', deviceUpdate, { ...device, device_id: 1 }],
  ['S-135', 'ids to delete', deviceIds, { deviceIds: [1, 2] }],
  ['S-136', 'one id twice: the second fails as an item', deviceIds, { deviceIds: [1, 1] }],
  ['S-140', 'the lowest type', armingSettingUpdate, { security_type: 1 }],
  ['S-140', 'the highest type', armingSettingUpdate, { security_type: 4 }],
  ['S-142', 'armed', armingStatusUpdate, { status: 'armed' }],
  ['S-142', 'disarmed', armingStatusUpdate, { status: 'disarmed' }],
  ['S-143', 'a recorder', nvrCreate, nvr],
  ['S-143', 'no change of a recorder', nvrUpdate, {}],
  ['S-150', 'a dispatch', verificationResponse, answer],
  ['S-150', 'a disregard with an offset', verificationResponse, { ...answer, action: 'disregard' }],
  ['S-150', 'a time with an offset', verificationResponse, { ...answer, responded_at: '2030-01-01T01:00:00+01:00' }],
  ['S-160', 'an event of the six required members', cloudEvent, event],
  ['S-161', 'a type nobody named', cloudEvent, { ...event, event_type: 'weather', event_status: 'odd' }],
  ['S-162', 'null as the payload', cloudEvent, { ...event, payload: null }],
  ['S-162', '50 snapshots', cloudEvent, { ...event, upload_snapshot_count: 50 }],
  ['S-171', 'a play request of nothing', playRequest, {}],
  ['S-171', 'the lowest values', playRequest, { volume: 0, repeat: 1 }],
  ['S-171', 'the highest values', playRequest, { volume: 100, repeat: 5 }],
  ['S-173', 'device ids as text and as numbers', playRequest, { target_devices: ['1', 2] }],
  ['S-179', 'a bypass', bypassRequest, { zones: ['12'] }],
  ['S-179', 'a dispatch of whoever comes', dispatchRequest, { reason: 'glass broken' }],
  ['S-179', 'a dispatch of a guard', dispatchRequest, { reason: 'glass broken', responder: 'guard' }],
];

const refused: readonly Refused[] = [
  ['S-009', 'a missing member', siteCreate, without(site, 'name'), 'name: is required'],
  ['S-009', 'a wrong type', siteCreate, { ...site, name: 7 }, 'name: must be a string'],
  ['S-011', 'an array', siteCreate, [], 'body: must be an object'],
  ['S-011', 'null', siteCreate, null, 'body: must be an object'],
  ['S-011', 'a number', activationChange, 1, 'body: must be an object'],
  ['S-011', 'text as a link body', linkChange, 'x', 'body: must be an object'],
  ['S-013', 'null as an optional string', siteUpdate, { address1: null }, 'address1: must be a string'],
  [
    'S-013',
    'null as an optional number',
    siteCreate,
    { ...site, monitoring_station_id: null },
    'monitoring_station_id: must be a whole number',
  ],
  [
    'S-013',
    'null as a required string in an update',
    contactUpdate,
    { first_name: null },
    'first_name: must be a string',
  ],
  ['S-014', 'an empty name', siteCreate, { ...site, name: '' }, 'name: must not be empty'],
  ['S-014', 'a blank name', siteCreate, { ...site, name: ' \t' }, 'name: must not be empty'],
  ['S-014', 'an empty name in an update', siteUpdate, { name: '' }, 'name: must not be empty'],
  [
    'S-014',
    'a name of 256 characters',
    siteCreate,
    { ...site, name: long(256) },
    'name: must have at most 255 characters',
  ],
  [
    'S-014',
    'an address of 256 characters',
    siteUpdate,
    { address2: long(256) },
    'address2: must have at most 255 characters',
  ],
  [
    'S-014',
    'another text of 4097 characters',
    siteUpdate,
    { account_number: long(4097) },
    'account_number: must have at most 4096 characters',
  ],
  [
    'S-017',
    'an id as text',
    siteUpdate,
    { monitoring_station_id: '3' },
    'monitoring_station_id: must be a whole number',
  ],
  [
    'S-017',
    'a contact id as text',
    verificationResponse,
    { ...answer, contact_id: '5' },
    'contact_id: must be a whole number',
  ],
  ['S-051', 'no external id', dealerConnect, without(connect, 'external_dealer_id'), 'external_dealer_id: is required'],
  ['S-051', 'no company', dealerConnect, without(connect, 'company_name'), 'company_name: is required'],
  [
    'S-051',
    'a number as the external id',
    dealerConnect,
    { ...connect, external_dealer_id: 4 },
    'external_dealer_id: must be a string',
  ],
  ['S-057', 'a number as the address', dealerUpdate, { company_address1: 4 }, 'company_address1: must be a string'],
  ['S-061', 'no external id', siteCreate, without(site, 'external_site_id'), 'external_site_id: is required'],
  ['S-061', 'no time zone', siteCreate, without(site, 'timezone'), 'timezone: is required'],
  [
    'S-063',
    'a place that is no zone',
    siteCreate,
    { ...site, timezone: 'Mars/Base' },
    'timezone: must be the name of an IANA time zone, such as Europe/Berlin',
  ],
  [
    'S-063',
    'another case',
    siteUpdate,
    { timezone: 'europe/berlin' },
    'timezone: must be the name of an IANA time zone, such as Europe/Berlin',
  ],
  [
    'S-063',
    'an alias in another case',
    siteUpdate,
    { timezone: 'US/EASTERN' },
    'timezone: must be the name of an IANA time zone, such as Europe/Berlin',
  ],
  [
    'S-063',
    'an offset',
    siteUpdate,
    { timezone: '+02:00' },
    'timezone: must be the name of an IANA time zone, such as Europe/Berlin',
  ],
  [
    'S-069',
    'a fraction as the station',
    siteUpdate,
    { monitoring_station_id: 1.5 },
    'monitoring_station_id: must be a whole number',
  ],
  ['S-071', '2', activationChange, { is_activated: 2 }, 'is_activated: must be 0 or 1'],
  ['S-071', 'true', activationChange, { is_activated: true }, 'is_activated: must be 0 or 1'],
  ['S-071', 'null', activationChange, { is_activated: null }, 'is_activated: must be 0 or 1'],
  ['S-074', 'neither member', monitoringBindings, {}, 'body: must hold monitoring_station_id or account_number'],
  [
    'S-074',
    'null as the account number',
    monitoringBindings,
    { account_number: null },
    'account_number: must be a string',
  ],
  ['S-100', 'no name', monitoringStationCreate, without(station, 'name'), 'name: is required'],
  ['S-100', 'a number as the prefix', monitoringStationCreate, { ...station, prefix: 1 }, 'prefix: must be a string'],
  ['S-110', 'no first name', contactCreate, without(contact, 'first_name'), 'first_name: is required'],
  ['S-110', 'no last name', contactCreate, without(contact, 'last_name'), 'last_name: is required'],
  [
    'S-110',
    'no external id',
    contactCreate,
    without(contact, 'external_contact_id'),
    'external_contact_id: is required',
  ],
  [
    'S-125',
    'another device type',
    deviceCreate,
    { ...device, device_type: 'nvr' },
    'device_type: must be one of camera, bridge',
  ],
  ['S-125', 'no device type', deviceCreate, without(device, 'device_type'), 'device_type: is required'],
  ['S-125', 'no external id', deviceCreate, without(device, 'external_device_id'), 'external_device_id: is required'],
  ['S-125', 'an item that is no object', deviceCreate, 7, 'body: must be an object'],
  ['S-130', 'a zone as a number', deviceCreate, { ...device, zone_number: 1 }, 'zone_number: must be a string'],
  [
    'S-130',
    'further zones as an array',
    deviceCreate,
    { ...device, additional_zone_numbers: ['2'] },
    'additional_zone_numbers: must be a string',
  ],
  ['S-133', 'an update without its device', deviceUpdate, { name: 'x' }, 'device_id: is required'],
  ['S-133', 'a device id as text', deviceUpdate, { device_id: '1' }, 'device_id: must be a whole number'],
  ['S-136', 'no ids', deviceIds, {}, 'deviceIds: is required'],
  ['S-136', 'ids under the other spelling', deviceIds, { device_ids: [1] }, 'deviceIds: is required'],
  ['S-136', 'one id without a list', deviceIds, { deviceIds: 1 }, 'deviceIds: must be an array of device ids'],
  ['S-136', 'an empty list', deviceIds, { deviceIds: [] }, 'deviceIds: must hold at least one item'],
  ['S-136', 'ids as text', deviceIds, { deviceIds: [1, '2'] }, 'deviceIds: must hold whole numbers only'],
  [
    'S-124',
    '501 ids',
    deviceIds,
    { deviceIds: Array.from({ length: 501 }, (_, i) => i) },
    'deviceIds: must hold at most 500 items',
  ],
  ...[0, 5, 2.5, '2', null].map(
    (value): Refused => [
      'S-140',
      `the type ${JSON.stringify(value)}`,
      armingSettingUpdate,
      { security_type: value },
      'security_type: must be a whole number from 1 to 4',
    ],
  ),
  ['S-140', 'no type', armingSettingUpdate, {}, 'security_type: is required'],
  ['S-142', 'another word', armingStatusUpdate, { status: 'home' }, 'status: must be one of armed, disarmed'],
  ['S-142', 'another case', armingStatusUpdate, { status: 'Armed' }, 'status: must be one of armed, disarmed'],
  ['S-142', 'no status', armingStatusUpdate, {}, 'status: is required'],
  ['S-143', 'a recorder without a name', nvrCreate, without(nvr, 'name'), 'name: is required'],
  ['S-150', 'no contact', verificationResponse, without(answer, 'contact_id'), 'contact_id: is required'],
  [
    'S-150',
    'another action',
    verificationResponse,
    { ...answer, action: 'ignore' },
    'action: must be one of dispatch, disregard',
  ],
  ['S-150', 'no time', verificationResponse, without(answer, 'responded_at'), 'responded_at: is required'],
  [
    'S-150',
    'a time that is none',
    verificationResponse,
    { ...answer, responded_at: 'now' },
    'responded_at: must be an ISO 8601 time',
  ],
  [
    'S-150',
    'a time as a number',
    verificationResponse,
    { ...answer, responded_at: 7 },
    'responded_at: must be an ISO 8601 time',
  ],
  ...['version', 'location_id', 'event_id', 'event_type', 'event_time', 'sent_at'].map(
    (member): Refused => [
      'S-162',
      `an event without ${member}`,
      cloudEvent,
      without(event, member),
      `${member}: is required`,
    ],
  ),
  ['S-160', 'a flag as text', cloudEvent, { ...event, upload_short_mp4: 'yes' }, 'upload_short_mp4: must be a boolean'],
  [
    'S-162',
    '51 snapshots',
    cloudEvent,
    { ...event, upload_snapshot_count: 51 },
    'upload_snapshot_count: must be a whole number from 0 to 50',
  ],
  ['S-162', 'an array as the payload', cloudEvent, { ...event, payload: [] }, 'payload: must be an object'],
  ['S-172', 'a volume of 101', playRequest, { volume: 101 }, 'volume: must be a whole number from 0 to 100'],
  ['S-172', 'a volume of -1', playRequest, { volume: -1 }, 'volume: must be a whole number from 0 to 100'],
  ['S-172', 'half a volume', playRequest, { volume: 0.5 }, 'volume: must be a whole number from 0 to 100'],
  ['S-172', 'a volume as text', playRequest, { volume: '70' }, 'volume: must be a whole number from 0 to 100'],
  ['S-172', 'no repeat at all', playRequest, { repeat: 0 }, 'repeat: must be a whole number from 1 to 5'],
  ['S-172', 'six repeats', playRequest, { repeat: 6 }, 'repeat: must be a whole number from 1 to 5'],
  [
    'S-173',
    'an empty list of devices',
    playRequest,
    { target_devices: [] },
    'target_devices: must hold at least one device, or be left out for all',
  ],
  [
    'S-173',
    'one device without a list',
    playRequest,
    { target_devices: '1' },
    'target_devices: must be an array of device ids',
  ],
  ['S-173', 'a device that is no id', playRequest, { target_devices: [true] }, 'target_devices.0: must be a device id'],
  ['S-179', 'a bypass of nothing', bypassRequest, { zones: [] }, 'zones: must hold at least one zone'],
  ['S-179', 'a zone as a number', bypassRequest, { zones: [12] }, 'zones.0: must be a string'],
  ['S-179', 'a dispatch without a reason', dispatchRequest, {}, 'reason: is required'],
  [
    'S-179',
    'another responder',
    dispatchRequest,
    { reason: 'x', responder: 'dog' },
    'responder: must be one of guard, responder',
  ],
];

describe('a strict server takes', () => {
  it.each(accepted)('%s: %s', (...[, , schema, value]) => {
    expect(problemsOf(schema, value)).toEqual([]);
  });
});

describe('a strict server refuses, and names the field and what it must be,', () => {
  it.each(refused)('%s: %s', (...[, , schema, value, problem]) => {
    expect(problemsOf(schema, value)).toEqual([problem]);
  });
});

describe('a strict server leaves out', () => {
  it('members that are not for the caller to set (S-062, S-134)', () => {
    expect(siteCreate.parse({ ...site, is_activated: 1, site_id: 9, external_monitoring_station_id: 'm' })).toEqual(
      site,
    );
    expect(deviceUpdate.parse({ ...device, device_id: 4 })).toEqual({ device_id: 4, zone_number: '1' });
  });

  it('nothing of an event, so that what a newer bridge adds is kept', () => {
    expect(cloudEvent.parse({ ...event, added: 1 })).toEqual({ ...event, added: 1 });
  });
});

it('targets of a playback are compared as text (S-173)', () => {
  expect(playRequest.parse({ target_devices: [7, '8'] })).toEqual({ target_devices: ['7', '8'] });
});

it('all wrong fields are named at once, the first first (S-010)', () => {
  expect(problemsOf(siteCreate, { external_site_id: '', timezone: 4 })).toEqual([
    'external_site_id: must not be empty',
    'name: is required',
    'timezone: must be a string',
  ]);
});
