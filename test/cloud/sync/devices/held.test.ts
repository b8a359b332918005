import { describe, expect, it } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import { until } from '../../support.ts';
import { faultyTransport } from './faults.ts';
import { camera, devicesPath, startRig } from './rig.ts';

const { signal } = new AbortController();
const externals = (rows: readonly Record<string, unknown>[]) =>
  rows.map(({ external_device_id }) => external_device_id);

describe('a device', () => {
  it('the cloud refused stays so until its content changes or somebody asks again; the others are made', async () => {
    const rig = await startRig({ wanted: { devices: [camera('yard', { name: 'x'.repeat(300) }), camera('gate')] } });
    await rig.sync.sync(signal);
    const { state, held } = rig.sync.shown();
    expect([state, externals(await rig.devices())]).toEqual(['behind', ['gate']]);
    expect(held).toMatchObject([{ external_id: 'yard', kind: 'device', reason: 'refused', status: 400 }]);
    expect(rig.sync.health()).toMatchObject({ state: 'degraded', reason: expect.stringContaining('yard') });
    expect(await rig.metric('siteward_cloud_devices{state="refused"}')).toMatch(/ 1$/);
    expect((await rig.sync.plan(signal)).create).toEqual([]);
    await rig.sync.sync(signal);
    expect(rig.writes()).toHaveLength(1);
    await rig.sync.sync(signal, { again: true });
    expect(rig.writes()).toHaveLength(2);
    rig.wanted = { devices: [camera('yard'), camera('gate')], nvrs: [] };
    await rig.sync.sync(signal);
    expect([rig.sync.shown().state, rig.sync.shown().held]).toEqual(['in_step', []]);
  });

  it('the cloud refused stays so over a restart: it is shown at once, and nothing is sent for it', async () => {
    const rig = await startRig({ wanted: { devices: [camera('yard', { name: 'x'.repeat(300) }), camera('gate')] } });
    await rig.sync.sync(signal);
    const { held } = rig.sync.shown();
    const before = rig.writes();
    await rig.restart();
    await rig.sync.start(signal);
    await until('it is shown', () => rig.sync.shown().held.length > 0);
    expect(rig.sync.shown().held).toEqual(held);
    await until('the cloud was asked', () => rig.sync.shown().state === 'behind');
    expect([rig.sync.shown().held, rig.writes()]).toEqual([held, before]);
    expect((await rig.sync.plan(signal)).held).toEqual(held);
    // What was mended meanwhile is tried after a restart too.
    rig.wanted = { devices: [camera('yard'), camera('gate')], nvrs: [] };
    await rig.restart();
    await rig.sync.sync(signal);
    expect(rig.sync.shown()).toMatchObject({ state: 'in_step', held: [] });
    await rig.restart();
    await rig.sync.start(signal);
    await until('the cloud was asked', () => rig.sync.shown().state === 'in_step');
    expect(rig.sync.shown().held).toEqual([]);
  });

  it('that failed for the moment waits over a restart as long as it was to, and is tried then', async () => {
    const clock = manualClock(Date.UTC(2026, 10, 2, 21));
    const faulty = faultyTransport(['none', 'mixed']);
    const rig = await startRig({
      ...{ wanted: { devices: [camera('yard')] }, transport: faulty.transport },
      more: { clock, waits: { baseMs: 60_000, capMs: 60_000, spreadMs: 0 } },
    });
    await rig.sync.sync(signal);
    expect(rig.sync.shown().held).toMatchObject([{ external_id: 'yard', reason: 'waiting', status: 500 }]);
    const sent = () => faulty.requests.filter((line) => line.startsWith('createDevices')).length;
    await rig.restart();
    await rig.sync.sync(signal);
    expect([sent(), rig.sync.shown().held[0]?.reason]).toEqual([1, 'waiting']);
    clock.advance(60_000);
    await rig.sync.sync(signal);
    expect([sent(), rig.sync.shown().state]).toEqual([2, 'in_step']);
  });

  it('that is held is kept for as many as a site may have, and no longer than it is to be written', async () => {
    const many = Array.from({ length: 1_200 }, (_, n) => camera(`c${n}`));
    const faulty = faultyTransport();
    const rig = await startRig({ wanted: { devices: many }, transport: faulty.transport });
    rig.cloud.plant({ path: devicesPath, method: 'POST', mode: 'status', status: 403, count: -1 });
    await rig.sync.sync(signal);
    expect(rig.sync.shown().held).toHaveLength(1_200);
    await rig.restart();
    await rig.sync.start(signal);
    await until('it is shown', () => rig.sync.shown().held.length > 0);
    expect(rig.sync.shown().held).toHaveLength(1_000);
    rig.wanted = { devices: [camera('c0')], nvrs: [] };
    rig.cloud.clearFaults();
    await rig.sync.sync(signal, { again: true });
    await rig.restart();
    await rig.sync.start(signal);
    await until('the cloud was asked', () => rig.sync.shown().state === 'in_step');
    expect(rig.sync.shown().held).toEqual([]);
  });

  it.each<[string, (kept: Map<string, string>) => void]>([
    ['is damaged', (kept) => kept.set('held', '{')],
    ['is of another site', (kept) => kept.set('held', (kept.get('held') ?? '').replace('"of":"1 1"', '"of":"1 2"'))],
  ])('was refused, of which what was kept %s, is tried again', async (_what, damage) => {
    const rig = await startRig({ wanted: { devices: [camera('yard', { name: 'x'.repeat(300) })] } });
    await rig.sync.sync(signal);
    expect([rig.writes().length, rig.sync.shown().held[0]?.reason]).toEqual([1, 'refused']);
    const before = rig.kept.get('held');
    damage(rig.kept);
    expect(rig.kept.get('held')).not.toBe(before);
    await rig.restart();
    await rig.sync.sync(signal);
    expect([rig.writes().length, rig.sync.shown().held[0]?.reason]).toEqual([2, 'refused']);
  });
});
