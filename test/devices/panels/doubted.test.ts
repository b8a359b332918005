import { createServer } from 'node:net';
import { Aedes } from 'aedes';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { buildPanels } from '#devices/panels/load.ts';
import { Runner } from '#devices/panels/runner.ts';
import { manualClock } from '#lib/clock.fake.ts';
import type { ArmingWord } from '#site/model/index.ts';
import { until } from './broker.ts';
import { panel, presets, startPanels } from './helpers.ts';

function rig(given: Record<string, unknown>, known?: ArmingWord) {
  const clock = manualClock();
  const { built, problems } = buildPanels([panel({ id: 'main', ...given })], [presets]);
  expect([...problems]).toEqual([]);
  const [one] = built;
  if (one === undefined) throw new Error('the panel was not built');
  const runner = new Runner(one, {
    ...{ clock, log: pino({ level: 'silent' }) },
    ...(known && { known: new Map([['p1', known]]) }),
  });
  const says = (topic: string, payload: string, retain: boolean, waited = false) =>
    (runner.take({ topic, payload: Buffer.from(payload), retain }, waited)?.signals ?? []).flatMap(shown);
  if (known === undefined) runner.brokerFound();
  return { clock, runner, says };
}

const shown = (signal: unknown): string[] => {
  const { kind, zone, partition, state, alarm, open } = signal as Record<string, unknown>;
  if (kind === 'partition') return [`${partition} ${state}`];
  if (kind === 'zone' && open !== undefined) return [`${zone} open ${open}`];
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

describe('a retained word after a start of siteward', () => {
  const [area, status] = ['texecom2mqtt/area/house', 'texecom2mqtt/status'] as const;
  const [armed, disarmed] = ['{"status":"full_armed"}', '{"status":"disarmed"}'] as const;
  const texecom = { profile: 'texecom2mqtt', partitions: { p1: 'house' } };

  it('that is calmer than what is on record is doubted, however long the broker takes, until a live one comes', () => {
    const { clock, runner, says } = rig(texecom, 'armed_away');
    clock.advance(3_600_000);
    says(status, 'online', true);
    expect(says(area, disarmed, true)).toEqual([]);
    runner.brokerFound();
    expect(says(area, disarmed, true)).toEqual([]);
    expect(says(area, disarmed, false)).toEqual(['p1 disarmed']);
  });

  it('is taken after ten minutes where the bridge has not come anew', () => {
    const { clock, runner, says } = rig(texecom, 'armed_away');
    says(status, 'online', true);
    says(area, disarmed, true);
    runner.brokerFound();
    clock.advance(600_000);
    expect(runner.settled().flatMap(shown)).toEqual(['p1 disarmed']);
  });

  it('is believed where nothing else is on record', () => {
    for (const known of ['disarmed', 'unknown'] as const) {
      const { runner, says } = rig(texecom, known);
      runner.brokerFound();
      expect(says(area, disarmed, true)).toEqual(['p1 disarmed']);
    }
  });

  it('protects what was retained then from older ones', () => {
    const { clock, runner, says } = rig(texecom);
    expect(says(area, armed, true)).toEqual(['p1 armed_away']);
    runner.brokerLost('gone');
    clock.advance(5000);
    runner.brokerFound();
    expect(says(area, disarmed, true)).toEqual([]);
  });
});

describe('a bridge that never tells of its own connection', () => {
  it('disarms by a live word only, after a loss of the broker', () => {
    const { clock, runner, says } = rig({ profile: 'concord4', zones: { '2': { type: 'perimeter' } } });
    expect(says('concord/alarm', 'armed_away', false)).toEqual(['p1 armed_away']);
    runner.brokerLost('gone');
    clock.advance(5000);
    runner.brokerFound();
    expect(says('concord/alarm', 'disarmed', true)).toEqual([]);
    for (let n = 0; n < 40; n += 1) {
      clock.advance(30_000);
      expect(says('concord/zone/2', n % 2 === 0 ? 'open' : 'closed', false)).toHaveLength(1);
      expect(runner.settled()).toEqual([]);
    }
    expect(says('concord/alarm', 'disarmed', false)).toEqual(['p1 disarmed']);
  });
});

describe('a retained level of a zone', () => {
  const pai = { profile: 'pai', zones: { '1': { type: 'perimeter', key: 'Front' } } };
  const zone = 'paradox/states/zones/Front/open';

  it('that calms what was live is doubted after a loss, and one that does not is taken', () => {
    const { clock, runner, says } = rig(pai);
    expect(says(zone, 'True', false)).toEqual(['1 open true']);
    runner.brokerLost('gone');
    clock.advance(5000);
    says('paradox/interface/availability', 'online', true);
    runner.brokerFound();
    expect(says(zone, 'False', true)).toEqual([]);
    expect(says(zone, 'True', true)).toEqual(['1 open true']);
    expect(says(zone, 'False', true)).toEqual([]);
    clock.advance(600_000);
    expect(runner.settled().flatMap(shown)).toEqual(['1 open false']);
    expect(says(zone, 'False', false)).toEqual(['1 open false']);
  });

  it('leaves the partition in the same message alone', () => {
    const { clock, runner, says } = rig({ profile: 'visonic2mqtt', zones: { '1': { type: 'perimeter' } } });
    const said = (state: string, z01: string, retain: boolean) =>
      says('visonic2mqtt/state', JSON.stringify({ state, z01 }), retain);
    said('disarmed', 'on', false);
    runner.brokerLost('gone');
    clock.advance(5000);
    runner.brokerFound();
    expect(said('armed_away', 'off', true)).toEqual(['p1 armed_away']);
  });
});

describe('a message of an old queue', () => {
  it('disarms nothing after a loss of the broker in this run, and does after a start', () => {
    const texecom = { profile: 'texecom2mqtt', partitions: { p1: 'house' } };
    const area = 'texecom2mqtt/area/house';
    const lost = rig(texecom);
    lost.says(area, '{"status":"full_armed"}', false);
    lost.runner.brokerLost('gone');
    lost.clock.advance(5000);
    expect(lost.says(area, '{"status":"disarmed"}', false, true)).toEqual([]);
    lost.runner.brokerFound();
    expect(lost.says(area, '{"status":"disarmed"}', false, true)).toEqual([]);
    expect(lost.says(area, '{"status":"triggered"}', false, true)).toEqual(['p1 triggered']);
    expect(lost.says(area, '{"status":"disarmed"}', false)).toEqual(['p1 disarmed']);
    const started = rig(texecom, 'armed_away');
    expect(started.says(area, '{"status":"disarmed"}', false, true)).toEqual(['p1 disarmed']);
  });
});

describe('an entry delay whose end nobody has told', () => {
  const dsc = () => {
    const one = rig({ profile: 'dsc-keybus' });
    one.says('dsc/Get/Partition1', 'armed_away', false);
    expect(one.says('dsc/Get/Partition1/Message', 'Entry delay in progress', false)).toEqual(['p1 pending']);
    return one;
  };

  it('is over after ten minutes, and the partition is what its panel has said otherwise', () => {
    const { clock, runner } = dsc();
    clock.advance(599_999);
    expect(runner.checkSilence().flatMap(shown)).toEqual([]);
    clock.advance(1);
    expect(runner.checkSilence().flatMap(shown)).toEqual(['p1 armed_away']);
    clock.advance(600_000);
    expect(runner.checkSilence().flatMap(shown)).toEqual([]);
  });

  it('is over with the alarm', () => {
    const { says } = dsc();
    expect(says('dsc/Get/Partition1', 'triggered', false)).toEqual(['p1 triggered']);
    expect(says('dsc/Get/Partition1', 'armed_away', false)).toEqual(['p1 armed_away']);
  });
});
