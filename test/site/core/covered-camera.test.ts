import { expect, it } from 'vitest';
import { house, world } from './world.ts';

it.each(['tamper', 'video_loss'] as const)('a camera that reports %s is not ready until it sees again', (detection) => {
  const site = world();
  site.sees('hall', detection);
  expect(site.arm().error).toEqual({ code: 'NOT_READY', zones: ['21'] });
  site.sees('hall', detection, { active: false });
  expect(site.arm().outcome).toBe('done');
});

it('safety 2: covering a camera while the arming is not known is an alarm that says so', () => {
  const site = world(house(), { storeLost: true });
  site.sees('hall', 'tamper');
  const [alarm] = site.events();
  expect(alarm).toMatchObject({ class: 'alarm', kind: 'tamper', zone: '21', signalToStation: true });
  expect(alarm?.evidence).toContainEqual({ type: 'arming_not_known', state: 'unknown', stale: false });
  expect(site.kinds(site.sees('hall', 'tamper'))).toEqual([]);
});
