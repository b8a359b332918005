import { createServer } from 'node:net';
import { Aedes } from 'aedes';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { buildPanels } from '#devices/panels/load.ts';
import { Runner } from '#devices/panels/runner.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { until } from './broker.ts';
import { panel, presets, startPanels } from './helpers.ts';

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

describe('a disarming that was told while only siteward was away', () => {
  const [area, status] = ['texecom2mqtt/area/house', 'texecom2mqtt/status'] as const;
  const [armed, disarmed] = ['{"status":"full_armed"}', '{"status":"disarmed"}'] as const;

  /** Armed live, away for five seconds, then the retained word. */
  function doubted() {
    const one = rig({ profile: 'texecom2mqtt', partitions: { p1: 'house' }, zones: { '1': { type: 'perimeter' } } });
    expect(one.says(area, armed, false)).toEqual(['p1 armed_away']);
    one.runner.brokerLost('gone');
    one.clock.advance(5000);
    one.says(status, 'online', true);
    return one;
  }
  const later = ({ clock, runner }: ReturnType<typeof rig>, ms: number) => {
    clock.advance(ms);
    return runner.settled().flatMap(shown);
  };

  it('is taken, once, when the connection was up for ten minutes', () => {
    const one = doubted();
    expect(one.says(area, disarmed, true)).toEqual([]);
    one.runner.brokerFound();
    expect(later(one, 599_999)).toEqual([]);
    expect(later(one, 1)).toEqual(['p1 disarmed']);
    expect(later(one, 600_000)).toEqual([]);
  });

  it.each<[string, (one: ReturnType<typeof rig>) => void]>([
    ['the partition has said otherwise live', ({ says }) => says(area, armed, false)],
    ['the bridge has connected anew, as after a crash of the broker', ({ says }) => says(status, 'online', false)],
    ['the bridge is away', ({ says }) => says(status, 'offline', true)],
  ])('is not taken when %s, before or after it', (_, happens) => {
    const after = doubted();
    after.says(area, disarmed, true);
    after.runner.brokerFound();
    happens(after);
    expect(later(after, 600_000)).toEqual([]);

    const before = doubted();
    before.runner.brokerFound();
    happens(before);
    before.says(area, disarmed, true);
    expect(later(before, 600_000)).toEqual([]);
  });

  it('is not taken when the connection was lost again and brought other words', () => {
    const one = doubted();
    one.says(area, disarmed, true);
    one.runner.brokerFound();
    one.runner.brokerLost('again');
    one.says(status, 'online', true);
    one.runner.brokerFound();
    expect(later(one, 600_000)).toEqual([]);
  });

  it('is taken from a real broker', async () => {
    const cut: (() => void)[] = [];
    const aedes = await Aedes.createBroker();
    aedes.on('client', (client) => {
      if (client.id.endsWith('-panels')) cut.push(() => client.conn.destroy());
    });
    const server = createServer(aedes.handle);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const url = `mqtt://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const publish = (topic: string, payload: string, retain: boolean) =>
      new Promise<void>((resolve, reject) => {
        const packet = { cmd: 'publish', topic, payload: Buffer.from(payload), qos: 0, retain, dup: false } as const;
        aedes.publish(packet, (error) => (error ? reject(error) : resolve()));
      });
    const clock = manualClock();
    const panels = [panel({ id: 'main', profile: 'texecom2mqtt', partitions: { p1: 'house' } })];
    const site = await startPanels({ url, panels, clock });
    const states = () => site.signals.flatMap(shown);
    try {
      await until(() => site.panels.health().state === 'ok', 'the subscription');
      await publish(status, 'online', true);
      await publish(area, armed, false);
      await until(() => states().includes('p1 armed_away'), 'the arming');
      cut[0]?.();
      await publish(area, disarmed, true);
      await until(() => site.logged().includes('is calmer than what was heard live'), 'the doubted word');
      await until(() => site.panels.health().state === 'ok', 'the subscription again');
      expect(states()).toEqual(['p1 armed_away']);
      clock.advance(600_000);
      await until(() => states().includes('p1 disarmed'), 'the end of the doubt');
    } finally {
      await site.stop();
      await new Promise<void>((resolve) => aedes.close(() => resolve()));
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
