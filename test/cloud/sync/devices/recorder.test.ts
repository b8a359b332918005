import { describe, expect, it } from 'vitest';
import type { Wanted } from '#cloud/sync/index.ts';
import { until } from '../../support.ts';
import { camera, nvrsPath, type Rig, startRig } from './rig.ts';

const { signal } = new AbortController();
const recorder = (more: Partial<Wanted['nvrs'][number]> = {}): Wanted['nvrs'][number] => ({
  ...{ external_nvr_id: 'rec', name: 'Recorder', devices: [] },
  ...more,
});

describe('a recorder', () => {
  const one = { devices: [camera('yard')], nvrs: [recorder({ devices: ['yard'], ip_address: '192.0.2.7' })] };

  it('is told what changed, at most once an hour unless somebody asks', async () => {
    const rig = await startRig({ wanted: one });
    await rig.sync.sync(signal);
    const change = (model: string) => {
      rig.wanted = { ...one, nvrs: [recorder({ devices: ['yard'], ip_address: '192.0.2.7', model })] };
    };
    change('R1');
    await rig.sync.sync(signal);
    change('R2');
    await rig.sync.sync(signal);
    const patches = () => rig.writes().filter((line) => line.startsWith('PATCH'));
    expect(patches()).toHaveLength(1);
    expect(rig.sync.shown()).toMatchObject({
      state: 'behind',
      held: [{ external_id: 'rec', kind: 'nvr', reason: 'waiting' }],
    });
    expect((await rig.sync.plan(signal)).nvrs.update).toEqual([]);
    await rig.sync.sync(signal, { again: true });
    expect([patches().length, rig.sync.shown().state]).toEqual([2, 'in_step']);
  });

  it('whose registration may be lost is told so, over a restart too, and registered again only on request', async () => {
    const rig = await startRig({ wanted: one });
    rig.cloud.plant({ path: nvrsPath, method: 'POST', mode: 'hang', when: 'before' });
    const asked = rig.sync.sync(signal).catch(() => undefined);
    await until('it is asked for', () => [...rig.kept.values()].some((text) => text.includes('"asked":true')));
    await rig.restart();
    await asked;
    await rig.sync.sync(signal);
    expect(rig.sync.shown().held).toMatchObject([{ external_id: 'rec', kind: 'nvr', reason: 'unknown' }]);
    expect(rig.writes().filter((line) => line === 'POST /nvrs')).toHaveLength(1);
    await rig.sync.sync(signal, { again: true });
    expect(rig.writes().filter((line) => line === 'POST /nvrs')).toHaveLength(1);
    await rig.restart();
    const done = await rig.sync.sync(signal, { again: true, lost: true });
    expect([done.nvrs.created, done.nvrs.attached, done.shown.state]).toEqual([
      ['rec'],
      [{ external_nvr_id: 'rec', devices: ['yard'] }],
      'in_step',
    ]);
  });

  it('that is there although the reply was lost stays unknown, with what the cloud says', async () => {
    const rig = await startRig({ wanted: one });
    rig.cloud.plant({ path: nvrsPath, method: 'POST', mode: 'reset', when: 'after' });
    await rig.sync.sync(signal);
    await rig.sync.sync(signal, { again: true, lost: true });
    await rig.restart();
    await rig.sync.sync(signal);
    expect(rig.sync.shown().held).toMatchObject([
      { reason: 'unknown', message: expect.stringContaining('another recorder') },
    ]);
    expect(rig.writes().filter((line) => line === 'POST /nvrs')).toHaveLength(2);
  });

  it('has its id on disk before anything else is sent', async () => {
    const seen: { kept?: string } = {};
    const rig: Rig = await startRig({
      wanted: one,
      transport: (real) => async (request) => {
        if (request.operation.id === 'addNvrDevices') seen.kept = [...rig.kept.values()].join();
        return real(request);
      },
    });
    await rig.sync.sync(signal);
    expect(seen.kept).toContain('"id":"501"');
  });

  it('of which nobody knows whether it is there is looked after by the id somebody states', async () => {
    const rig = await startRig({ wanted: one });
    rig.cloud.plant({ path: nvrsPath, method: 'POST', mode: 'reset', when: 'after' });
    await rig.sync.sync(signal);
    expect(rig.sync.shown().held).toMatchObject([
      { reason: 'unknown', message: expect.stringContaining('cloud_nvr_id') },
    ]);
    rig.wanted = { ...one, nvrs: [recorder({ ...one.nvrs[0], cloud_nvr_id: '501' })] };
    await rig.sync.sync(signal);
    expect(rig.writes()).toEqual(['POST /devices', 'POST /nvrs', 'PATCH /nvrs/501', 'POST /nvrs/501/devices']);
    expect(rig.sync.shown()).toMatchObject({ state: 'in_step', ids: { rec: '501' } });
    // Known from then on.
    rig.wanted = one;
    await rig.restart();
    await rig.sync.sync(signal);
    expect([rig.writes().length, rig.sync.shown().state]).toEqual([4, 'in_step']);
  });

  it('that is not there under the id somebody states is held, and not registered', async () => {
    const rig = await startRig({
      wanted: { ...one, nvrs: [recorder({ devices: ['yard'], cloud_nvr_id: '999' })] },
    });
    await rig.sync.sync(signal);
    expect(rig.sync.shown().held).toMatchObject([
      { external_id: 'rec', reason: 'refused', message: expect.stringMatching(/999.*cloud_nvr_id/) },
      {},
    ]);
    expect(rig.writes()).not.toContain('POST /nvrs');
    rig.wanted = one;
    await rig.sync.sync(signal, { again: true, lost: true });
    expect(rig.sync.shown()).toMatchObject({ state: 'in_step', ids: { rec: '501' } });
  });

  it('that could surely not be registered is registered later by itself', async () => {
    const rig = await startRig({ wanted: one });
    rig.cloud.plant({ path: nvrsPath, method: 'POST', mode: 'status', status: 503, count: 2 });
    await rig.sync.start(signal);
    await until('it is in step', () => rig.sync.shown().state === 'in_step');
    expect(rig.writes().filter((line) => line === 'POST /nvrs')).toHaveLength(3);
  });

  it('that is gone in the cloud is registered anew, once', async () => {
    const rig = await startRig({ wanted: one });
    await rig.sync.sync(signal);
    const change = (model: string) => {
      rig.wanted = { ...one, nvrs: [recorder({ devices: ['yard'], ip_address: '192.0.2.7', model })] };
    };
    const gone = { path: `${nvrsPath}/*`, mode: 'status', status: 404, count: -1 } as const;
    rig.cloud.plant(gone);
    // The sandbox has the recorder still, so that its name would be taken.
    rig.wanted = { ...one, nvrs: [recorder({ devices: ['yard'], name: 'Changed' })] };
    rig.cloud.plant({ path: nvrsPath, method: 'POST', mode: 'status', status: 201, body: { nvr_id: 777 }, count: -1 });
    await rig.sync.sync(signal);
    expect(rig.writes().filter((line) => line === 'POST /nvrs')).toHaveLength(2);
    change('R');
    await rig.sync.sync(signal, { again: true });
    expect(rig.writes().filter((line) => line === 'POST /nvrs')).toHaveLength(2);
    expect(rig.sync.shown().held).toContainEqual(
      expect.objectContaining({ kind: 'nvr', reason: 'refused', status: 404 }),
    );
  });
});
