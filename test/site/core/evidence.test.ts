import { expect, it } from 'vitest';
import { armed, house, partition, world } from './world.ts';

const typesOf = (evidence: readonly Readonly<Record<string, unknown>>[] = []) => evidence.map(({ type }) => type);

it('an alarm tells the station its detector, what was in alarm before, the recent close and the person a camera saw', () => {
  const site = world();
  site.arm({ skipExitDelay: true });
  site.open('2');
  site.ms += 20_000;
  site.sees('yard', 'person');
  site.open('3');
  const [second] = site.events();
  expect(second?.evidence).toEqual([
    { type: 'zone', zone: '3', name: 'Zone 3', zone_type: 'interior_follower' },
    { type: 'earlier_alarm', zone: '2', name: 'Zone 2', zone_type: 'perimeter' },
    { type: 'recent_close', seconds: 20 },
    { type: 'detection', camera: 'yard', detection: 'person', seconds_ago: 0 },
  ]);
  expect(second?.arming).toMatchObject({ state: 'triggered' });
});

it('an exit error says that it is one, beside the door and the recent close', () => {
  const site = world(house({ partitions: [partition('p1', { exitDelayMs: 60_000 })] }));
  site.arm();
  site.open('1');
  site.pass(60_000 + 30_000);
  const alarm = site.events(site.log).find(({ kind, class: kindOf }) => kindOf === 'alarm' && kind === 'exit_error');
  expect(typesOf(alarm?.evidence)).toEqual(['zone', 'exit_error', 'recent_close']);
});

it('at most four detectors are named as earlier, the newest first, and a hold-up that is silent names none', () => {
  const site = armed();
  for (const number of ['2', '3', '4', '13', '11']) site.open(number);
  const last = site.events(site.log).findLast(({ kind }) => kind === 'panic');
  const earlier = last?.evidence?.flatMap(({ type, zone }) => (type === 'earlier_alarm' ? [zone] : []));
  expect(earlier).toEqual(['13', '4', '3', '2']);
  site.open('12');
  expect(typesOf(site.events().at(-1)?.evidence)).not.toContain('earlier_alarm');
});

it('an alarm of an arming period that is over is not named as earlier, though it is in the memory', () => {
  const site = armed();
  site.open('2');
  site.disarm();
  site.open('10');
  expect(site.state.partitions.p1?.memory).toEqual(['2', '10']);
  expect(typesOf(site.events()[0]?.evidence)).not.toContain('earlier_alarm');
  site.open('10', false);
  site.pass(86_400_000);
  site.open('13');
  expect(typesOf(site.events()[0]?.evidence)).not.toContain('earlier_alarm');
});

it('a silent button that was opened is named in no later alarm', () => {
  const site = armed();
  site.open('12', false, { tamper: true });
  site.open('2');
  site.open('3');
  expect(site.events(site.log).some(({ zone }) => zone === '12')).toBe(true);
  expect(JSON.stringify(site.events(site.log).filter(({ zone }) => zone !== '12'))).not.toContain('"12"');
});
