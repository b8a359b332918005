import { afterEach, describe, expect, it } from 'vitest';
import { minute, part, type SyncRig, second, shop, startSyncRig } from './rig.ts';

let rig: SyncRig;
afterEach(() => rig?.close());

/** A site that has run for a while in step with the cloud. */
async function calm(first: 'armed' | 'disarmed', more: Parameters<typeof shop>[0] = {}): Promise<void> {
  rig = await startSyncRig({ plan: shop(more) });
  if (first === 'armed') await rig.person('arm', { partition: 'all' });
  await rig.pass(10 * minute);
  rig.puts.length = 0;
}
const told = () => rig.conflicts().map(({ data }) => [data.evidence?.[0]?.reason, data.evidence?.[0]?.code]);
const fromCloud = async () =>
  (await rig.audit())
    .filter(({ source, kind }) => source === 'cloud' && kind !== 'transition')
    .map(({ kind, reason }) => [kind, reason]);

describe('A refusal', { timeout: 60_000 }, () => {
  const window = {
    ...{ number: '2', name: 'Window', type: 'perimeter' as const, partitions: ['p1'], detections: [], cameras: [] },
    source: { kind: 'panel', id: 's' },
  } as const;

  it('is told with the word of the gate, stands once in the audit log, and the truth goes back at once', async () => {
    await calm('disarmed', { zones: [window] });
    await rig.controller.signals([{ kind: 'zone', source: window.source, zone: '2', open: true, replay: false }]);
    await rig.press('armed');
    await rig.pass(45 * second);
    expect(rig.state()).toBe('disarmed');
    expect(told()).toEqual([['refused', 'NOT_READY']]);
    expect(await fromCloud()).toEqual([['refusal', 'NOT_READY']]);
    expect(await rig.held()).toBe('disarmed');
    expect(rig.puts).toEqual(['disarmed']);
    // The operator presses again, once the window is closed.
    await rig.controller.signals([{ kind: 'zone', source: window.source, zone: '2', open: false, replay: false }]);
    await rig.press('armed');
    await rig.pass(45 * second);
    expect(rig.state()).toBe('armed_away');
  });

  it('of a change that met one on the site is told, and the person on the site wins', async () => {
    await calm('armed');
    await rig.press('disarmed');
    await rig.person('disarm');
    await rig.person('arm');
    await rig.pass(minute);
    expect(rig.state()).toBe('armed_away');
    expect(told()).toEqual([['newer_local_change', 'NEWER_LOCAL_CHANGE']]);
    expect(await fromCloud()).toEqual([['conflict', 'NEWER_LOCAL_CHANGE']]);
    expect(await rig.held()).toBe('armed');
  });
});

it('A write back that the cloud refuses is told once, and not as done', { timeout: 60_000 }, async () => {
  await calm('armed');
  await rig.press('disarmed');
  rig.cloud.plant({ path: rig.paths.status, method: 'PUT', mode: 'status', status: 400, count: -1 });
  await rig.crash();
  await rig.pass(10 * minute);
  expect(rig.state()).toBe('armed_away');
  expect(rig.puts).toEqual(['armed']);
  expect(rig.conflicts().map(({ data }) => data.detail)).toEqual([
    expect.stringContaining('The cloud has still to be told the truth.'),
  ]);
});

describe('A site of several partitions', { timeout: 60_000 }, () => {
  it('is armed for the cloud when all are, and a command of the cloud is for all', async () => {
    await calm('disarmed', { partitions: [part('p1', 'Shop'), part('p2', 'Store')] });
    await rig.person('arm');
    await rig.pass(5 * minute);
    expect(await rig.held()).toBe('disarmed');
    expect(rig.puts).toEqual([]);
    await rig.person('arm', { partition: 'p2' });
    await rig.pass(5 * minute);
    expect(await rig.held()).toBe('armed');
    await rig.press('disarmed');
    await rig.pass(minute);
    expect([rig.state('p1'), rig.state('p2')]).toEqual(['disarmed', 'disarmed']);
    expect(rig.puts).toEqual(['armed']);
  });
});

describe('A crash', { timeout: 60_000 }, () => {
  it('between the record of a write and the write itself ends with the cloud told once more', async () => {
    await calm('disarmed');
    await rig.line.cut('refuses');
    await rig.person('arm');
    await rig.pass(20 * second);
    await rig.crash();
    await rig.line.mend();
    await rig.pass(minute);
    expect(rig.state()).toBe('armed_away');
    expect(await rig.held()).toBe('armed');
    expect(told()).toEqual([]);
  });

  it.each([false, true])(
    'after a change in the cloud that nobody saw yet never disarms (new boot: %s)',
    async (newBoot) => {
      await calm('armed');
      await rig.press('disarmed');
      await rig.crash({ newBoot });
      await rig.pass(2 * minute);
      expect(rig.state()).toBe('armed_away');
      expect(told()).toEqual([['waited', 'STALE_REMOTE']]);
      expect(await rig.held()).toBe('armed');
    },
  );

  it('after a command was done does not do it again, whoever acted meanwhile', async () => {
    await calm('armed');
    await rig.press('disarmed');
    await rig.pass(45 * second);
    expect(rig.state()).toBe('disarmed');
    await rig.person('arm');
    await rig.crash();
    await rig.pass(5 * minute);
    expect(rig.state()).toBe('armed_away');
    expect(await rig.held()).toBe('armed');
    expect((await rig.audit('command')).filter(({ source }) => source === 'cloud')).toHaveLength(1);
  });

  it('that damaged the record starts without it, and believes no disarm for a while', async () => {
    await calm('armed');
    await rig.store.memory('cloud-arming').set('arming-status', '{"v":1');
    await rig.crash();
    await rig.pass(20 * second);
    await rig.press('disarmed');
    await rig.pass(minute);
    expect(rig.state()).toBe('armed_away');
    expect(told()).toEqual([['echo', 'ECHO']]);
    await rig.pass(10 * minute);
    await rig.press('disarmed');
    await rig.pass(minute);
    expect(rig.state()).toBe('disarmed');
  });
});
