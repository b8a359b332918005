import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { launch } from '../../system-input/process.ts';
import { cli, type Rig } from '../../system-input/rig.ts';
import { bench, brokers, event } from './bench.ts';
import { armings, isThere, kinds, nameOf, partition, siteWith } from './bugcases.ts';
import { until } from './harness.ts';

for (const [name, startBroker, missing] of brokers) {
  describe.skipIf(missing || !isThere)(`reports of other systems about an outage on ${name} (needs ../shared)`, () => {
    const on = bench(startBroker);

    it(nameOf(9), async () => {
      on.site.setPartition('p1', 'disarmed');
      const { lan } = await on.start();
      await on.broker.halt();
      await until(() => on.health.state !== 'ok', 'the loss was seen');
      for (const state of ['armed_away', 'disarmed'] as const) {
        on.site.setPartition('p1', state);
        lan.publishEvent(event({ class: 'arming', kind: state, event_type: 'arming' }));
      }
      await on.broker.restart();
      const watcher = await on.observe();
      await until(() => watcher.texts('status').includes('online'), 'online', 20_000);
      expect(watcher.texts('partition/p1/state')).toEqual(['disarmed']);
      const events = watcher.packets.filter(({ topic }) => topic.includes('/event/'));
      expect(events).toEqual([]);
    });
  });
}

async function statusAt(socket: string): Promise<string> {
  const asked = launch(process.execPath, [cli, 'status', '--json', '--socket', socket]);
  await asked.exited;
  return asked.stdout.join('');
}

describe.skipIf(!isThere).each(kinds)('two daemons of one site on %s (needs ../shared)', (broker) => {
  let rig: Rig;
  afterEach(() => rig?.close());

  it(nameOf(11), async () => {
    rig = await siteWith(broker);
    const folder = join(rig.folder, 'twin');
    mkdirSync(join(folder, 'state'), { recursive: true, mode: 0o700 });
    const configFile = join(folder, 'siteward.yaml');
    // The same in everything but where it keeps its files, which only one may have.
    writeFileSync(configFile, readFileSync(rig.configFile, 'utf8').replaceAll(rig.folder, folder));
    const before = rig.lan.heard.length;
    const twin = launch(process.execPath, [cli, 'run', '--config', configFile], { env: { CASE_CODE: '4827' } });
    rig.also(() => twin.stop());
    await pause(20_000);
    const statuses = rig.lan.heard.slice(before).flatMap(({ topic, payload }) => (topic === 'status' ? [payload] : []));
    const changes = statuses.filter((status, index) => status !== (statuses[index - 1] ?? 'online'));
    expect(changes.length).toBeLessThanOrEqual(3);
    expect([partition(rig), armings(rig)]).toEqual(['disarmed', []]);
    const both = [JSON.stringify(await rig.status()), await statusAt(join(folder, 'control.sock'))];
    // The embedded broker is the daemon's own: there the second one gets none, and disturbs nobody.
    const why =
      broker === 'embedded' ? 'address already in use' : 'another client uses the MQTT client id of siteward-input';
    expect(both.some((one) => one.includes('broker_offline') && one.includes(why))).toBe(true);
  });
});
