import { describe, expect, it } from 'vitest';
import { type CloudDevice, type KnownDevice, macKey } from '#cloud/sync/devices/match.ts';
import { type KnownNvr, planDevices } from '#cloud/sync/devices/plan.ts';
import type { Wanted } from '#cloud/sync/index.ts';
import { bridge, camera } from './rig.ts';

const row = (id: string, more: Partial<CloudDevice> = {}): CloudDevice => ({
  ...{ device_id: id, device_type: 'camera', zone_number: id },
  ...more,
});
const plan = (
  devices: Wanted['devices'],
  rows: readonly CloudDevice[],
  known: { devices?: Record<string, KnownDevice>; nvrs?: Record<string, KnownNvr> } = {},
  nvrs: Wanted['nvrs'] = [],
) =>
  planDevices({ devices, nvrs }, rows, {
    devices: new Map(Object.entries(known.devices ?? {})),
    nvrs: new Map(Object.entries(known.nvrs ?? {})),
  });
const bridgeAt = (furtherZones: readonly string[]) => bridge({ zone: '5', name: 'Camera yard', furtherZones });
const yard = camera('yard', { mac: 'AA-BB-CC-00-00-01', serial_number: 'S1', manufacturer: 'Maker' });

describe('a device of ours is that of the cloud', () => {
  it.each<[string, readonly CloudDevice[], Record<string, KnownDevice>, string | undefined]>([
    ['with the id it is known to have', [row('1'), row('2')], { yard: { id: '2' } }, '2'],
    ['with its external id', [row('1'), row('2', { external_device_id: 'yard' })], {}, '2'],
    ['with its MAC in another form', [row('1'), row('2', { mac: 'aa:bb:cc:00:00:01' })], {}, '2'],
    ['with its serial number', [row('1'), row('2', { serial_number: 's1', manufacturer: 'maker' })], {}, '2'],
    [
      'with its external id rather than its MAC',
      [row('1', { mac: 'aabbcc000001' }), row('2', { external_device_id: 'yard' })],
      {},
      '2',
    ],
    [
      'with its MAC rather than its serial number',
      [row('1', { serial_number: 'S1' }), row('2', { mac: 'aabb.cc00.0001' })],
      {},
      '2',
    ],
    [
      'that was found by its MAC before',
      [row('2', { external_device_id: 'px' })],
      { yard: { id: '2', as: 'px' } },
      '2',
    ],
    [
      'not under a known id that is another device now',
      [row('2', { external_device_id: 'px' })],
      { yard: { id: '2', as: 'yard' } },
      undefined,
    ],
    [
      'elsewhere, where it was registered anew',
      [row('2', { external_device_id: 'px' }), row('3', { external_device_id: 'yard' })],
      { yard: { id: '2', as: 'yard' } },
      '3',
    ],
    [
      'not with the serial number of another maker',
      [row('1', { serial_number: 'S1', manufacturer: 'Other' })],
      {},
      undefined,
    ],
    [
      'not with its serial number and another MAC',
      [row('1', { serial_number: 'S1', mac: 'aa:bb:cc:00:00:02' })],
      {},
      undefined,
    ],
    ['not as a bridge', [row('1', { mac: 'aabbcc000001', device_type: 'bridge' })], {}, undefined],
  ])('%s', (_, rows, known, expected) => {
    const { found, create, held } = plan([yard], rows, { devices: known });
    expect(held).toEqual([]);
    expect(found.get('yard')?.device_id).toBe(expected);
    expect(create.map(({ external_device_id }) => external_device_id)).toEqual(expected === undefined ? ['yard'] : []);
  });

  it.each<[string, Wanted['devices'], readonly CloudDevice[], Record<string, KnownDevice>]>([
    [
      'two have its external id',
      [yard],
      [row('1', { external_device_id: 'yard' }), row('2', { external_device_id: 'yard' })],
      {},
    ],
    ['two have its MAC', [yard], [row('1', { mac: 'aabbcc000001' }), row('2', { mac: 'aabbcc000001' })], {}],
    [
      'one is known, and another has its external id',
      [yard],
      [row('1', { external_device_id: 'px' }), row('2', { external_device_id: 'yard' })],
      { yard: { id: '1', as: 'px' } },
    ],
    [
      'the one with its external id is a bridge',
      [yard],
      [row('1', { external_device_id: 'yard', device_type: 'bridge' })],
      {},
    ],
    ['the configuration names it twice', [yard, yard], [], {}],
    [
      'two of ours could be one',
      [yard, camera('gate', { mac: 'aabbcc000001' })],
      [row('1', { mac: 'aabbcc000001' })],
      {},
    ],
  ])('and nothing is decided where %s', (_, devices, rows, known) => {
    const { held, create, update, absent } = plan(devices, rows, { devices: known });
    expect(held.map(({ reason, external_id }) => `${reason} ${external_id}`)).toContain('conflict yard');
    expect({ create, update, absent }).toEqual({ create: [], update: [], absent: [] });
  });

  it('cameras with one MAC, as the channels of one encoder have, are several', () => {
    const devices = [yard, camera('gate', { mac: yard.mac ?? '' })];
    const rows = [row('1', { external_device_id: 'yard', mac: yard.mac ?? '' })];
    const { create, held, found } = plan(devices, rows);
    expect([found.get('yard')?.device_id, create.map((one) => one.external_device_id), held]).toEqual([
      '1',
      ['gate'],
      [],
    ]);
  });

  it.each([
    ['AA:BB:CC:00:00:01', 'aabbcc000001'],
    ['aabb.cc00.0001', 'aabbcc000001'],
    ['00:00:00:00:00:00', undefined],
    ['ff-ff-ff-ff-ff-ff', undefined],
    ['aa:bb', undefined],
    ['', undefined],
  ])('a MAC %j is %j', (text, key) => {
    expect(macKey(text)).toBe(key);
  });
});

describe('a difference', () => {
  const changes = (device: Wanted['devices'][number], given: Partial<CloudDevice>) =>
    plan([device], [row('5', { external_device_id: device.external_device_id, name: 'Camera yard', ...given })])
      .update[0]?.changes;

  it.each<[string, Wanted['devices'][number], Partial<CloudDevice>, object | undefined]>([
    ['none where all is equal', camera('yard', { zone: '5' }), {}, undefined],
    ['of the name', camera('yard', { name: 'Yard' }), {}, { name: { from: 'Camera yard', to: 'Yard' } }],
    ['where the cloud has nothing', camera('yard', { model: 'M' }), { model: '' }, { model: { from: null, to: 'M' } }],
    ['none where we have nothing', camera('yard'), { model: 'M', mac: 'aabbcc000001' }, undefined],
    ['none where we have an empty text', camera('yard', { model: '' }), { model: 'M' }, undefined],
    ['none of a MAC in another form', camera('yard', { mac: 'AA-BB-CC-00-00-01' }), { mac: 'aabbcc000001' }, undefined],
    ['none of a number in other words', camera('yard', { zone: '05' }), {}, undefined],
    ['of the number', camera('yard', { zone: '7' }), {}, { zone_number: { from: '5', to: '7' } }],
    [
      'none of the order of additional numbers',
      bridgeAt(['1', '2']),
      { device_type: 'bridge', additional_zone_numbers: '2, 01' },
      undefined,
    ],
    [
      'of a panel zone',
      bridgeAt(['1', '3']),
      { device_type: 'bridge', additional_zone_numbers: '1,2' },
      { additional_zone_numbers: { from: '1,2', to: '1,3' } },
    ],
    [
      'of the last panel zone',
      bridgeAt([]),
      { device_type: 'bridge', additional_zone_numbers: '1' },
      { additional_zone_numbers: { from: '1', to: '' } },
    ],
  ])('%s', (_, device, given, expected) => {
    expect(changes(device, given)).toEqual(expected);
  });

  it('of a device whose id no number can hold is told, not sent', () => {
    const { update, held } = plan([camera('yard')], [row('9007199254740993', { external_device_id: 'yard' })]);
    expect([update, held.map(({ reason }) => reason)]).toEqual([[], ['refused']]);
  });
});

describe('what the cloud has more', () => {
  it('is only named, and its numbers are nobody else’s', () => {
    const { absent, update, create } = plan(
      [camera('yard', { zone: '5' })],
      [row('5', { external_device_id: 'old', name: 'Old' }), row('6')],
    );
    expect(absent).toEqual([{ device_id: '5', external_device_id: 'old', name: 'Old' }, { device_id: '6' }]);
    expect([update, create.map(({ zone_number }) => zone_number)]).toEqual([[], ['7']]);
  });
});

describe('a recorder', () => {
  const rec = { external_nvr_id: 'rec', name: 'Recorder', model: 'R', devices: ['yard', 'nowhere'] };
  const told = { told: { name: 'Recorder', model: 'R' }, changedAt: 0, attached: [] };

  it('is registered once, without what it records', () => {
    const { nvrs } = plan([yard], [], {}, [rec]);
    expect(nvrs).toEqual({
      create: [{ external_nvr_id: 'rec', name: 'Recorder', model: 'R' }],
      update: [],
      attach: [{ external_nvr_id: 'rec', devices: ['yard'] }],
    });
  });

  it('that is as it was told needs nothing but the devices it has not yet', () => {
    const rows = [row('1', { external_device_id: 'yard' })];
    const known = { id: '9', ...told };
    expect(plan([yard], rows, { nvrs: { rec: known } }, [rec]).nvrs).toEqual({
      ...{ create: [], update: [] },
      attach: [{ external_nvr_id: 'rec', devices: ['yard'] }],
    });
    expect(plan([yard], rows, { nvrs: { rec: { ...known, attached: ['1'] } } }, [rec]).nvrs.attach).toEqual([]);
    // Made anew in the cloud, the device has another id.
    expect(plan([yard], rows, { nvrs: { rec: { ...known, attached: ['8'] } } }, [rec]).nvrs.attach).toHaveLength(1);
  });

  it('is changed where it differs from what it was told', () => {
    const known = { id: '9', ...told, told: { name: 'Old', model: 'R', mac: 'x' } };
    expect(plan([], [], { nvrs: { rec: known } }, [rec]).nvrs.update).toEqual([
      { nvr_id: '9', external_nvr_id: 'rec', changes: { name: { from: 'Old', to: 'Recorder' } } },
    ]);
  });

  it('whose registration may have been lost is told so, and not registered by itself', () => {
    const { nvrs, held } = plan([], [], { nvrs: { rec: { ...told, asked: true } } }, [rec]);
    expect([nvrs.create, held.map(({ reason, kind }) => `${kind} ${reason}`)]).toEqual([[], ['nvr unknown']]);
  });

  it('that the configuration has twice is a conflict', () => {
    expect(plan([], [], {}, [rec, rec]).held.map(({ reason }) => reason)).toEqual(['conflict']);
  });
});

it('a camera that has not told yet what it is, by which the cloud may know it, is not created, and is changed where it is found', () => {
  const settling = { ...camera('yard'), isSettling: true };
  const unknown = plan([bridgeAt([]), settling], []);
  expect(unknown.create.map((one) => one.external_device_id)).toEqual(['sw-1']);
  expect(unknown.held).toMatchObject([{ external_id: 'yard', reason: 'waiting' }]);
  const found = plan([{ ...settling, name: 'Yard' }], [row('2', { external_device_id: 'yard', name: 'Old' })]);
  expect(found.held).toEqual([]);
  expect(found.update).toMatchObject([{ changes: { name: { from: 'Old', to: 'Yard' } } }]);
  expect(plan([{ ...settling, isSettling: false }], []).create).toEqual([
    expect.not.objectContaining({ isSettling: expect.anything() }),
  ]);
});

it('numbers of zones that stand in no list are given to nobody (safety 4)', () => {
  const wanted = { devices: [camera('a'), camera('b'), camera('c')], nvrs: [] };
  const known = { devices: new Map(), nvrs: new Map() };
  const given = (reserved: readonly string[]) =>
    planDevices({ ...wanted, reserved }, [], known).create.map((one) => one.zone_number);
  const free = given([]);
  expect(new Set(free).size).toBe(3);
  expect(given([free[0] ?? '', free[2] ?? '']).filter((number) => number === free[0] || number === free[2])).toEqual(
    [],
  );
});
