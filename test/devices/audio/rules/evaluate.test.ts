import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RuleOptions, ruleOptions } from '#devices/audio/rules/options.ts';
import { isoTime, lifeSafetyKinds, type PartitionState, type SiteEvent, type Stamp } from '#site/model/index.ts';
import {
  evaluate,
  isOfBurglary,
  type Occasion,
  type Surroundings,
} from '../../../../src/devices/audio/rules/evaluate.ts';

/** Monday, 7 December 2026, 22:30 in Berlin. */
const wall = Date.UTC(2026, 11, 7, 21, 30);
const at = (ms = 0, clock: Stamp['clock'] = 'synced'): Stamp => ({
  mono: 1_000 + ms,
  wall: wall + ms,
  boot: 'b',
  clock,
});

function event(kind: string, more: Partial<SiteEvent> & { incident?: string } = {}): SiteEvent {
  const { incident, ...rest } = more;
  return {
    ...{
      event_id: '5f0d6f5e-8d5e-5a5f-9d5e-5f0d6f5e8d5e',
      event_type: kind,
      kind,
      class: 'alarm',
      status: 'active',
      seq: 1,
    },
    ...{ source: 'panel:main', at: isoTime(wall) },
    data: { version: 1, epoch: 1, clock: 'synced', ...(incident !== undefined && { incident_id: incident }) },
    ...rest,
  };
}

const away = { state: 'triggered', mode: 'away', stale: false } as const;
const rule = (on: object, more: object = {}): RuleOptions =>
  ruleOptions.parse({ id: 'r', on, play: { message: 'alarm.siren' }, ...more });
const speakers = [{ id: 'hall' }, { id: 'barn', partitions: ['p2'] }, { id: 'gate', zone: '21' }];
const categories = { 'alarm.siren': 'alarm', 'greeting.hello': 'greeting', chime: 'announcement' } as const;
const around = (more: Partial<Surroundings> = {}): Surroundings => ({
  timezone: 'Europe/Berlin',
  speakers,
  message: (key) =>
    Object.hasOwn(categories, key)
      ? { id: key, key, name: key, sha256: 'x', category: categories[key as keyof typeof categories] }
      : undefined,
  played: new Map(),
  ...more,
});

type Asked = Partial<Occasion> & { readonly event: SiteEvent };
const judge = (one: RuleOptions, { partition, ...occasion }: Asked, more: Partial<Surroundings> = {}) =>
  evaluate([one], { at: at(), partition, ...occasion }, around(more));
const plays = (one: RuleOptions, occasion: Asked, more: Partial<Surroundings> = {}) => {
  const [verdict] = judge(one, occasion, more);
  return verdict?.outcome === 'play' ? verdict.play : undefined;
};
const burglary = event('burglary_perimeter', { partition: 'p1', zone: '2', incident: 'p1-1' });

describe('a rule', () => {
  it.each<[string, object, Asked, boolean]>([
    ['its kind', { kind: 'burglary_perimeter' }, { event: burglary }, true],
    ['one of its kinds', { kinds: ['fire', 'burglary_perimeter'] }, { event: burglary }, true],
    ['another kind', { kind: 'fire' }, { event: burglary }, false],
    ['its class', { class: 'alarm' }, { event: burglary }, true],
    ['another class', { class: 'trouble' }, { event: burglary }, false],
    ['a kind of another class', { kind: 'tamper', class: 'trouble' }, { event: event('tamper') }, false],
    ['its end, unless asked for', { kind: 'fire' }, { event: event('fire', { status: 'restored' }) }, false],
    ['its end', { kind: 'fire', status: 'restored' }, { event: event('fire', { status: 'restored' }) }, true],
    ['its zone', { class: 'alarm', zones: ['2'] }, { event: burglary }, true],
    ['another zone', { class: 'alarm', zones: ['3'] }, { event: burglary }, false],
    ['its partition', { class: 'alarm', partitions: ['p1'] }, { event: burglary }, true],
    ['another partition', { class: 'alarm', partitions: ['p2'] }, { event: burglary }, false],
    ['none where it asks for one', { class: 'alarm', partitions: ['p1'] }, { event: event('tamper') }, false],
    ['armed so', { kind: 'burglary_perimeter', armed: ['away'] }, { event: burglary, partition: away }, true],
    ['armed otherwise', { kind: 'burglary_perimeter', armed: ['home'] }, { event: burglary, partition: away }, false],
    ['no partition', { kind: 'burglary_perimeter', armed: ['away'] }, { event: burglary }, false],
  ])('concerns or leaves alone: %s', (_, on, occasion, expected) => {
    expect(judge(rule(on), occasion)).toHaveLength(expected ? 1 : 0);
  });

  it.each<[string, Pick<PartitionState, 'state' | 'mode' | 'stale'>, boolean, boolean]>([
    ['disarmed', { state: 'disarmed', mode: null, stale: false }, true, false],
    ['disarmed, and stale', { state: 'disarmed', mode: null, stale: true }, false, true],
    ['unknown', { state: 'unknown', mode: null, stale: false }, false, true],
    ['armed, and stale', { state: 'armed_away', mode: 'away', stale: true }, false, true],
    ['arming', { state: 'arming', mode: 'away', stale: false }, false, false],
    ['in entry delay', { state: 'pending', mode: 'away', stale: false }, false, true],
    ['in entry delay of who knows what', { state: 'pending', mode: null, stale: false }, false, true],
    ['disarmed, with an alarm of a day', { state: 'triggered', mode: null, stale: false }, true, false],
  ])('takes what is unknown or stale for armed (safety 2): %s', (_, partition, disarmed, armed) => {
    const of = (word: string) =>
      judge(rule({ kind: 'tamper', armed: [word] }), { event: event('tamper', { partition: 'p1' }), partition });
    expect(of('disarmed')).toHaveLength(disarmed ? 1 : 0);
    expect(of('away')).toHaveLength(armed ? 1 : 0);
  });

  it.each(['fire', 'co', 'gas', 'medical', 'panic'])('plays for %s however it is armed (safety 1)', (kind) => {
    const partition = { state: 'disarmed', mode: null, stale: false } as const;
    const occasion = { event: event(kind, { partition: 'p1' }), partition };
    expect(plays(rule({ class: 'alarm', armed: ['away'] }), occasion)).toBeDefined();
  });

  it.each<[string, object, number, boolean]>([
    ['within it', { from: '22:00', to: '06:00' }, 0, true],
    ['before it', { from: '22:31', to: '06:00' }, 0, false],
    ['at its first minute', { from: '22:30', to: '06:00' }, 0, true],
    ['at its end', { from: '06:00', to: '22:30' }, 0, false],
    ['on its day', { days: ['mon-wed'], from: '22:00', to: '06:00' }, 0, true],
    ['on the day after, over midnight', { days: ['mon'], from: '22:00', to: '06:00' }, 5 * 3_600_000, true],
    ['on another day', { days: ['tue-sun'], from: '22:00', to: '06:00' }, 0, false],
  ])('keeps to its time: %s', (_, between, ms, expected) => {
    const occasion = { event: { ...burglary, at: isoTime(wall + ms) }, at: at(ms) };
    expect(judge(rule({ class: 'alarm' }, { between }), occasion)).toHaveLength(expected ? 1 : 0);
  });

  it('by a clock in doubt plays alarms, and nothing else that has a time', () => {
    const never = { between: { from: '03:00', to: '03:01' } };
    const doubt = { at: at(0, 'doubtful') };
    expect(plays(rule({ class: 'alarm' }, never), { event: burglary, ...doubt })).toBeDefined();
    expect(plays(rule({ kind: 'fire' }, never), { event: event('fire'), ...doubt })).toBeDefined();
    const chime = event('chime', { class: 'system', partition: 'p1' });
    const always = { between: { from: '00:00', to: '23:59' } };
    expect(plays(rule({ kind: 'chime' }, always), { event: chime, ...doubt })).toBeUndefined();
    expect(plays(rule({ kind: 'chime' }, always), { event: chime })).toBeDefined();
    expect(plays(rule({ kind: 'chime' }), { event: chime, ...doubt })).toBeDefined();
  });

  it('plays nothing for what comes late', () => {
    expect(judge(rule({ class: 'alarm' }), { event: { ...burglary, late: true } })).toEqual([]);
    const hello = { play: { message: 'greeting.hello' } };
    const opened = event('disarmed', { class: 'arming', partition: 'p1' });
    expect(plays(rule({ kind: 'disarmed' }, hello), { event: opened, at: at(14_000) })).toBeDefined();
    expect(judge(rule({ kind: 'disarmed' }, hello), { event: opened, at: at(16_000) })).toEqual([]);
    // Of a trouble the time is its beginning; it is told once it has lasted.
    const gone = event('device_offline', { class: 'trouble' });
    expect(plays(rule({ kind: 'device_offline' }, hello), { event: gone, at: at(600_000) })).toBeDefined();
  });
});

describe('what a rule plays', () => {
  it.each<[string, SiteEvent, object]>([
    ['a burglary', burglary, { category: 'alarm', alarm: { cause: 'burglary', id: 'p1-1', partition: 'p1' } }],
    [
      'a fire',
      event('fire', { partition: 'p1', incident: 'p1-1' }),
      { category: 'alarm', alarm: { cause: 'fire', id: 'p1-1' } },
    ],
    [
      'a call',
      event('panic', { incident: 'site-2' }),
      { category: 'alarm', alarm: { cause: 'life_safety', id: 'site-2' } },
    ],
    ['a gas alarm without an incident', event('gas'), { alarm: { cause: 'life_safety', id: event('gas').event_id } }],
    ['a sabotage of no partition', event('tamper'), { category: 'alarm', alarm: undefined }],
    ['water', event('water', { partition: 'p1' }), { category: 'greeting', alarm: undefined }],
    ['the end of a fire', event('fire', { status: 'restored' }), { category: 'greeting', alarm: undefined }],
    ['a disarm', event('disarmed', { class: 'arming', partition: 'p1' }), { category: 'greeting', alarm: undefined }],
  ])('belongs to its alarm: %s', (_, of, expected) => {
    const status = of.status === 'active' ? {} : { status: of.status };
    const one = rule({ kind: of.kind, ...status }, { play: { message: 'greeting.hello' } });
    const play = plays(one, { event: of });
    expect({ alarm: undefined, ...play }).toMatchObject(expected);
  });

  it.each<[string, SiteEvent, object | undefined]>([
    ['an entry delay', event('entry_delay_started', { class: 'system', partition: 'p1' }), { id: event('x').event_id }],
    ['of its incident', event('person', { class: 'camera', partition: 'p1', incident: 'p1-7' }), { id: 'p1-7' }],
    ['a chime', event('chime', { class: 'system', partition: 'p1' }), { id: event('x').event_id }],
    ['an entry delay of no partition', event('entry_delay_started', { class: 'system' }), undefined],
    ['water', event('water', { partition: 'p1' }), undefined],
    ['the end of a fire', event('fire', { partition: 'p1', status: 'restored' }), undefined],
  ])('as an alarm ends with the disarm of its partition, whatever it is about: %s', (_, of, mark) => {
    const one = rule({ kind: of.kind, status: of.status });
    const alarm = mark && { cause: 'burglary', partition: 'p1', ...mark };
    expect({ alarm: undefined, ...plays(one, { event: of }) }).toMatchObject({ category: 'alarm', alarm });
    // Less than an alarm belongs to nothing.
    const quiet = rule({ kind: of.kind, status: of.status }, { play: { message: 'greeting.hello' } });
    expect(plays(quiet, { event: of })?.alarm).toBeUndefined();
  });

  it('has its category raised, never lowered', () => {
    const play = (message: string, category: string) =>
      plays(rule({ kind: 'chime' }, { play: { message, category } }), { event: event('chime', { class: 'system' }) })
        ?.category;
    expect([play('greeting.hello', 'announcement'), play('chime', 'greeting')]).toEqual([
      'announcement',
      'announcement',
    ]);
    expect(
      plays(rule({ class: 'alarm' }, { play: { message: 'chime', category: 'greeting' } }), { event: burglary })
        ?.category,
    ).toBe('alarm');
  });

  it.each(['fire', 'gas'])('of life safety (%s) belongs to its detector within the incident', (kind) => {
    const of = (zone: string) => plays(rule({ kind }), { event: event(kind, { zone, incident: 'p1-1' }) })?.alarm;
    expect([of('2'), of('3')]).toMatchObject([
      { id: 'p1-1', of: '2' },
      { id: 'p1-1', of: '3' },
    ]);
  });

  it.each<[string, SiteEvent, readonly string[]]>([
    ['the partition of the event', burglary, ['hall']],
    ['another partition', event('tamper', { partition: 'p2' }), ['hall', 'barn', 'gate']],
    ['a zone', event('tamper', { partition: 'p1', zone: '21' }), ['hall', 'gate']],
    ['no place', event('tamper'), ['hall', 'barn', 'gate']],
    ['life safety: all', event('fire', { partition: 'p1', zone: '2' }), ['hall', 'barn', 'gate']],
  ])('is heard in: %s', (_, of, expected) => {
    expect(plays(rule({ class: 'alarm' }), { event: of })?.speakers).toEqual(expected);
  });

  it('is heard where it says, on those that are used; and on all where none is near', () => {
    const named = (ids: string[]) => rule({ class: 'alarm' }, { play: { message: 'alarm.siren', speakers: ids } });
    expect(plays(named(['barn', 'off']), { event: burglary })?.speakers).toEqual(['barn']);
    expect(judge(named(['off']), { event: burglary })).toEqual([{ rule: 'r', outcome: 'no_speaker' }]);
    const far = { speakers: [{ id: 'barn', partitions: ['p2'] }] };
    expect(plays(rule({ class: 'alarm' }), { event: burglary }, far)?.speakers).toEqual(['barn']);
  });

  it('of life safety is heard on all where none of those it names is used, with the siren where its message is gone', () => {
    const one = rule({ class: 'alarm' }, { play: { message: 'nobody', speakers: ['off'] } });
    for (const kind of lifeSafetyKinds) {
      const asked = plays(one, { event: event(kind) });
      expect(asked).toMatchObject({ message: { key: 'alarm.siren' }, speakers: ['hall', 'barn', 'gate'] });
    }
    const named = rule({ class: 'alarm' }, { play: { message: 'alarm.siren', speakers: ['off', 'barn'] } });
    expect(plays(named, { event: event('fire') })?.speakers).toEqual(['barn']);
  });

  it('is told where there is no such message', () => {
    expect(judge(rule({ class: 'alarm' }, { play: { message: 'nobody' } }), { event: burglary })).toEqual([
      { rule: 'r', outcome: 'unknown_message' },
    ]);
  });
});

describe('a rule that has played', () => {
  const keyOf = (of: SiteEvent) => {
    const [verdict] = judge(rule({ class: of.class }), { event: of });
    return verdict?.outcome === 'play' ? verdict.coolKey : '';
  };
  const again = (first: SiteEvent, second: SiteEvent, ms: number, more: object = {}) => {
    const one = rule({ class: first.class }, more);
    const played = new Map([[keyOf(first), at().mono]]);
    const occasion = { event: { ...second, at: isoTime(wall + ms) }, at: at(ms) };
    return judge(one, occasion, { played })[0]?.outcome;
  };

  it('cools down for a minute, or as long as it says', () => {
    expect(again(burglary, burglary, 59_999)).toBe('cooling');
    expect(again(burglary, burglary, 60_000)).toBe('play');
    expect(again(burglary, burglary, 59_999, { cool_down: '5m' })).toBe('cooling');
    expect(again(burglary, burglary, 60_000, { cool_down: '5m' })).toBe('cooling');
    expect(again(burglary, burglary, 1, { cool_down: '0s' })).toBe('play');
  });

  it('plays for another intrusion, and in another partition', () => {
    expect(again(burglary, event('burglary', { partition: 'p1', incident: 'p1-2' }), 1)).toBe('play');
    const chime = (partition: string) => event('chime', { class: 'system', partition });
    expect(again(chime('p1'), chime('p1'), 1)).toBe('cooling');
    expect(again(chime('p1'), chime('p2'), 1)).toBe('play');
  });

  it.each(['fire', 'co', 'gas', 'medical', 'panic'])('never cools down for %s', (kind) => {
    const of = event(kind, { partition: 'p1', incident: 'p1-1' });
    expect(again(of, of, 1, { cool_down: '24h' })).toBe('play');
  });

  it('is ready again where its burglary was silenced, and nothing else is', () => {
    expect(isOfBurglary(keyOf(burglary), 'p1')).toBe(true);
    expect(isOfBurglary(keyOf(burglary), 'p2')).toBe(false);
    expect(isOfBurglary(keyOf(event('chime', { class: 'system', partition: 'p1' })), 'p1')).toBe(false);
  });
});

it('a rule by the clock is no matter of events', () => {
  const one = ruleOptions.parse({ id: 'r', at: '20:00', days: ['daily'], play: { message: 'alarm.siren' } });
  fc.assert(
    fc.property(fc.constantFrom('fire', 'burglary', 'chime', 'announcement'), (kind) => {
      expect(judge(one, { event: event(kind) })).toEqual([]);
    }),
  );
});
