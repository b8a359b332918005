import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { armingStateOf, cloudTime, interfaceWatch, numericId, parseJson, problemOf } from '#cloud/client/index.ts';
import { answer, rig } from './harness.ts';

const { signal } = new AbortController();
const params = { dealerId: '1', siteId: '2' };
const device = { device_id: 3, external_device_id: 'cam-1', device_type: 'camera' };

describe('an answer', () => {
  it('has ids as text, whether they came as number or text, and beyond 2^53 digit by digit', async () => {
    const text = '[{"device_id":3},{"device_id":"4"},{"device_id":90071992547409931234}]';
    const { manage, changes } = rig(() => answer({ status: 200, text }));
    const { value } = await manage.listDevices({ params, signal });
    expect(value.map((one) => one.device_id)).toEqual(['3', '4', '90071992547409931234']);
    expect(changes).toEqual([]);
  });

  it('shows words nobody listed as they are, and tells once that the interface changed', async () => {
    const { manage, changes } = rig(() => answer({ status: 200, body: { ...device, device_type: 'doorbell' } }));
    const { value } = await manage.getDevice({ params: { ...params, deviceId: '3' }, signal });
    await manage.getDevice({ params: { ...params, deviceId: '3' }, signal });
    expect(value.device_type).toBe('doorbell');
    expect(changes).toEqual([{ operation: 'getDevice', path: 'device_type', what: 'value' }]);
  });

  it('keeps unknown members in its raw copy; null and a wrong type count as missing', async () => {
    const body = { ...device, name: null, mac: 12, firmware: '1.2' };
    const { manage, changes } = rig(() => answer({ status: 200, body }));
    const { value, raw } = await manage.getDevice({ params: { ...params, deviceId: '3' }, signal });
    expect(value).toEqual({ ...device, device_id: '3' });
    expect(raw).toEqual(body);
    expect(changes).toEqual([{ operation: 'getDevice', path: 'mac', what: 'type' }]);
  });

  it('without its id is still the answer to the id it was asked by', async () => {
    const { manage, changes } = rig(() => answer({ status: 200, body: { name: 'Shop' } }));
    const { value } = await manage.getSite({ params, signal });
    expect(value).toEqual({ site_id: '2', name: 'Shop' });
    expect(changes).toEqual([{ operation: 'getSite', path: 'site_id', what: 'missing' }]);
  });

  it.each([
    ['its name as a number', { nvr_id: 7 }, []],
    ['its name as text', { nvr_id: '7' }, []],
    ['`id` as a number', { id: 7 }, ['nvr_id']],
    ['`id` as text', { id: '7' }, ['nvr_id']],
    ['`id` in data', { data: { id: 7, name: 'Recorder' } }, ['body', 'nvr_id']],
    ['both: its own name counts', { id: 8, nvr_id: 7 }, []],
    ['a name without a value', { id: 7, nvr_id: null }, ['nvr_id']],
  ])('to the registration of a recorder has its id under %s', async (_form, body, changed) => {
    const { manage, changes } = rig(() => answer({ status: 201, body }));
    const recorder = { external_nvr_id: 'rec', name: 'Recorder' };
    expect((await manage.createNvr({ params, body: recorder, signal })).value.nvr_id).toBe('7');
    expect(changes.map(({ path }) => path)).toEqual(changed);
  });

  it('to the registration of a recorder without any id leaves its outcome unknown', async () => {
    const { manage } = rig(() => answer({ status: 201, body: { id: '', name: 'Recorder' } }));
    await expect(
      manage.createNvr({ params, body: { external_nvr_id: 'rec', name: 'Recorder' }, signal }),
    ).rejects.toMatchObject({ code: 'cloud_outcome_unknown' });
  });

  it('of a device has its id under its own name only, which the specification shows', async () => {
    const { manage } = rig(() => answer({ status: 200, body: [{ id: 7, name: 'x' }, device] }));
    expect((await manage.listDevices({ params, signal })).value).toHaveLength(1);
  });

  it.each([
    ['bare', [device]],
    ['in data', { data: [device] }],
    ['in a list of its own name', { devices: [device], total: 1 }],
    ['in both', { data: { devices: [device] } }],
  ])('a list is taken %s', async (form, body) => {
    const { manage, changes } = rig(() => answer({ status: 200, body }));
    const { value } = await manage.listDevices({ params, signal });
    expect(value).toEqual([{ ...device, device_id: '3' }]);
    expect(changes.map(({ what }) => what)).toEqual(form === 'bare' ? [] : ['wrapped']);
  });

  it.each([
    ['beside an empty list of errors', { errors: [], data: { devices: [device] } }],
    ['beside an empty list of errors, under its own name', { errors: [], devices: [device] }],
  ])('a list is taken %s', async (_form, body) => {
    const { manage } = rig(() => answer({ status: 200, body }));
    expect((await manage.listDevices({ params, signal })).value).toEqual([{ ...device, device_id: '3' }]);
  });

  it.each([
    ['only one of errors', { message: 'temporarily unavailable', errors: [] }],
    ['no data and no errors', { data: null, errors: [] }],
    ['only one that may be of anything', { upstreams: [] }],
    ['an empty one, and errors', { data: [], errors: ['upstream timeout'] }],
    ['some of them, and an error', { data: [device], error: { code: 'partial' } }],
    ['an empty one that is no success', { success: false, data: [] }],
    ['null', null],
    ['{}', {}],
  ])('with %s is no list: that a site has no devices is not told by it', async (_form, body) => {
    const { manage } = rig(() => answer({ status: 200, body }));
    await expect(manage.listDevices({ params, signal })).rejects.toMatchObject({ code: 'cloud_bad_answer' });
    await expect(manage.findSite({ params, externalId: 'hq', signal })).rejects.toMatchObject({
      code: 'cloud_outcome_unknown',
    });
  });

  it.each([[{ data: [] }], [{ devices: [], total: 0 }], [{ data: { devices: [] }, errors: [] }]])(
    'a list that is empty is empty: %j',
    async (body) => {
      const { manage } = rig(() => answer({ status: 200, body }));
      expect((await manage.listDevices({ params, signal })).value).toEqual([]);
    },
  );

  it('leaves out an element without its id, not the list', async () => {
    const { manage, changes } = rig(() => answer({ status: 200, body: [{ name: 'x' }, device, 'no device'] }));
    expect((await manage.listDevices({ params, signal })).value).toHaveLength(1);
    expect(changes.map(({ path }) => path)).toEqual(['[].device_id', '[]']);
  });

  it('that is empty is read again where it can be', async () => {
    const { manage, sent } = rig(({ operation }) =>
      operation.method === 'PUT' ? answer({ status: 204 }) : answer({ status: 200, body: { site_id: 2, name: 'New' } }),
    );
    expect((await manage.updateSite({ params, body: { name: 'New' }, signal })).value.name).toBe('New');
    expect(sent.map(({ operation }) => operation.id)).toEqual(['updateSite', 'getSite']);
    expect(new Set(sent.map(({ headers }) => headers['x-partner-trace-id'])).size).toBe(1);
  });

  it('of any form to an order that was taken is success', async () => {
    const { manage, changes } = rig(() => answer({ status: 200, body: ['accepted'] }));
    expect((await manage.postEvent({ signal })).value).toEqual({});
    expect((await manage.updateNvr({ params: { ...params, nvrId: '5' }, signal })).value).toEqual({ nvr_id: '5' });
    expect(changes.map(({ operation }) => operation)).toEqual(['postEvent', 'updateNvr']);
  });

  it('in HTML is a bad answer to a question, and leaves the outcome of an order open', async () => {
    const { manage, changes } = rig(() => answer({ status: 200, text: '<html>log in</html>' }));
    await expect(manage.getSite({ params, signal })).rejects.toMatchObject({ code: 'cloud_bad_answer' });
    const play = { params: { site_id: '2', audio_message_id: 'a' }, signal };
    await expect(manage.playAudioMessage(play)).rejects.toMatchObject({ code: 'cloud_outcome_unknown' });
    expect(changes.map(({ what }) => what)).toEqual(['unreadable', 'unreadable']);
  });

  it('in HTML to an order is not success because the record can be read', async () => {
    const { manage, sent } = rig(({ operation }) =>
      operation.method === 'PUT'
        ? answer({ status: 200, text: '<html>log in</html>' })
        : answer({ status: 200, body: { status: 'disarmed' } }),
    );
    const arm = manage.updateArmingStatus({ params, body: { status: 'armed' }, signal });
    await expect(arm).rejects.toMatchObject({ code: 'cloud_outcome_unknown' });
    expect(sent.map(({ operation }) => operation.id)).toEqual(['updateArmingStatus']);
  });
});

describe('a value', () => {
  it.each([
    ['2030-01-31T08:00:00.000Z', '2030-01-31T08:00:00.000Z'],
    ['2030-01-31 08:00:00', '2030-01-31T08:00:00.000Z'],
    ['2030-01-31T08:00:00', '2030-01-31T08:00:00.000Z'],
    ['2030-01-31T08:00:00+02:00', '2030-01-31T06:00:00.000Z'],
    ['2030-01-31', '2030-01-31T00:00:00.000Z'],
  ])('time %s is %s: without a zone it is UTC', (text, expected) => {
    expect(new Date(cloudTime(text) ?? Number.NaN).toISOString()).toBe(expected);
  });

  it.each(['', 'yesterday', '2030-13-01', '08:00:00', undefined])('%s is no time', (text) => {
    expect(cloudTime(text)).toBeUndefined();
  });

  it('id goes into a body as a number, unless no number holds it', () => {
    expect(numericId('12')).toBe(12);
    expect(() => numericId('90071992547409931234')).toThrow('cannot be sent as a number');
    expect(() => numericId('cam-1')).toThrow('cannot be sent as a number');
  });

  it('fraction or long text with many digits stays what it is', () => {
    expect(parseJson('{"a":0.1234567890123456789,"b":"1234567890123456789"}')).toEqual({
      a: Number('0.1234567890123456789'),
      b: '1234567890123456789',
    });
  });

  it.each<readonly [unknown, string]>([
    [{ status: 'armed' }, 'armed'],
    [{ data: { arming_status: 'DISARMED' } }, 'disarmed'],
    [{ action: 'arm' }, 'armed'],
    [{ is_armed: 0 }, 'disarmed'],
    [{ status: 'pending' }, 'unknown'],
    [{ status: 'armed', is_armed: false }, 'unknown'],
    [undefined, 'unknown'],
    ...['armed_away', 'Away', 'stay', 'home', 'NIGHT', 'partial', ' armed', 'Armed Stay', 'arm-home'].map(
      (status) => [{ status }, 'armed'] as const,
    ),
    ...['unset', 'OFF', ' Disarmed '].map((status) => [{ data: { status } }, 'disarmed'] as const),
    [{ status: false }, 'disarmed'],
    [{ data: { status: 1 } }, 'armed'],
    [{ arming_status: 0 }, 'disarmed'],
    [{ action: true }, 'armed'],
    [{ data: { is_armed: 1 } }, 'armed'],
    ...[
      '',
      'partially_armed',
      'arming',
      'pending',
      'unknown',
      'not disarmed',
      'off line',
      '0',
      'on',
      null,
      2,
      -1,
      [],
    ].map((status) => [{ status }, 'unknown'] as const),
    [{ status: 'away', arming_status: 'off' }, 'unknown'],
    // The success of the call, not a state.
    [{ status: false, error: 'try again' }, 'unknown'],
    [{ status: 0, data: null }, 'unknown'],
    [{ status: 0, data: { status: 'armed' } }, 'armed'],
    [{ status: true, message: 'no such site' }, 'unknown'],
  ])('arming status %j is %s, never disarmed by guess', (raw, expected) => {
    expect(armingStateOf(raw)).toBe(expected);
  });
});

describe('an error body', () => {
  it.each([
    [{ field: 'name', message: ['name: is required', 'x'] }, ['name'], 'name: is required; x'],
    [{ errors: [{ field: 'a' }, { field: '[1].b' }], detail: 'no' }, ['a', '[1].b'], 'no'],
    [{ error: 'invalid_grant', error_description: 'expired' }, [], 'expired'],
    [{ error: { code: 'x', message: 'too loud', field: 'volume' } }, ['volume'], 'too loud'],
    [[1, null], [], undefined],
  ])('%j tells its fields and its words', (body, fields, message) => {
    expect(problemOf(answer({ status: 400, body }))).toMatchObject({ fields, ...(message && { message }) });
  });

  it('of HTML is kept to 1 KiB', () => {
    const { excerpt, message } = problemOf(answer({ status: 502, text: `<html>${'x'.repeat(5000)}` }));
    expect([excerpt.length, message]).toEqual([1024, undefined]);
  });
});

it('every change is counted, each distinct one told once', async () => {
  const metrics = new Registry();
  const told: unknown[] = [];
  const watch = interfaceWatch({ onChange: (change) => told.push(change), metrics });
  const change = { operation: 'getSite', path: 'name', what: 'type' } as const;
  for (let times = 0; times < 3; times += 1) watch.note(change);
  expect(told).toEqual([change]);
  expect(await metrics.metrics()).toContain(
    'siteward_cloud_interface_changes_total{operation="getSite",what="type"} 3',
  );
});
