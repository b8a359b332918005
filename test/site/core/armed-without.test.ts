import { expect, it } from 'vitest';
import { world } from './world.ts';

it.each([true, false])(
  'an arming without some zones says so in its event and in the audit (no exit delay: %s)',
  (skipExitDelay) => {
    const site = world();
    site.open('3');
    site.arm({ bypass: ['2'], force: true, skipExitDelay });
    site.pass(60_000);
    const event = site.events(site.log).find(({ kind }) => kind === 'armed_away');
    expect(event?.evidence).toEqual([{ type: 'zones_left_out', count: 2, zones: '2 3' }]);
    const entries = site.log.flatMap((effect) => (effect.kind === 'audit' ? [effect.entry] : []));
    const armed = entries.find(({ kind, action }) => kind === 'transition' && action === 'armed_away');
    expect(armed?.after).toBe('armed_away away without 2 3');
  },
);

it('an arming with all zones, and the disarm, name none', () => {
  const site = world();
  site.arm({ skipExitDelay: true });
  site.disarm();
  expect(site.events(site.log).map(({ evidence }) => evidence)).toEqual([undefined, undefined]);
});
