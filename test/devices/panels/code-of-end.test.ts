import { expect, it } from 'vitest';
import { createMapping, mapReading } from '#devices/panels/mapping.ts';
import { panel } from './helpers.ts';

it('an end that only makes room for the next alarm is told by no code of it; one the panel tells is', () => {
  const zones = { '10': { type: 'fire' } };
  const mapping = createMapping(panel({ id: 'main', profile: 'pai', zones }), { zone: 'number', partition: 'number' });
  const said = (sia: string) =>
    mapReading(mapping, { kind: 'report', key: '10', sia, replay: false, context: false }).signals.map((signal) =>
      signal.kind === 'zone' ? [signal.alarm, signal.code?.code] : [],
    );
  expect(said('FA')).toEqual([
    [false, undefined],
    [true, 'FA'],
  ]);
  expect(said('FH')).toEqual([[false, 'FH']]);
});
