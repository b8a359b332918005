import { describe, expect, it } from 'vitest';
import { detailOf } from '#lan/mqtt/state.ts';
import { changesBetween, decide, type Input, readState, siteView, writeState } from '#site/core/index.ts';
import { armed, house, partition, stamp, type World, world, zone } from './world.ts';

const flaps = (site: World, number: string, times: number): void => {
  for (let n = 0; n < times; n += 1) {
    site.open(number, false, { tamper: true } as never);
    site.open(number, false, { tamper: false } as never);
  }
};
const alarms = (site: World) =>
  site
    .events(site.log)
    .flatMap(({ class: type, kind, status, signalToStation }) =>
      type === 'alarm' && status === 'active' ? [`${kind} ${signalToStation}`] : [],
    );

describe('nothing that happens before makes a detector mute', () => {
  it('tampers of a zone use up no signal of its burglary alarms, nor the reverse (safety 8)', () => {
    const site = armed();
    flaps(site, '2', 8);
    expect(alarms(site)).toEqual([...Array(6).fill('tamper true'), ...Array(2).fill('tamper false')]);
    site.open('2');
    expect(alarms(site).at(-1)).toBe('burglary_perimeter true');
    site.disarm();
    const told = site.events(site.log).filter(({ kind }) => kind === 'runaway');
    expect(told.map(({ status, zone: number }) => `${status} ${number}`)).toEqual(['active 2', 'restored 2']);
    const other = armed();
    for (let n = 0; n < 8; n += 1) {
      other.open('2');
      other.open('2', false);
    }
    flaps(other, '2', 1);
    expect(alarms(other).at(-1)).toBe('tamper true');
  });

  it('of a 24-hour tamper contact the end of an alarm that was not signalled is not signalled either', () => {
    const site = armed(house({ zones: [...house().zones, zone('14', 'tamper_24h')] }));
    for (let n = 0; n < 8; n += 1) {
      site.open('14');
      site.open('14', false);
    }
    expect(alarms(site).filter((told) => told === 'tamper true')).toHaveLength(6);
    expect(site.events().at(-1)).toMatchObject({ kind: 'tamper', status: 'restored', lane: 'activity' });
  });

  it('what a panel says of its own bypass neither hides nor feigns that siteward leaves a zone out', () => {
    const site = world();
    site.arm({ bypass: ['2'], skipExitDelay: true });
    site.open('2', false, { bypassed: false } as never);
    site.open('4', false, { bypassed: true } as never);
    expect([site.state.zones['2']?.bypassed, site.state.zones['4']?.bypassed]).toEqual([true, false]);
  });
});

it('a zone of two partitions that is left out in one of them shows so there alone', () => {
  const plan = house({
    partitions: [partition('p1'), partition('p2')],
    zones: [zone('2', 'perimeter', { partitions: ['p1', 'p2'] })],
  });
  const site = world(plan);
  const before = site.state;
  site.arm({ bypass: ['2'], skipExitDelay: true });
  site.arm({ partition: 'p2', skipExitDelay: true });
  expect(changesBetween(before, site.state).partitions).toEqual(expect.arrayContaining(['p1', 'p2']));
  const view = siteView(plan, site.state, stamp(site.ms), { epoch: 1, seq: 1 });
  const shown = plan.partitions.map((one) => detailOf(view, one));
  expect(shown.map(({ bypassed }) => bypassed)).toEqual([['2'], []]);
  site.open('2');
  expect([site.word('p1'), site.word('p2')]).toEqual(['armed_away', 'triggered']);
});

describe('a motion detector that settles after a start of the machine (safety 3)', () => {
  const machine = (start: number) => {
    const site = armed();
    let state = site.state;
    const effects: string[] = [];
    const send = (ms: number, input: Record<string, unknown>) => {
      const at = { ...stamp(site.ms + start + ms), mono: start + ms, boot: `boot-${start}`, clock: 'synced' };
      const next = decide(site.plan, readState(writeState(state)) ?? state, { at, ...input } as Input);
      state = next.state;
      effects.push(...next.effects.flatMap((one) => (one.kind === 'event' ? [one.event.kind] : [])));
    };
    const hall = (ms: number, open: boolean) =>
      send(ms, {
        kind: 'signal',
        signal: { kind: 'zone', source: { kind: 'panel', id: 'main' }, zone: '3', open, replay: false },
      });
    const fire = (ms: number) => {
      for (const { id, due } of Object.values(state.timers))
        if (due.mono <= start + ms) send(ms, { kind: 'timer.fired', timer: id });
    };
    send(0, { kind: 'started', sameBoot: false, storeLost: false });
    return { hall, fire, send, word: () => state.partitions.p1?.state, effects };
  };

  it('is judged by what it sees at the end of that time', () => {
    const site = machine(1000);
    site.hall(30_000, true);
    expect(site.word()).toBe('armed_away');
    site.fire(60_000);
    expect(site.word()).toBe('triggered');
    expect(site.effects.filter((kind) => kind === 'burglary_interior')).toHaveLength(1);
  });

  it('makes no alarm when it sees nothing any more', () => {
    const site = machine(1000);
    site.hall(30_000, true);
    site.hall(40_000, false);
    site.fire(60_000);
    expect(site.word()).toBe('armed_away');
  });
});
