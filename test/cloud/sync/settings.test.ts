import { afterEach, describe, expect, it } from 'vitest';
import { createSiteSettings, type SiteSettingsOptions } from '#cloud/sync/index.ts';
import { quiet, until } from '../support.ts';
import { minute, part, type SyncRig, second, shop, startSyncRig } from './rig.ts';

let rig: SyncRig;
afterEach(() => rig?.close());

const inForce = () => rig.controller.view().plan.securityType;
const seqOf = () => rig.controller.view().partitions[0]?.seq ?? 0;
/** The cloud is read again, and what it said has been taken in. */
async function read(): Promise<void> {
  const before = reads();
  rig.settings.retryNow();
  await until('the settings are read', () => reads() > before);
  await until('they are taken in', () => rig.settings.shown().active !== undefined);
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const reads = () =>
  rig.cloud.log().filter(({ method, path, status }) => method === 'GET' && path === rig.paths.site && status !== null)
    .length;
const typeNotes = async () =>
  (await rig.audit('config'))
    .filter(({ action }) => action === 'security_type')
    .map(({ source, outcome, before, after }) => [source, outcome, before, after])
    .reverse();
const troubles = (kind: string) => rig.events.filter((event) => event.kind === kind).map(({ status }) => status);

it('reads the settings of a site that is not activated more often, so that its activation is soon seen', async () => {
  rig = await startSyncRig();
  let reads = 0;
  const call = { status: 200, headers: {}, raw: { security_type: 3 } };
  const settings = createSiteSettings({
    manage: {
      getArmingSettings: async () => ({ ...call, value: { security_type: 3 } }),
    } as unknown as SiteSettingsOptions['manage'],
    standing: { isOpen: () => true, read: async () => ({ site_id: '1', is_activated: ++reads < 3 ? 0 : 1 }) },
    ...{ place: { dealerId: '1', siteId: '1' }, site: rig.controller, memory: rig.store.memory('test'), log: quiet },
    ...{ everyMs: 3_600_000, inactiveEveryMs: 5 },
  });
  await settings.start(new AbortController().signal);
  await until('the activation is seen', () => settings.shown().active === true);
  await settings.stop();
  expect(reads).toBe(3);
}, 60_000);

describe('The security type that the cloud names', { timeout: 60_000 }, () => {
  it('is in force at once while everything is disarmed, with audit entries, and outlives a crash', async () => {
    rig = await startSyncRig();
    await read();
    expect(inForce()).toBe(3);
    await rig.setType(1);
    await read();
    await until('type 1', () => inForce() === 1);
    expect(await typeNotes()).toEqual([
      ['cloud', 'accepted', '3', '1'],
      ['cloud', 'done', '3', '1'],
    ]);
    await rig.line.cut('refuses');
    await rig.crash();
    expect(inForce()).toBe(1);
  });

  it('waits while a partition is armed, and takes effect with the disarming; the arming sequence goes on', async () => {
    rig = await startSyncRig();
    await read();
    await rig.person('arm');
    await rig.setType(4);
    await read();
    await until('it is asked for', () => rig.controller.view().authority?.asked?.securityType === 4);
    expect(inForce()).toBe(3);
    expect(rig.state()).toBe('armed_away');
    const seq = seqOf();
    await rig.person('disarm');
    expect(inForce()).toBe(4);
    expect(seqOf()).toBe(seq + 1);
    expect(await typeNotes()).toEqual([
      ['cloud', 'accepted', '3', '4'],
      ['cloud', 'done', '3', '4'],
    ]);
    // The new authority has said nothing yet, and siteward says nothing for it (safety 2).
    expect(rig.state()).toBe('unknown');
    expect(await rig.person('arm')).toMatchObject({ error: { code: 'NOT_CONTROLLED' } });
  });

  it('is withdrawn when the cloud names the old one again in time', async () => {
    rig = await startSyncRig();
    await read();
    await rig.person('arm');
    await rig.setType(4);
    await read();
    await until('it is asked for', () => rig.controller.view().authority?.asked?.securityType === 4);
    await rig.setType(3);
    await read();
    await until('it is withdrawn', () => rig.controller.view().authority?.asked === undefined);
    await rig.person('disarm');
    expect(inForce()).toBe(3);
  });

  it('may be confirmed by a technician while armed, and the armed site stays armed under the engine', async () => {
    rig = await startSyncRig();
    await rig.person('arm');
    await rig.controller.tell({ kind: 'security_type', securityType: 1, by: 'cli', whileArmed: true });
    expect(inForce()).toBe(1);
    expect(rig.state()).toBe('armed_away');
    expect(await typeNotes()).toEqual([
      ['cli', 'accepted', '3', '1'],
      ['cli', 'done', '3', '1'],
    ]);
  });

  it.each([0, 5, null, 2.5, 'two', {}, true, false, [1]])(
    'changes nothing when it is %j: the old one stays, and that is a trouble',
    async (type) => {
      rig = await startSyncRig();
      await read();
      rig.cloud.plant({
        path: rig.paths.settings,
        method: 'GET',
        mode: 'status',
        status: 200,
        body: { security_type: type },
      });
      await read();
      await until('the trouble', () => troubles('config_unknown').length === 1);
      expect(inForce()).toBe(3);
      await read();
      await until('its end', () => troubles('config_unknown').length === 2);
      expect(troubles('config_unknown')).toEqual(['active', 'restored']);
      const details = rig.events.filter((event) => event.kind === 'config_unknown').map(({ data }) => data.detail);
      expect(details).toEqual([expect.stringContaining('none of 1 to 4'), 'the cloud names the security type 3']);
    },
  );

  it('may be a number written as text', async () => {
    rig = await startSyncRig();
    await read();
    rig.cloud.plant({
      path: rig.paths.settings,
      method: 'GET',
      mode: 'status',
      status: 200,
      body: { security_type: '1' },
    });
    await read();
    await until('type 1', () => inForce() === 1);
    expect(troubles('config_unknown')).toEqual([]);
  });

  it('does not end the protection of a site by the value every new site has in the cloud', async () => {
    rig = await startSyncRig({ type: 4 });
    await read();
    expect(inForce()).toBe(3);
    expect(rig.settings.health()).toMatchObject({
      state: 'degraded',
      reason: expect.stringContaining('security_type: 4'),
    });
    await rig.setType(3);
    await read();
    await rig.setType(4);
    await read();
    await until('somebody chose it', () => inForce() === 4);
  });

  it('has nothing to advise once a technician has chosen what it says', async () => {
    rig = await startSyncRig({ type: 4 });
    await read();
    expect(rig.settings.shown().reason).toContain('security_type: 4');
    await rig.controller.tell({ kind: 'security_type', securityType: 4, by: 'cli', whileArmed: false });
    expect(inForce()).toBe(4);
    expect(rig.settings.shown()).not.toHaveProperty('reason');
    expect(rig.settings.health()).toEqual({ state: 'ok', facts: { security_type_cloud: 4, active: true } });
  });

  it('does not change what the configuration fixes; that is said', async () => {
    rig = await startSyncRig({ plan: shop({ securityTypeFixed: true }), type: 1 });
    await read();
    expect(inForce()).toBe(3);
    expect(rig.settings.health()).toMatchObject({
      state: 'degraded',
      reason: expect.stringContaining('site.security_type'),
    });
  });
});

describe('A configuration that fixes another type', () => {
  it('takes effect with a reload while disarmed, and waits while armed', async () => {
    const fixed = (securityType: 1 | 3) => shop({ securityType, securityTypeFixed: true });
    rig = await startSyncRig({ plan: fixed(3) });
    await rig.controller.reconfigure(fixed(1));
    expect(inForce()).toBe(1);
    await rig.person('arm');
    await rig.controller.reconfigure(fixed(3));
    expect(inForce()).toBe(1);
    expect(rig.state()).toBe('armed_away');
    await rig.person('disarm');
    expect(inForce()).toBe(3);
    expect((await typeNotes()).map(([source, outcome]) => [source, outcome])).toEqual([
      ['config', 'done'],
      ['config', 'done'],
    ]);
  });
});

describe('A site that is not activated in the cloud', () => {
  it('is protected as before, and says so', async () => {
    rig = await startSyncRig();
    await read();
    rig.cloud.plant({
      path: rig.paths.site,
      method: 'GET',
      mode: 'status',
      status: 200,
      body: { site_id: 1, is_activated: 0 },
    });
    await read();
    await until('the trouble', () => troubles('site_inactive').length === 1);
    expect(rig.settings.health()).toMatchObject({
      state: 'degraded',
      reason: expect.stringContaining('not activated'),
    });
    expect(await rig.person('arm')).toMatchObject({ outcome: 'done' });
    await rig.pass(minute);
    expect(await rig.held()).toBe('armed');
  });
});

describe('A bridge that does not decide', { timeout: 60_000 }, () => {
  it('of type 4 shows what the cloud says, and neither acts nor writes', async () => {
    const external = part('p1', 'Shop', { authority: 'external' });
    rig = await startSyncRig({
      plan: shop({ securityType: 4, securityTypeFixed: true, partitions: [external] }),
      type: 4,
    });
    await rig.pass(minute);
    for (const status of ['armed', 'disarmed'] as const) {
      await rig.press(status);
      await rig.pass(45 * second);
      expect(rig.sync.shown()).toMatchObject({ mode: 'mirror', cloud: status });
    }
    expect(rig.state()).toBe('unknown');
    expect(rig.puts).toEqual([]);
    expect(rig.conflicts()).toEqual([]);
    expect(await rig.audit('command')).toEqual([]);
  });

  it('because another one speaks for the site (types 1 and 2) does the same', async () => {
    rig = await startSyncRig({ plan: shop({ securityType: 2 }), speaks: false, type: 2 });
    await rig.pass(minute);
    await rig.person('arm');
    await rig.pass(minute);
    await rig.press('armed');
    await rig.pass(minute);
    await rig.press('disarmed');
    await rig.pass(minute);
    expect(rig.state()).toBe('armed_away');
    expect(rig.puts).toEqual([]);
    expect(await rig.held()).toBe('disarmed');
  });
});
