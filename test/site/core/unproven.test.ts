import { describe, expect, it } from 'vitest';
import { readState, writeState } from '#site/core/index.ts';
import type { ArmingWord, Signal } from '#site/model/index.ts';
import { panelHouse, type World, world } from './world.ts';

const source = { kind: 'panel', id: 'main' } as const;
const isIn = (state: ArmingWord, replay = false): Signal => ({
  kind: 'partition',
  source,
  partition: 'p1',
  state,
  replay,
});
const alarm = (replay = false): Signal => ({ kind: 'zone', source, zone: '2', alarm: true, replay });
const link = (up: boolean): Signal => ({ kind: 'link', source, layer: 'bridge', up });

const alarms = (site: World, signal: Signal) =>
  site
    .events(site.signal(signal))
    .filter((event) => event.class === 'alarm')
    .map(({ kind, zone, evidence }) => `${kind} ${zone} ${evidence?.some(({ type }) => type === 'arming_not_known')}`);

const told = (site: World, ...signals: Signal[]): World => {
  for (const signal of signals) site.signal(signal);
  return site;
};

describe('an alarm of a zone whose partition is disarmed by a retained word only', () => {
  const away = [link(true), isIn('disarmed'), link(false), link(true), isIn('disarmed', true)];

  it.each<[string, Signal[]]>([
    [
      'was disarmed before the link was lost',
      [link(true), isIn('disarmed'), link(false), link(true), isIn('disarmed', true)],
    ],
    ['was not known', [link(true), isIn('disarmed', true)]],
  ])('goes up, flagged, when it %s', (_, before) => {
    const site = told(world(panelHouse()), ...before);
    expect(site.word()).toBe('disarmed');
    expect(alarms(site, alarm())).toEqual(['burglary_perimeter 2 true']);
    expect(alarms(site, isIn('triggered'))).toEqual([]);
  });

  it('goes up after a restart too', () => {
    const site = told(world(panelHouse()), ...away);
    site.state = readState(writeState(site.state)) ?? site.state;
    expect(alarms(site, alarm())).toEqual(['burglary_perimeter 2 true']);
  });

  it('waits for the panel once a live word has confirmed the disarming, and a retained alarm is none', () => {
    const retained = told(world(panelHouse()), ...away);
    expect(alarms(retained, alarm(true))).toEqual([]);
    const site = told(world(panelHouse()), ...away, isIn('disarmed'));
    expect(alarms(site, alarm())).toEqual([]);
  });

  it('is not in doubt when the same state is retained by a broker that was never lost', () => {
    const site = told(world(panelHouse()), link(true), isIn('disarmed'), isIn('disarmed', true));
    expect(alarms(site, alarm())).toEqual([]);
  });
});

/** A broker that comes back with what it had on disk has older words than the site has heard: retained, or in its queue. */
describe('a word that is not live and calmer than what is known', () => {
  const queued = (state: ArmingWord): Signal => ({ ...isIn(state), waited: {} }) as Signal;
  const retained = (state: ArmingWord): Signal => isIn(state, true);
  const standing = ({ state: { partitions } }: World) => `${partitions.p1?.state}${partitions.p1?.stale ? '?' : ''}`;
  /** Power cut: everything but the disk is gone. */
  const restarted = (site: World): World => {
    site.state = readState(writeState(site.state)) ?? site.state;
    site.send({ kind: 'started', sameBoot: false, storeLost: false });
    return told(site, link(true));
  };
  const knows = (state: ArmingWord, word = isIn) => restarted(told(world(panelHouse()), link(true), word(state)));

  it.each<[ArmingWord, ArmingWord, string]>([
    ['armed_away', 'disarmed', 'armed_away?'],
    ['arming', 'disarmed', 'arming?'],
    ['pending', 'disarmed', 'pending?'],
    ['triggered', 'disarmed', 'triggered?'],
    ['triggered', 'armed_away', 'triggered?'],
    ['armed_away', 'armed_away', 'armed_away'],
    ['armed_away', 'triggered', 'triggered'],
    ['arming', 'armed_away', 'armed_away'],
    ['disarmed', 'armed_away', 'armed_away'],
    ['disarmed', 'disarmed', 'disarmed'],
  ])('%s is known, %s comes after a restart: %s', (known, said, stands) => {
    for (const word of [retained, queued]) {
      const site = told(knows(known), word(said));
      expect(standing(site)).toBe(stands);
      expect(standing(told(knows(known, word), word(said)))).toBe(stands);
    }
  });

  it('disarms at no time by itself, and when the panel says it live', () => {
    const site = told(knows('armed_away'), retained('disarmed'));
    site.ms += 7 * 86_400_000;
    site.signal(link(false));
    site.signal(link(true));
    expect(standing(told(site, queued('disarmed')))).toBe('armed_away?');
    expect(site.events(site.signal(isIn('disarmed'))).map(({ kind, late }) => [kind, late])).toEqual([
      ['disarmed', undefined],
    ]);
    expect(standing(site)).toBe('disarmed');
  });

  it('confirms no disarm, which the panel’s live word does', () => {
    const site = knows('triggered');
    const { commandId, outcome } = site.disarm();
    expect(outcome).toBe('accepted');
    expect(standing(told(site, queued('disarmed')))).toBe('triggered?');
    expect(site.kept(commandId)?.result).toMatchObject({ outcome: 'accepted' });
    site.signal(isIn('disarmed'));
    expect(standing(site)).toBe('disarmed');
    expect(site.kept(commandId)?.result).toMatchObject({ outcome: 'done' });
  });

  it('lets alarms of zones go up flagged meanwhile', () => {
    const site = told(knows('armed_away'), retained('disarmed'));
    expect(alarms(site, alarm())).toEqual(['burglary_perimeter 2 true']);
  });

  describe('an alarm whose end was doubted', () => {
    const doubted = (word: Signal, ...more: Signal[]) =>
      told(restarted(told(world(panelHouse()), link(true), isIn('armed_away'), ...more, isIn('triggered'))), word);

    it.each([retained('disarmed'), queued('disarmed'), retained('armed_away')])(
      'is followed by another one with the next triggered: %j',
      (word) => {
        const site = doubted(word);
        site.pass(3_600_000);
        expect(alarms(site, isIn('triggered'))).toEqual(['burglary undefined false']);
        expect(standing(site)).toBe('triggered');
        // Told again it is the same.
        expect(alarms(site, isIn('triggered'))).toEqual([]);
      },
    );

    it('is followed by none when the panel says live that it has ended, or says nothing', () => {
      const site = told(doubted(retained('disarmed')), isIn('disarmed'), isIn('armed_away'));
      expect(alarms(site, isIn('triggered'))).toHaveLength(1);
      expect(alarms(site, isIn('triggered'))).toEqual([]);
      expect(alarms(restarted(site), isIn('triggered'))).toEqual([]);
    });

    it.each<[string, Signal[]]>([
      ['named', [alarm()]],
      ['not named', []],
    ])('is one alarm with its zone, whose zone before was %s', (_, before) => {
      const site = doubted(retained('disarmed'), ...before);
      const calm = { ...alarm(), alarm: false } as Signal;
      const said = [calm, alarm(), isIn('triggered')].flatMap((signal) => alarms(site, signal));
      expect(said.filter((one) => one.endsWith('2 true'))).toHaveLength(1);
      expect(said.filter((one) => !one.endsWith('2 true'))).toHaveLength(before.length);
    });
  });

  describe('an alarm that was called off live', () => {
    const calledOff = () =>
      restarted(
        told(world(panelHouse()), link(true), isIn('armed_away'), alarm(), isIn('triggered'), isIn('disarmed')),
      );

    const live = (is: boolean): Signal => ({ ...alarm(), alarm: is }) as Signal;

    it.each<[string, Signal[], string]>([
      ['the zone first', [alarm(true), retained('triggered')], 'burglary_perimeter 2 true'],
      ['the partition first', [retained('triggered'), alarm(true)], 'burglary undefined true'],
    ])('is told once by retained words, since it may be another, and sets nothing off: %s', (_, words, expected) => {
      const site = restarted(told(calledOff(), live(false)));
      expect(words.flatMap((word) => alarms(site, word))).toEqual([expected]);
      expect(site.log.findLast((effect) => effect.kind === 'event')).toMatchObject({ event: { late: true } });
      expect(standing(site)).toBe('disarmed?');
      const again = restarted(site);
      expect(words.flatMap((word) => alarms(again, word))).toEqual([]);
    });

    it('does not hide another zone, nor its own on another day', () => {
      const site = restarted(told(calledOff(), live(false)));
      const other = { ...alarm(true), zone: '3' } as Signal;
      expect([other, alarm(true)].flatMap((word) => alarms(site, word))).toHaveLength(2);
      const later = restarted(told(calledOff(), live(false), retained('triggered')));
      later.ms += 86_400_000;
      expect(alarms(later, alarm(true))).toHaveLength(1);
    });

    it('is known once it is told live, and not in doubt then', () => {
      const site = restarted(told(calledOff(), isIn('triggered')));
      expect(alarms(site, retained('triggered'))).toEqual([]);
      expect(standing(site)).toBe('triggered');
    });

    it.each<[string, number, Signal[]]>([
      ['the partition was armed meanwhile', 0, [retained('armed_away'), retained('triggered')]],
      ['it is live', 0, [isIn('triggered')]],
      ['it waited in a queue', 0, [queued('triggered')]],
      ['it is another day', 86_400_000, [retained('triggered')]],
    ])('is another one when %s', (_, later, signals) => {
      const site = calledOff();
      site.ms += later;
      expect(signals.flatMap((signal) => alarms(site, signal))).toHaveLength(1);
    });
  });
});
