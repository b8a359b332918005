import { afterEach, describe, expect, it } from 'vitest';
import { hour, minute, type SyncRig, second, startSyncRig } from './rig.ts';

let rig: SyncRig;
afterEach(() => rig?.close());

/** 21:00, the line is up and both sides say disarmed; 21:05 the line is lost. */
async function evening(): Promise<void> {
  rig = await startSyncRig();
  await rig.pass(5 * minute);
}
const clockTime = (hours: number, minutes: number) => {
  const at = Date.UTC(2026, 10, hours < 21 ? 3 : 2, hours, minutes);
  return rig.pass(at - rig.clock.wall());
};
const reasons = () => rig.conflicts().map(({ data }) => data.evidence?.[0]?.reason);

/** The operator presses "disarmed" at 21:10, the keypad arms at 22:00, the line is back at 05:05. */
async function night(): Promise<void> {
  await rig.line.cut('refuses');
  await clockTime(21, 10);
  // The cloud says disarmed already: only a change moves its `updated_at`.
  await rig.press('armed');
  await rig.press('disarmed');
  await clockTime(22, 0);
  expect(await rig.person('arm')).toMatchObject({ outcome: 'done' });
  await clockTime(5, 5);
  await rig.line.mend();
  await clockTime(5, 20);
}

describe('The eight-hour story, with the store, the controller, real sockets and the sandbox', {
  timeout: 60_000,
}, () => {
  it('leaves the site armed, tells the conflict once, and the cloud learns the truth', async () => {
    await evening();
    await night();
    expect(rig.state()).toBe('armed_away');
    expect(await rig.held()).toBe('armed');
    expect(rig.puts).toEqual(['armed']);
    expect(rig.conflicts()).toMatchObject([
      {
        status: 'active',
        class: 'trouble',
        data: { evidence: [{ cloud: 'disarmed', local: 'armed', reason: 'waited' }] },
      },
    ]);
    expect(await rig.audit('conflict')).toMatchObject([{ source: 'cloud', action: 'disarm', reason: 'STALE_REMOTE' }]);
    expect(rig.sync.shown()).toMatchObject({ cloud: 'armed', site: 'armed', agreed: true });
    const armed = rig.events.filter(({ kind }) => kind === 'armed_away');
    expect(armed.map(({ at }) => at)).toEqual(['2026-11-02T22:00:00.000Z']);
  });

  it('does not arm by a value that waited for six hours', async () => {
    await evening();
    await rig.line.cut('refuses');
    await clockTime(21, 30);
    await rig.person('arm');
    await clockTime(22, 0);
    await rig.person('disarm');
    await clockTime(23, 0);
    await rig.press('armed');
    await clockTime(5, 5);
    await rig.line.mend();
    await clockTime(5, 20);
    expect(rig.state()).toBe('disarmed');
    expect(await rig.held()).toBe('disarmed');
    expect(rig.conflicts()).toMatchObject([{ data: { evidence: [{ cloud: 'armed', local: 'disarmed' }] } }]);
  });

  it.each([10, -12])('does the same with a cloud whose clock is %i minutes off', async (minutes) => {
    rig = await startSyncRig();
    rig.cloud.setClockOffset(minutes * 60);
    await rig.pass(5 * minute);
    await night();
    expect(rig.state()).toBe('armed_away');
    expect(await rig.held()).toBe('armed');
    expect(reasons()).toEqual(['waited']);
  });

  it('with the clock of the bridge in 1970 and in doubt, the cloud may arm and not disarm', async () => {
    await evening();
    rig.quality = 'doubtful';
    rig.clock.step(-rig.clock.wall());
    await rig.pass(minute);
    await rig.person('arm');
    await rig.pass(5 * minute);
    await rig.press('disarmed');
    await rig.pass(minute);
    expect(rig.state()).toBe('armed_away');
    expect(await rig.held()).toBe('armed');
    expect(rig.conflicts()).toMatchObject([{ data: { evidence: [{ reason: 'refused', code: 'CLOCK_DOUBTFUL' }] } }]);
    expect(await rig.person('disarm')).toMatchObject({ outcome: 'done' });
    await rig.pass(5 * minute);
    await rig.press('armed');
    await rig.pass(minute);
    expect(rig.state()).toBe('armed_away');
  });

  it('protects on where the cloud no longer knows the site, tells it as one trouble, and the truth when it does again', async () => {
    await evening();
    await rig.line.cut('refuses');
    await rig.person('arm');
    await clockTime(5, 5);
    rig.cloud.plant({ path: rig.paths.status, mode: 'status', status: 404, count: -1 });
    await rig.line.mend();
    await clockTime(7, 0);
    expect(rig.state()).toBe('armed_away');
    expect(await rig.person('disarm')).toMatchObject({ outcome: 'done' });
    expect(await rig.person('arm')).toMatchObject({ outcome: 'done' });
    expect(rig.sync.health()).toMatchObject({ state: 'degraded', reason: expect.stringContaining('site.id') });
    const troubles = () => rig.events.filter(({ kind }) => kind === 'arming_sync').map(({ status }) => status);
    expect(troubles()).toEqual(['active']);
    rig.cloud.clearFaults();
    await clockTime(7, 20);
    expect(await rig.held()).toBe('armed');
    expect(troubles()).toEqual(['active', 'restored']);
    expect(reasons()).toEqual([]);
  });

  it('takes what flips after the first healthy read as commands, once each', async () => {
    await evening();
    await rig.line.cut('refuses');
    await clockTime(5, 5);
    await rig.line.mend();
    // Nobody tells the source of tokens that the line is back: its longest wait, and a read.
    await rig.pass(5 * minute + 45 * second);
    await rig.press('armed');
    await rig.pass(45 * second);
    expect(rig.state()).toBe('armed_away');
    await rig.press('disarmed');
    await rig.pass(45 * second);
    expect(rig.state()).toBe('disarmed');
    await rig.pass(hour);
    const commands = (await rig.audit('command')).filter(({ source }) => source === 'cloud');
    expect(commands.map(({ action, outcome }) => [action, outcome])).toEqual([
      ['disarm', 'done'],
      ['arm', 'done'],
    ]);
    expect(rig.puts).toEqual([]);
    expect(reasons()).toEqual([]);
  });
});
