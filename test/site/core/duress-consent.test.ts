import { expect, it } from 'vitest';
import { changesBetween, visibleInput } from '#site/core/index.ts';
import { house, stamp, world } from './world.ts';

const given = { kind: 'duress', source: 'cli', client: 'control socket', actor: 'anna', target: 'users' } as const;

it('safety 4: a duress code given as consent is a silent alarm, seen by the auditor alone, and changes nothing that shows', () => {
  const site = world();
  const before = site.state;
  const effects = site.send(given);
  expect(site.events()).toMatchObject([
    {
      kind: 'duress',
      contactId: '121',
      silent: true,
      lane: 'alarm',
      signalToStation: true,
      toCloud: true,
      actor: 'anna',
    },
  ]);
  const entries = effects.flatMap((effect) => (effect.kind === 'audit' ? [effect.entry] : []));
  expect(entries).toMatchObject([{ action: 'duress', target: 'users', visibility: 'auditor' }]);
  expect(changesBetween(before, site.state)).toEqual({ partitions: [], zones: [], troubles: false, links: false });
  expect(visibleInput(house(), { ...given, at: stamp(0) })).toBeUndefined();
});
