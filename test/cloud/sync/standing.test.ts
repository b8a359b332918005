import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../support.ts';
import { minute, type SyncRig, startSyncRig } from './rig.ts';

let rig: SyncRig;
afterEach(() => rig?.close());

const everything = '/partner/v1/dealers/1/sites/1*';
const troubles = (kind: string) => rig.events.filter((event) => event.kind === kind).map(({ status }) => status);
const asked = (path: string) => rig.cloud.log().filter((one) => one.path === path).length;
const lose = (status: number, path = everything, count = -1) =>
  rig.cloud.plant({ path, mode: 'status', status, body: { message: 'no' }, count });

describe('A site that is lost in the cloud', { timeout: 60_000 }, () => {
  it.each([
    [404, 'deleted'],
    [403, 'withdrawn'],
  ] as const)(
    'by %i is one trouble, nothing more is asked of it, and it comes back by itself',
    async (status, state) => {
      rig = await startSyncRig();
      await rig.pass(minute);
      lose(status);
      await rig.pass(minute);
      await until('the trouble', () => troubles('site_gone').length === 1);
      expect(rig.standing.shown()).toEqual({ state, since: expect.any(Number) });
      await rig.pass(minute);
      const [writes, reads] = [rig.puts.length, asked(rig.paths.status)];
      // Protection goes on, and what happened meanwhile goes up afterwards.
      expect(await rig.person('arm')).toMatchObject({ outcome: 'done' });
      await rig.pass(20 * minute);
      expect(rig.state()).toBe('armed_away');
      expect([rig.puts.length, asked(rig.paths.status)]).toEqual([writes, reads]);
      expect(troubles('arming_sync').filter((one) => one === 'active')).toEqual([]);
      rig.cloud.clearFaults();
      await until('the site is back', () => rig.standing.isOpen());
      await until('the trouble ends', () => troubles('site_gone').length === 2);
      await rig.pass(minute);
      expect(await rig.held()).toBe('armed');
      expect(troubles('arming_sync').filter((one) => one === 'active')).toEqual([]);
    },
  );

  it('is not one where a single feature is not there: that is the trouble of the feature', async () => {
    rig = await startSyncRig();
    await rig.pass(minute);
    lose(404, rig.paths.status);
    await rig.pass(minute);
    await until('its trouble', () => troubles('arming_sync').includes('active'));
    expect(rig.standing.shown()).toEqual({ state: 'ok' });
    expect(troubles('site_gone')).toEqual([]);
  });

  it('that was withdrawn is not deleted after one answer', async () => {
    rig = await startSyncRig();
    lose(403, rig.paths.site);
    expect(await rig.standing.judge()).toBe(false);
    expect(rig.standing.shown().state).toBe('withdrawn');
    rig.cloud.clearFaults();
    lose(404, rig.paths.site, 1);
    lose(403, rig.paths.site);
    expect(await rig.standing.judge()).toBe(false);
    expect(rig.cloud.log().filter(({ path, status }) => path === rig.paths.site && status === 404)).toHaveLength(1);
    expect(rig.standing.shown().state).toBe('withdrawn');
  });

  it('is seen by a part that is refused right after a read that still found it', async () => {
    rig = await startSyncRig({ calmMs: 200 });
    await until('it was read', () => rig.standing.shown().state === 'ok');
    lose(404);
    expect(await rig.standing.judge()).toBe(false);
  });

  it('is not believed after one answer', async () => {
    rig = await startSyncRig();
    await until('it was read', () => rig.standing.shown().state === 'ok');
    lose(404, rig.paths.site, 1);
    expect(await rig.standing.judge()).toBe(true);
    expect(rig.cloud.log().filter(({ path, status }) => path === rig.paths.site && status === 404)).toHaveLength(1);
    expect(rig.standing.shown()).toEqual({ state: 'ok' });
  });

  it('is known after a crash before the cloud was asked, since when too', async () => {
    rig = await startSyncRig();
    await rig.pass(minute);
    lose(404);
    expect(await rig.standing.judge()).toBe(false);
    const { since } = rig.standing.shown();
    await rig.line.cut('refuses');
    await rig.crash();
    expect(rig.standing.shown()).toEqual({ state: 'deleted', since });
    expect(rig.standing.isOpen()).toBe(false);
  });
});
