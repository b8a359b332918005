import { describe, expect, it } from 'vitest';
import type { Wanted } from '#cloud/sync/index.ts';
import { until } from '../../support.ts';
import { faultyTransport } from './faults.ts';
import { bridge, camera, devicesPath, place, sitePath, startRig } from './rig.ts';

const { signal } = new AbortController();
const cameras = (count: number) => Array.from({ length: count }, (_, n) => camera(`cam-${n}`));
const recorder = (more: Partial<Wanted['nvrs'][number]> = {}): Wanted['nvrs'][number] => ({
  ...{ external_nvr_id: 'rec', name: 'Recorder', devices: [] },
  ...more,
});
const externals = (rows: readonly Record<string, unknown>[]) =>
  rows.map(({ external_device_id }) => external_device_id);

describe('the devices of the site in the cloud', () => {
  it('are made as wanted, by themselves after the start, and then nothing is written any more', async () => {
    const rig = await startRig({
      devices: [{ external_device_id: 'foreign', device_type: 'camera', zone_number: '2' }],
      wanted: {
        devices: [bridge({ furtherZones: ['1', '02'] }), camera('yard', { zone: '21', mac: 'aa:bb:cc:00:00:01' })],
        nvrs: [recorder({ devices: ['yard'] })],
      },
    });
    expect(rig.sync.shown()).toMatchObject({ state: 'away', ids: {} });
    await rig.sync.start(signal);
    await until('it is in step', () => rig.sync.shown().state === 'in_step');
    expect(rig.writes()).toEqual(['POST /devices', 'POST /nvrs', 'POST /nvrs/501/devices']);
    expect((await rig.devices()).slice(1)).toMatchObject([
      { external_device_id: 'sw-1', zone_number: '3', additional_zone_numbers: '1,4' },
      { external_device_id: 'yard', zone_number: '21', mac: 'aa:bb:cc:00:00:01' },
    ]);
    expect(rig.sync.shown().ids).toEqual({ 'sw-1': '402', yard: '403', rec: '501' });
    expect(rig.sync.health()).toEqual({ state: 'ok', facts: { devices: 'in_step', held: 0 } });
    await rig.sync.sync(signal);
    await rig.restart();
    const { created, updated } = await rig.sync.sync(signal);
    expect([created, updated, rig.writes().length]).toEqual([[], [], 3]);
    expect(await rig.metric('siteward_cloud_devices{state="in_step"}')).toMatch(/ 2$/);
    expect(await rig.metric('siteward_cloud_devices{state="absent"}')).toMatch(/ 1$/);
    expect(await rig.metric('siteward_cloud_device_syncs_total{outcome="in_step"}')).toMatch(/ 1$/);
  });

  it('a plan is shown without a write, and says what would be done', async () => {
    const rig = await startRig({
      devices: [
        { external_device_id: 'yard', device_type: 'camera', zone_number: '3', name: 'Yard' },
        { external_device_id: 'foreign', device_type: 'camera', zone_number: '4', name: 'Foreign' },
      ],
      wanted: { devices: [camera('yard', { zone: '4' }), camera('gate')], nvrs: [recorder({ devices: ['gate'] })] },
    });
    const plan = await rig.sync.plan(signal);
    expect(plan).toEqual({
      create: [{ external_device_id: 'gate', device_type: 'camera', name: 'Camera gate', zone_number: '1' }],
      update: [
        { device_id: '401', external_device_id: 'yard', changes: { name: { from: 'Yard', to: 'Camera yard' } } },
      ],
      unchanged: [],
      absent: [{ device_id: '402', external_device_id: 'foreign', name: 'Foreign' }],
      zones: [{ external_device_id: 'yard', wanted: '4', given: '3' }],
      nvrs: {
        create: [{ external_nvr_id: 'rec', name: 'Recorder' }],
        update: [],
        attach: [{ external_nvr_id: 'rec', devices: ['gate'] }],
      },
      held: [],
    });
    expect(rig.writes()).toEqual([]);
  });

  it('that are many go in chunks of 50', async () => {
    const rig = await startRig({ wanted: { devices: cameras(120) } });
    await rig.sync.sync(signal);
    expect(rig.writes()).toEqual(['POST /devices', 'POST /devices', 'POST /devices']);
    expect(new Set((await rig.devices()).map(({ zone_number }) => zone_number)).size).toBe(120);
    expect(rig.sync.shown().state).toBe('in_step');
  });

  it('are changed only where they differ, and follow what is wanted by themselves', async () => {
    const rig = await startRig({ wanted: { devices: [camera('yard', { zone: '5' }), camera('gate', { zone: '6' })] } });
    await rig.sync.start(signal);
    await until('it is in step', () => rig.sync.shown().state === 'in_step');
    rig.wanted = { devices: [camera('yard', { zone: '6' }), camera('gate', { zone: '5', model: 'M' })], nvrs: [] };
    rig.sync.changed();
    await until('the numbers are changed', async () => (await rig.devices())[1]?.zone_number === '5');
    await until('it is in step', () => rig.sync.shown().state === 'in_step');
    expect(await rig.devices()).toMatchObject([{ zone_number: '6' }, { zone_number: '5', model: 'M' }]);
  });

  it('that are changed in the cloud are set right in time', async () => {
    const rig = await startRig({ wanted: { devices: [camera('yard')] }, more: { everyMs: 20 } });
    await rig.sync.start(signal);
    await until('it is in step', () => rig.sync.shown().state === 'in_step');
    await rig.operator.updateDevices({ params: place, items: [{ device_id: 401, name: 'Typed there' }], signal });
    await until('it is as before', async () => (await rig.devices())[0]?.name === 'Camera yard');
  });

  it('are left to requests where nothing shall happen by itself', async () => {
    const rig = await startRig({ wanted: { devices: [camera('yard')] }, more: { automatic: false, everyMs: 1 } });
    await rig.sync.start(signal);
    rig.sync.changed();
    rig.sync.retryNow();
    expect((await rig.sync.plan(signal)).create).toHaveLength(1);
    expect(rig.writes()).toEqual([]);
    expect((await rig.sync.sync(signal)).created).toEqual(['yard']);
  });

  it('of one site count for no other, and what cannot be read of them is nothing', async () => {
    const rig = await startRig({ wanted: { devices: [camera('yard')] } });
    await rig.sync.sync(signal);
    expect(rig.kept.size).toBeGreaterThan(1);
    for (const [key, value] of rig.kept) rig.kept.set(key, value.replace('yard', 'gate'));
    await rig.restart();
    await rig.sync.sync(signal);
    expect([rig.sync.shown().state, rig.writes()]).toEqual(['in_step', ['POST /devices']]);
  });
});

describe('a device', () => {
  it('that was found by its MAC is known again without it, also after a restart', async () => {
    const mac = 'aa:bb:cc:00:00:01';
    const rig = await startRig({
      devices: [{ external_device_id: 'px', device_type: 'camera', zone_number: '3', mac }],
      wanted: { devices: [camera('yard', { mac })] },
    });
    await rig.sync.sync(signal);
    rig.wanted = { devices: [camera('yard')], nvrs: [] };
    await rig.restart();
    await rig.sync.sync(signal);
    expect([rig.sync.shown().ids, externals(await rig.devices())]).toEqual([{ yard: '401' }, ['px']]);
  });

  it('that vanished in the cloud is made anew, and associated with its recorder again', async () => {
    const rig = await startRig({ wanted: { devices: [camera('yard')], nvrs: [recorder({ devices: ['yard'] })] } });
    await rig.sync.sync(signal);
    await rig.operator.deleteDevices({ params: place, items: ['401'], signal });
    const done = await rig.sync.sync(signal);
    expect([done.created, done.nvrs.attached, done.shown.ids.yard]).toEqual([
      ['yard'],
      [{ external_nvr_id: 'rec', devices: ['yard'] }],
      '402',
    ]);
  });

  it('that is missing in a list although it is there is not made twice', async () => {
    const rig = await startRig({ wanted: { devices: [camera('yard')] } });
    await rig.sync.sync(signal);
    rig.cloud.plant({ path: devicesPath, method: 'GET', mode: 'status', status: 200, body: [] });
    await rig.sync.sync(signal);
    expect([rig.writes(), rig.sync.shown().state]).toEqual([['POST /devices'], 'in_step']);
  });

  it('is not made while a row of the list cannot be read, which may be it', async () => {
    const rig = await startRig({ wanted: { devices: [camera('yard')] } });
    rig.cloud.plant({ path: devicesPath, method: 'GET', mode: 'status', status: 200, body: [{ name: 'no id' }] });
    await expect(rig.sync.sync(signal)).rejects.toMatchObject({ code: 'cloud_bad_answer' });
    expect([rig.writes(), rig.sync.shown().state]).toEqual([[], 'away']);
  });

  it('is made once although the reply to that was lost', async () => {
    const rig = await startRig({ wanted: { devices: cameras(3) } });
    rig.cloud.plant({ path: devicesPath, method: 'POST', mode: 'reset', when: 'after' });
    await rig.sync.sync(signal);
    expect([rig.writes(), externals(await rig.devices())]).toEqual([['POST /devices'], ['cam-0', 'cam-1', 'cam-2']]);
  });

  it('that failed for the moment is tried again alone, by itself', async () => {
    const faulty = faultyTransport(['none', 'mixed']);
    const rig = await startRig({ wanted: { devices: cameras(4) }, transport: faulty.transport });
    await rig.sync.start(signal);
    await until('it is in step', () => rig.sync.shown().state === 'in_step');
    expect(externals(await rig.devices()).sort()).toEqual(['cam-0', 'cam-1', 'cam-2', 'cam-3']);
  });

  it('of a call that was refused as a whole is sent alone, so that one bad item holds up nobody', async () => {
    const rig = await startRig({ wanted: { devices: cameras(3) } });
    rig.cloud.plant({
      path: devicesPath,
      method: 'POST',
      mode: 'status',
      status: 400,
      body: { message: 'no' },
      count: 2,
    });
    await rig.sync.sync(signal);
    expect(rig.writes()).toHaveLength(4);
    expect(externals(await rig.devices())).toEqual(['cam-1', 'cam-2']);
    expect(rig.sync.shown().held).toMatchObject([{ external_id: 'cam-0', reason: 'refused', status: 400 }]);
  });

  it('the cloud takes and shows otherwise is given up after some tries', async () => {
    const faulty = faultyTransport();
    const rig = await startRig({
      ...{ devices: [{ external_device_id: 'yard', device_type: 'camera', zone_number: '1', name: 'Old' }] },
      ...{ wanted: { devices: [camera('yard')] }, transport: faulty.transport },
    });
    const lies = () => faulty.requests.filter((line) => line === 'updateDevices lie').length;
    for (let tries = 0; rig.sync.shown().held[0]?.reason !== 'refused' && tries < 200; tries += 1) {
      faulty.script.splice(0, 9, 'none', 'lie', 'none');
      await rig.sync.sync(signal);
    }
    expect([lies(), rig.sync.shown().held[0]?.reason]).toEqual([3, 'refused']);
  });

  it('that was taken out of the configuration is told as long as the cloud has it; a recorder stays told', async () => {
    const rig = await startRig({ wanted: { devices: [camera('yard'), camera('gate')], nvrs: [recorder()] } });
    await rig.sync.sync(signal);
    rig.wanted = { devices: [camera('gate')], nvrs: [] };
    await rig.sync.sync(signal);
    expect(rig.sync.shown()).toMatchObject({ ids: { gate: '402' }, left: { yard: '401', rec: '501' } });
    await rig.operator.deleteDevices({ params: place, items: ['401'], signal });
    await rig.sync.sync(signal);
    expect(rig.sync.shown().left).toEqual({ rec: '501' });
  });

  it('where creating is not offered is left to the platform, and found when it is there', async () => {
    const rig = await startRig({
      ...{ devices: [{ external_device_id: 'gate', device_type: 'camera', zone_number: '1', name: 'Old' }] },
      wanted: { devices: [camera('yard'), camera('gate')] },
    });
    rig.cloud.plant({ path: devicesPath, method: 'POST', mode: 'status', status: 403, count: -1 });
    await rig.sync.sync(signal);
    expect(rig.sync.shown().held).toMatchObject([
      { external_id: 'yard', reason: 'waiting', status: 403, message: expect.stringContaining('ask the platform') },
    ]);
    expect((await rig.devices())[0]?.name).toBe('Camera gate');
    rig.cloud.clearFaults();
    const items = [{ external_device_id: 'yard', device_type: 'camera', zone_number: '2' }] as const;
    await rig.operator.createDevices({ params: place, items, signal });
    await rig.sync.sync(signal);
    expect(rig.sync.shown()).toMatchObject({ state: 'in_step', held: [] });
  });
});

describe('a cloud that does not answer as it should', () => {
  it.each([
    [404, 'cloud_not_found', 'does not know this site'],
    [403, 'cloud_forbidden', 'does not let this bridge'],
  ] as const)(
    'with %i for the site stops the work and says so; nothing is written, and it goes on by itself',
    async (status, code, words) => {
      const rig = await startRig({ wanted: { devices: [camera('yard')] }, more: { everyMs: 5 } });
      await rig.sync.sync(signal);
      rig.wanted = { devices: [camera('yard'), camera('gate')], nvrs: [] };
      rig.cloud.plant({ path: `${sitePath}/*`, mode: 'status', status, count: -1 });
      await expect(rig.sync.sync(signal)).rejects.toMatchObject({ code });
      expect(rig.sync.shown()).toMatchObject({ state: 'gone', reason: expect.stringContaining(words) });
      expect(rig.sync.health()).toMatchObject({ state: 'degraded', reason: expect.stringContaining(words) });
      expect([rig.writes(), rig.sync.shown().ids]).toEqual([['POST /devices'], { yard: '401' }]);
      rig.cloud.clearFaults();
      await rig.sync.start(signal);
      await until('it is in step', () => rig.sync.shown().state === 'in_step');
    },
  );

  it('of which the site is known to be lost is asked nothing, until it is back', async () => {
    let isOpen = false;
    const standing = { isOpen: () => isOpen, judge: async () => isOpen };
    const rig = await startRig({ wanted: { devices: [camera('yard')] }, more: { standing } });
    await expect(rig.sync.sync(signal)).rejects.toMatchObject({ code: 'site_gone' });
    await expect(rig.sync.plan(signal)).rejects.toMatchObject({ code: 'site_gone' });
    expect([rig.sync.shown().state, rig.cloud.log()]).toEqual(['gone', []]);
    isOpen = true;
    await rig.sync.sync(signal);
    expect(rig.sync.shown()).toMatchObject({ state: 'in_step', ids: { yard: '401' } });
    expect(rig.sync.shown().reason).toBeUndefined();
  });

  it.each([404, 403])('with %i for the devices and for the site itself is a site that is gone', async (status) => {
    const standing = { isOpen: () => true, judge: async () => false };
    const rig = await startRig({ wanted: { devices: [camera('yard')] }, more: { standing } });
    rig.cloud.plant({ path: devicesPath, mode: 'status', status, count: -1 });
    await expect(rig.sync.sync(signal)).rejects.toMatchObject({ code: 'site_gone' });
    expect(rig.sync.shown()).toMatchObject({
      state: 'gone',
      reason: expect.stringMatching(/is deleted in the cloud.*protected as before/),
    });
  });

  it.each([404, 403])('with %i for the devices alone is away, when the site itself is there', async (status) => {
    const standing = { isOpen: () => true, judge: async () => true };
    const rig = await startRig({ wanted: { devices: [camera('yard')] }, more: { standing } });
    rig.cloud.plant({ path: devicesPath, mode: 'status', status });
    await expect(rig.sync.sync(signal)).rejects.toThrow();
    expect(rig.sync.shown()).toMatchObject({ state: 'away', reason: expect.stringContaining(String(status)) });
  });

  it('is asked again by itself after a storm of 429', async () => {
    const rig = await startRig({ wanted: { devices: cameras(2) } });
    rig.cloud.plant({ path: `${sitePath}/*`, mode: 'status', status: 429, count: 12 });
    await rig.sync.start(signal);
    await until('it is away', () => rig.sync.shown().state === 'away' && rig.sync.shown().reason !== undefined);
    expect(rig.sync.health().state).toBe('ok');
    await until('it is in step', () => rig.sync.shown().state === 'in_step');
    expect(externals(await rig.devices())).toHaveLength(2);
  });

  it('is left alone as long as it asks for', async () => {
    const rig = await startRig({ wanted: { devices: cameras(1) } });
    const headers = { 'retry-after': '600' };
    rig.cloud.plant({ path: devicesPath, method: 'GET', mode: 'status', status: 429, headers, count: 1 });
    await rig.sync.start(signal);
    await until('it is away', () => rig.sync.shown().state === 'away' && rig.sync.shown().reason !== undefined);
    const before = rig.cloud.log().length;
    // The waits between tries are some milliseconds here; so many turns of the loop are more than that.
    for (let turns = 0; turns < 50; turns += 1) await rig.operator.getSite({ params: place, signal });
    expect(rig.cloud.log().length).toBe(before + 50);
    rig.sync.retryNow();
    await until('it is in step', () => rig.sync.shown().state === 'in_step');
  });

  it('with its list in an envelope and ids as text is understood', async () => {
    const faulty = faultyTransport();
    faulty.isReworded = true;
    const rig = await startRig({ wanted: { devices: [bridge({ furtherZones: ['1'] })] }, transport: faulty.transport });
    await rig.sync.sync(signal);
    await rig.sync.sync(signal);
    expect([rig.sync.shown().state, rig.writes()]).toEqual(['in_step', ['POST /devices']]);
  });
});

describe('several requests at once', () => {
  it('end for each when its signal says so, and for all when siteward stops', async () => {
    let arrived = 0;
    const rig = await startRig({
      wanted: { devices: cameras(2) },
      transport: () => (request) => {
        arrived += 1;
        // Nobody answers.
        return new Promise((_, reject) => {
          request.signal.addEventListener('abort', () => reject(request.signal.reason));
        });
      },
    });
    const impatient = new AbortController();
    const ends = [rig.sync.sync(signal), rig.sync.sync(impatient.signal), rig.sync.sync(signal), rig.sync.plan(signal)];
    const settled = Promise.allSettled(ends);
    await until('the list is asked for', () => arrived === 1);
    impatient.abort(new Error('no patience'));
    await expect(ends[1]).rejects.toThrow('no patience');
    await rig.sync.stop();
    const codes = (await settled).map((one) => (one.status === 'rejected' ? (one.reason.code ?? 'signal') : 'done'));
    expect([codes, arrived]).toEqual([['stopped', 'signal', 'stopped', 'stopped'], 1]);
  });

  it('share one', async () => {
    const rig = await startRig({ wanted: { devices: cameras(2) } });
    const done = await Promise.all([
      rig.sync.sync(signal),
      rig.sync.sync(signal),
      rig.sync.sync(signal),
      rig.sync.sync(signal),
    ]);
    expect(rig.writes()).toEqual(['POST /devices']);
    expect(done.map(({ created }) => created.length)).toEqual([2, 2, 2, 2]);
  });
});
