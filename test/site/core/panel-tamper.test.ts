import { describe, expect, it } from 'vitest';
import { armed, house, panelHouse, says, world, zone } from './world.ts';

const tampers = (site: ReturnType<typeof world>, number: string, tamper = true) => site.open(number, false, { tamper });

describe('a tamper of a panel’s zone', () => {
  it('is a trouble, and an alarm while the partition is armed', () => {
    const site = world(panelHouse());
    site.signal(says('disarmed'));
    expect(site.kinds(tampers(site, '2'))).toEqual(['trouble:tamper:active']);
    expect(site.kinds(tampers(site, '2', false))).toEqual(['trouble:tamper:restored']);
    site.signal(says('armed_away'));
    expect(site.kinds(tampers(site, '2'))).toEqual(['alarm:tamper:active', 'trouble:tamper:active']);
    expect(site.events()[0]).toMatchObject({ zone: '2', partition: 'p1', signalToStation: true, contactId: '144' });
    expect(site.word()).toBe('armed_away');
  });

  it.each([
    ['a panel', world(panelHouse({ zones: [zone('9', 'tamper_24h')] }))],
    ['the engine', world(house({ zones: [zone('9', 'tamper_24h')] }))],
  ])('is an alarm always where the zone is there for it, under %s', (_, site) => {
    site.signal(says('disarmed'));
    expect(site.kinds(tampers(site, '9'))).toEqual(['alarm:tamper:active', 'trouble:tamper:active']);
    expect(site.kinds(tampers(site, '9'))).toEqual([]);
  });

  it('makes no alarm in a walk test', () => {
    const site = world(house({ zones: [zone('9', 'tamper_24h')] }));
    expect(site.command({ verb: 'test', partition: 'p1' }).outcome).toBe('done');
    expect(site.kinds(tampers(site, '9'))).not.toContain('alarm:tamper:active');
  });

  it('goes up flagged where the arming is not known', () => {
    const site = world(panelHouse());
    tampers(site, '2');
    expect(site.events()[0]).toMatchObject({ class: 'alarm', kind: 'tamper' });
    expect(armed().kinds(tampers(armed(), '2'))).toContain('alarm:tamper:active');
  });
});
