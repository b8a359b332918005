import { expect, it } from 'vitest';
import { world } from './world.ts';

it('a walk test ends with an alarm of life safety, so that no 24-hour alarm after it is swallowed', () => {
  const site = world();
  site.command({ verb: 'test' });
  site.open('10');
  expect(site.events()).toMatchObject([
    { class: 'test', kind: 'walk_test', status: 'restored', detail: 'alarm' },
    { class: 'alarm', kind: 'fire' },
  ]);
  site.open('13');
  expect(site.kinds()).toEqual(['alarm:burglary_24h:active']);
});

it('safety 4: a silent hold-up ends no walk test', () => {
  const site = world();
  site.command({ verb: 'test' });
  site.open('12');
  expect(site.kinds()).toEqual(['alarm:panic_silent:active']);
  expect(site.state.periods.p1?.test).toBeDefined();
});
