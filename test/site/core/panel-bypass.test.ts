import { describe, expect, it } from 'vitest';
import { adoptPlan, readState, writeState } from '#site/core/index.ts';
import type { Command, CommandResult, PartitionPlan, SitePlan } from '#site/model/index.ts';
import { link, panelHouse, partition, says, stamp, type World, world, zone } from './world.ts';

const leave = (site: World, number: string, more: Partial<Command> = {}) =>
  site.command({ verb: 'bypass', partition: 'all', zone: number, issuedAt: stamp(site.ms).wall, ...more });
const takeBack = (site: World, number: string, more: Partial<Command> = {}) =>
  leave(site, number, { verb: 'unbypass', ...more });
const told = (site: World, number: string, bypassed: boolean, replay = false) =>
  site.signal({ kind: 'zone', source: { kind: 'panel', id: 'main' }, zone: number, bypassed, replay });
const isOut = (site: World, number = '2') => site.state.zones[number]?.bypassed;
const sent = (site: World) => site.log.flatMap((effect) => (effect.kind === 'panel' ? [effect] : []));
const replies = (site: World): CommandResult[] =>
  site.log.flatMap((effect) => (effect.kind === 'reply' ? [effect.result] : []));
const restart = (site: World, sameBoot = true) => {
  site.state = readState(writeState(site.state)) ?? site.state;
  return site.send({ kind: 'started', sameBoot, storeLost: false });
};

/** Its panel is there and has told its state. */
function disarmed(plan: SitePlan = panelHouse()): World {
  const site = world(plan);
  for (const { id } of plan.partitions) site.signal(says('disarmed', { partition: id }));
  site.log.length = 0;
  return site;
}

const only = (more: Partial<PartitionPlan>) =>
  panelHouse({ partitions: [partition('p1', { authority: 'panel', panel: 'main', ...more })] });

describe('a zone of a panel is left out by its panel', () => {
  it('which is asked, and says when it did: until then nothing counts as left out', () => {
    const site = disarmed();
    const zones = site.state.zones;
    expect(leave(site, '2', { id: 'a', reason: 'delivery' })).toMatchObject({ outcome: 'accepted', final: false });
    expect(site.last.map(({ kind }) => kind)).toEqual(['audit', 'reply', 'timer.set', 'panel']);
    const asked = { panel: 'main', partition: 'p1', zone: '2', action: 'bypass', commandId: 'a' };
    expect(sent(site)).toEqual([{ kind: 'panel', ...asked }]);
    expect([site.state.zones, site.state.periods.p1?.bypassed ?? []]).toEqual([zones, []]);
    told(site, '2', true);
    expect(replies(site).at(-1)).toMatchObject({ commandId: 'a', outcome: 'done', partition: 'p1', final: true });
    expect(isOut(site)).toBe(true);
    expect(site.events()).toMatchObject([
      { class: 'bypass', kind: 'zone_bypassed', status: 'active', zone: '2', actor: 'anna', detail: 'delivery' },
    ]);
    expect([site.state.inFlight, site.state.timers]).toEqual([{}, {}]);
    const audited = site.log.flatMap((effect) => (effect.kind === 'audit' ? [effect.entry] : []));
    expect(audited.map(({ target, outcome, actor_ref }) => [target, outcome, actor_ref])).toEqual([
      ['zone:2', 'accepted', 'anna'],
      ['zone:2', 'done', 'anna'],
    ]);
  });

  it('and is unconfirmed, and not left out, where the panel is silent; its late word is shown', () => {
    const site = disarmed();
    const zones = site.state.zones;
    leave(site, '2');
    site.pass(9_999);
    expect(replies(site)).toHaveLength(1);
    // What it says of others, or that it still watches this one, is no answer.
    told(site, '3', true);
    told(site, '2', false);
    expect(replies(site)).toHaveLength(1);
    site.pass(1);
    const answer = { outcome: 'unconfirmed', error: { code: 'UNCONFIRMED' }, final: true };
    expect(replies(site).at(-1)).toMatchObject(answer);
    expect([site.state.zones['2'], site.state.inFlight]).toEqual([zones['2'], {}]);
    told(site, '2', true);
    expect([isOut(site), replies(site).length, site.events()]).toEqual([true, 2, []]);
  });

  it('has the time its profile gives it', () => {
    const site = disarmed(only({ confirmMs: 60_000 }));
    leave(site, '2');
    site.pass(59_999);
    expect(replies(site)).toHaveLength(1);
    site.pass(1);
    expect(replies(site).at(-1)?.outcome).toBe('unconfirmed');
  });

  it('is taken back the same way, without a code', () => {
    const site = disarmed();
    told(site, '2', true);
    expect(takeBack(site, '2', { code: 'none' })).toMatchObject({ outcome: 'accepted' });
    expect(sent(site)).toMatchObject([{ zone: '2', action: 'unbypass' }]);
    expect(isOut(site)).toBe(true);
    told(site, '2', false);
    expect(replies(site).at(-1)).toMatchObject({ outcome: 'done' });
    expect(site.events()).toMatchObject([{ kind: 'zone_bypassed', status: 'restored', sia: 'BU' }]);
  });

  it('nothing is sent where the panel has said so already; where it was not heard since, it is asked', () => {
    const site = disarmed();
    told(site, '2', true);
    expect(leave(site, '2')).toMatchObject({ outcome: 'already' });
    expect(takeBack(site, '3')).toMatchObject({ outcome: 'already' });
    expect(sent(site)).toEqual([]);
    site.signal(link(false));
    site.signal(link(true));
    expect(leave(site, '2')).toMatchObject({ outcome: 'accepted' });
    const first = world(panelHouse(), { quiet: false });
    first.signal(link(true));
    first.signal(says('disarmed'));
    expect(takeBack(first, '2')).toMatchObject({ outcome: 'accepted' });
    told(first, '3', true);
    expect(leave(first, '3')).toMatchObject({ outcome: 'already' });
  });

  it('safety 1: life safety and hold-up never, 24-hour zones by an installer alone', () => {
    const site = disarmed();
    for (const role of ['owner', 'installer'] as const) {
      for (const number of ['10', '11'])
        expect(leave(site, number, { role }).error).toEqual({ code: 'NOT_ALLOWED', field: 'zone', zones: [number] });
      // A silent one cannot be told from one that is not there (safety 4).
      expect(leave(site, '12', { role }).error).toEqual(leave(site, '99', { role }).error);
    }
    expect(leave(site, '13', { role: 'owner' }).error?.code).toBe('NOT_ALLOWED');
    expect(sent(site)).toEqual([]);
    expect(leave(site, '13', { role: 'installer' }).outcome).toBe('accepted');
  });

  it('takes a code and the right; where the partition is armed, or nobody knows, the right to disarm too', () => {
    const site = disarmed();
    expect(leave(site, '2', { code: 'none' }).error).toEqual({ code: 'CODE_REQUIRED', field: 'code' });
    expect(leave(site, '2', { role: 'guard' }).error).toEqual({ code: 'NOT_ALLOWED', field: 'code' });
    expect(takeBack(site, '2', { role: 'guard' }).error).toEqual({ code: 'NOT_ALLOWED', field: 'code' });
    site.signal(says('armed_away'));
    expect(leave(site, '2', { role: 'installer' }).error).toEqual({ code: 'NOT_ALLOWED', field: 'state' });
    const unheard = world(panelHouse());
    expect(leave(unheard, '2', { role: 'installer' }).error).toEqual({ code: 'NOT_ALLOWED', field: 'state' });
    expect([sent(site), sent(unheard)]).toEqual([[], []]);
    expect(leave(site, '2', { role: 'user' }).outcome).toBe('accepted');
  });

  it('is refused where the panel takes it disarmed only and is armed, in any of the zone’s partitions', () => {
    const two = ['p1', 'p2'].map((id) => partition(id, { authority: 'panel', panel: 'main', bypassArmed: false }));
    const both = zone('2', 'perimeter', { partitions: ['p1', 'p2'] });
    const site = disarmed(panelHouse({ partitions: two, zones: [both], cameras: [] }));
    site.signal(says('armed_home', { partition: 'p2' }));
    const refused = { code: 'NOT_ALLOWED', field: 'state' };
    expect(leave(site, '2').error).toEqual(refused);
    told(site, '2', true);
    expect(takeBack(site, '2').error).toEqual(refused);
    expect([sent(site), isOut(site)]).toEqual([[], true]);
    site.signal(says('disarmed', { partition: 'p2' }));
    expect(takeBack(site, '2').outcome).toBe('accepted');
  });

  it('is refused during an alarm, for a zone that is open in an armed partition, and for a time the panel does not keep', () => {
    const site = disarmed();
    expect(leave(site, '2', { minutes: 5 }).error).toEqual({ code: 'NOT_ALLOWED', field: 'minutes' });
    expect(leave(site, '2', { until: 'cleared' }).error).toEqual({ code: 'NOT_ALLOWED', field: 'until' });
    told(site, '2', true);
    site.open('2');
    site.signal(says('armed_away'));
    expect(takeBack(site, '2').error).toEqual({ code: 'NOT_READY', zones: ['2'] });
    site.signal(says('triggered'));
    expect(leave(site, '3').error).toEqual({ code: 'NOT_ALLOWED', field: 'state' });
    expect(sent(site)).toEqual([]);
    site.signal(says('disarmed'));
    expect(leave(site, '3', { until: 'disarm' }).outcome).toBe('accepted');
  });

  it('one command of a zone at a time, and none while its partition waits for its panel; arming waits for none', () => {
    const site = disarmed();
    leave(site, '2');
    expect(leave(site, '2').error?.code).toBe('BUSY');
    expect(takeBack(site, '2').error?.code).toBe('BUSY');
    expect(leave(site, '3').outcome).toBe('accepted');
    told(site, '3', true);
    expect(isOut(site, '2')).toBe(false);
    expect(site.arm({ id: 'arm' }).outcome).toBe('accepted');
    expect(leave(site, '4').error?.code).toBe('BUSY');
    told(site, '2', true);
    expect(replies(site).at(-1)).toMatchObject({ outcome: 'done' });
    site.signal(says('armed_away'));
    expect(replies(site).at(-1)).toMatchObject({ commandId: 'arm', outcome: 'done' });
    expect(sent(site).map(({ action }) => action)).toEqual(['bypass', 'bypass', 'arm_away']);
  });

  it('what was refused on the way answers this zone alone', () => {
    const site = disarmed();
    leave(site, '2', { id: 'two' });
    leave(site, '3', { id: 'three' });
    site.arm({ id: 'arm' });
    const source = { kind: 'panel', id: 'main' } as const;
    site.signal({ kind: 'refusal', source, partition: 'p1', zone: '2', reason: 'no_command' });
    const error = { code: 'NOT_ALLOWED', field: 'profile' };
    expect(replies(site).at(-1)).toMatchObject({ commandId: 'two', outcome: 'refused', error });
    expect(Object.keys(site.state.inFlight)).toEqual(['three', 'arm']);
    site.signal({ kind: 'refusal', source, partition: 'p1', reason: 'wrong_code' });
    expect(Object.keys(site.state.inFlight)).toEqual(['three']);
  });

  it('is not asked while it cannot be heard', () => {
    const site = disarmed();
    site.signal(link(false));
    expect(leave(site, '2').error?.code).toBe('PANEL_OFFLINE');
    expect(sent(site)).toEqual([]);
  });

  it('C2: the same command again is told what became of it, and is not sent again', () => {
    const site = disarmed();
    const same = { id: 'a', bodyHash: 'h', issuedAt: stamp(0).wall };
    leave(site, '2', same);
    expect(leave(site, '2', same)).toMatchObject({ outcome: 'accepted' });
    told(site, '2', true);
    expect(leave(site, '2', same)).toMatchObject({ outcome: 'done' });
    expect(sent(site)).toHaveLength(1);
  });

  it.each([true, false])(
    'a restart in between answers it: by the panel’s word, or as unconfirmed (same boot: %s)',
    (sameBoot) => {
      const site = disarmed();
      leave(site, '2');
      site.ms += 3000;
      restart(site, sameBoot);
      expect(sent(site)).toHaveLength(1);
      if (sameBoot) {
        site.signal(link(true));
        told(site, '2', true, true);
        expect(replies(site).at(-1)).toMatchObject({ outcome: 'done' });
        expect(site.state.inFlight).toEqual({});
        leave(site, '3');
        site.ms += 10_000;
        restart(site);
      }
      expect(replies(site).at(-1)).toMatchObject({ outcome: 'unconfirmed' });
      expect([site.state.inFlight, site.state.timers]).toEqual([{}, {}]);
    },
  );

  it('a plan that takes the zone away, or gives its partition to siteward, leaves no command behind', () => {
    const site = disarmed();
    leave(site, '2');
    const gone = panelHouse({ zones: [zone('3', 'perimeter')], cameras: [] });
    const engine = panelHouse({ securityType: 3, partitions: [partition('p1')] });
    for (const plan of [gone, engine])
      expect(adoptPlan(plan, site.state, stamp(site.ms))).toMatchObject({ inFlight: {}, timers: {} });
    expect(Object.keys(adoptPlan(panelHouse(), site.state, stamp(site.ms)).inFlight)).toHaveLength(1);
  });

  it('nobody is asked of a key switch, or of a system of others', () => {
    const refused = { code: 'NOT_CONTROLLED', field: 'zone' };
    const key = disarmed(panelHouse({ zones: [zone('2', 'key_switch_momentary')], cameras: [] }));
    expect(leave(key, '2').error).toEqual(refused);
    const others = panelHouse({ securityType: 4, partitions: [partition('p1', { authority: 'external' })] });
    expect(leave(world(others), '2').error).toEqual(refused);
  });
});
