import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { buildPanels } from '#devices/panels/load.ts';
import { Runner } from '#devices/panels/runner.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { panel, presets } from './helpers.ts';

function rig(given: Record<string, unknown>) {
  const clock = manualClock();
  const { built, problems } = buildPanels([panel({ id: 'main', ...given })], [presets]);
  expect([...problems]).toEqual([]);
  const [one] = built;
  if (one === undefined) throw new Error('the panel was not built');
  const runner = new Runner(one, { clock, log: pino({ level: 'silent' }) });
  const says = (topic: string, payload: string, retain: boolean) =>
    (runner.take({ topic, payload: Buffer.from(payload), retain })?.signals ?? []).flatMap(shown);
  runner.brokerFound();
  return { clock, runner, says };
}

const shown = (signal: unknown): string[] => {
  const { kind, zone, partition, state, alarm } = signal as Record<string, unknown>;
  if (kind === 'partition') return [`${partition} ${state}`];
  return kind === 'zone' ? [`${zone} alarm ${alarm}`] : [];
};

describe('a doubted retained word', () => {
  it.each([
    {
      given: { profile: 'alarmo', partitions: { p1: 'attic' }, zones: { '1': { type: 'perimeter', key: 'skylight' } } },
      live: [
        ['alarmo/attic/event', '{"event":"TRIGGER","sensors":[{"entity_id":"skylight"}],"delay":0}'],
        ['alarmo/attic/state', 'triggered'],
      ],
      topic: 'alarmo/attic/state',
      calm: 'disarmed',
    },
    {
      given: { profile: 'texecom2mqtt', partitions: { p1: 'house' }, zones: { '1': { type: 'perimeter' } } },
      live: [['texecom2mqtt/area/house', '{"status":"triggered","last_active_zone":{"number":1}}']],
      topic: 'texecom2mqtt/area/house',
      calm: '{"status":"disarmed"}',
    },
  ])('ends no zone of the running alarm: $given.profile', ({ given, live, topic, calm }) => {
    const { clock, runner, says } = rig(given);
    const heard = live.flatMap(([at = '', payload = '']) => says(at, payload, false));
    expect(heard).toEqual(expect.arrayContaining(['1 alarm true', 'p1 triggered']));
    runner.brokerLost('gone');
    clock.advance(5000);
    runner.brokerFound();
    expect(says(topic, calm, true)).toEqual([]);
    // The live word ends them, as if nothing had been between.
    expect(says(topic, calm, false)).toEqual(expect.arrayContaining(['1 alarm false', 'p1 disarmed']));
  });
});
