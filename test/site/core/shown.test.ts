import { describe, expect, it } from 'vitest';
import { siteView } from '#site/core/index.ts';
import { isoTime, partitionShown } from '#site/model/index.ts';
import { armed, house, stamp, type World, world, zone } from './world.ts';

const view = (self: World) => siteView(self.plan, self.state, stamp(self.ms), { epoch: 1, seq: 0 });
const shown = (self: World) => partitionShown(view(self), 'p1');
const word = (self: World) => view(self).partitions[0];

describe('safety 1: a fire', () => {
  it('is what a disarm answers, and shows since it began, not since the disarm', () => {
    const self = armed();
    self.ms += 5000;
    const began = stamp(self.ms).wall;
    self.open('10');
    self.ms += 5000;
    expect(self.disarm()).toMatchObject({ outcome: 'done', state: 'triggered' });
    expect(self.word()).toBe('disarmed');
    expect(word(self)).toMatchObject({ state: 'triggered', at: began });
    expect(shown(self)).toMatchObject({ alarm: { zone: '10', kind: 'fire', since: isoTime(began) }, memory: ['10'] });
    self.ms += 5000;
    expect(self.disarm({ expected: { state: ['triggered'] } })).toMatchObject({
      outcome: 'already',
      state: 'triggered',
    });
    self.open('10', false);
    expect(shown(self)).toMatchObject({ alarm: null, memory: ['10'] });
    expect(self.disarm()).toMatchObject({ outcome: 'already', state: 'disarmed' });
  });

  it('goes on when the second of two detectors is calm again', () => {
    const self = world(house({ zones: [zone('10', 'fire'), zone('14', 'co')] }));
    const began = stamp(self.ms).wall;
    self.open('10');
    self.ms += 1000;
    self.open('14');
    expect(shown(self).alarm).toMatchObject({ zone: '14', kind: 'co', since: isoTime(began) });
    self.open('14', false);
    expect(word(self)).toMatchObject({ state: 'triggered', at: began, incident: expect.any(String) });
    expect(shown(self).alarm).toMatchObject({ zone: '10', kind: 'fire', since: isoTime(began) });
    self.open('10', false);
    expect(word(self)).toMatchObject({ state: 'disarmed' });
    expect(word(self)).not.toHaveProperty('incident');
  });
});

it('the alarm of a zone and its end are changes of the zone', () => {
  const self = world();
  const at = () => self.state.zones['10']?.at;
  for (const alarm of [true, false]) {
    self.ms += 1000;
    self.signal({ kind: 'zone', source: { kind: 'panel', id: 'main' }, zone: '10', alarm, replay: false });
    expect([self.state.zones['10']?.alarm, at()]).toEqual([alarm, stamp(self.ms).wall]);
  }
});

it('safety 4: a silent hold-up stands in no picture of a partition', () => {
  const self = world();
  const before = shown(self);
  self.open('12');
  expect(shown(self)).toEqual(before);
});

it('whoever ends a walk test is told what was walked and what was missed, once', () => {
  const self = world();
  self.command({ verb: 'test' });
  self.open('2');
  self.open('1');
  const id = 'end-1';
  const ended = self.command({ verb: 'end_test', id, bodyHash: id });
  expect(ended.tests).toEqual([
    { partition: 'p1', walked: 2, walkedZones: ['2', '1'], missed: 4, missedZones: ['3', '4', '13', '21'] },
  ]);
  expect(self.command({ verb: 'end_test', id, bodyHash: id })).toEqual(ended);
  expect(self.command({ verb: 'end_test' })).not.toHaveProperty('tests');
});

it('the memory of a partition is cleared also where another system decides', () => {
  const self = world(
    house({ partitions: [{ ...house().partitions[0], authority: 'external' } as never], securityType: 4 }),
  );
  self.open('2');
  expect(self.events()).toMatchObject([
    {
      kind: 'burglary_perimeter',
      signalToStation: true,
      evidence: expect.arrayContaining([expect.objectContaining({ type: 'arming_not_known' })]),
    },
  ]);
  expect(shown(self).memory).toEqual(['2']);
  expect(self.command({ verb: 'clear_memory', partition: 'all', code: 'none' })).toMatchObject({ outcome: 'done' });
  expect(shown(self).memory).toEqual([]);
});
