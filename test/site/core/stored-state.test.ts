import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { adoptPlan, decide, readState, type SiteState, type TimerState, writeState } from '#site/core/index.ts';
import { armed, house, stamp } from './world.ts';

const old = readFileSync(new URL('./fixtures/state-v1.json', import.meta.url), 'utf8');

function stored(text: string): SiteState {
  const state = readState(text);
  if (state === undefined) throw new Error('the stored state is not readable');
  return state;
}

describe('a state that an earlier version wrote', () => {
  it('I3: is read, and the site stays armed with its entry delay, bypasses and sequence', () => {
    const state = adoptPlan(house(), stored(old), stamp(1_205_000));
    expect(state.partitions.p1).toMatchObject({ state: 'pending', mode: 'away', seq: 7 });
    expect(state.periods.p1?.bypassed).toEqual(['2']);
    const at = stamp(1_205_000);
    const begun = decide(house(), state, { at, kind: 'started', sameBoot: true, storeLost: false });
    expect(begun.state.partitions.p1?.state).toBe('pending');
    const ended = decide(house(), begun.state, { at: stamp(1_230_000), kind: 'timer.fired', timer: 'entry:p1' });
    expect(ended.state.partitions.p1?.state).toBe('triggered');
  });

  it('comes back as it was: what is new has no trace in it; only the answers to commands have become a list', () => {
    const { version, state } = JSON.parse(old);
    const commands = Object.entries<object>(state.commands).map(([id, seen]) => ({ id, ...seen }));
    expect(commands).toHaveLength(3);
    expect(JSON.parse(writeState(stored(old)))).toEqual({ version, state: { ...state, commands } });
  });

  it('C2: its answers to commands are known', () => {
    const state = adoptPlan(house(), stored(old), stamp(1_205_000));
    const [seen] = state.commands;
    const command = { id: seen?.id ?? '', bodyHash: 'another', verb: 'arm', partition: 'p1', issuedAt: 0 } as const;
    const by = { source: 'lan', client: 'keypad', code: 'ok' } as const;
    const { effects } = decide(house(), state, {
      at: stamp(1_205_000),
      kind: 'command',
      command: { ...command, ...by },
    });
    expect(effects).toContainEqual(
      expect.objectContaining({ kind: 'reply', result: expect.objectContaining({ error: { code: 'ID_CONFLICT' } }) }),
    );
  });
});

describe('timers of a zone within a partition', () => {
  const withTimer = (timer: TimerState): SiteState => ({ ...armed().state, timers: { [timer.id]: timer } });
  const due = { mono: 2_000_000, wall: 1_800_001_000_000, boot: 'boot-1' };

  it('are stored, and go with their zone', () => {
    const state = withTimer({ id: 'exit:p1:2', kind: 'exit', partition: 'p1', zone: '2', due });
    expect(stored(writeState(state))).toEqual(state);
    expect(Object.keys(adoptPlan(house(), state, stamp(0)).timers)).toEqual(['exit:p1:2']);
    const without = house({ zones: house().zones.filter(({ number }) => number !== '2') });
    expect(adoptPlan(without, state, stamp(0)).timers).toEqual({});
  });

  it.each([
    ['confirm:p1', 'confirm', 'panel_answer:p1', 'panel_answer'],
    ['verify:p1', 'verify', 'confirmation:p1', 'confirmation'],
  ])('one that was stored as %s goes on under its name of today', (id, kind, now, nowKind) => {
    const text = writeState({ ...armed().state, timers: {} });
    const old = text.replace('"timers":{}', `"timers":${JSON.stringify({ [id]: { id, kind, partition: 'p1', due } })}`);
    expect(stored(old).timers).toEqual({ [now]: { id: now, kind: nowKind, partition: 'p1', due } });
  });
});
