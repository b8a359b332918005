import { duplexPair } from 'node:stream';
import { Aedes } from 'aedes';
import { expect, it } from 'vitest';
import { fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import { commandId, now, root, startLan, type TestBroker, until } from './harness.ts';

const gone = async () => undefined;

it('counts the commands for which there is no room before siteward has told its state', async () => {
  const gate = Promise.withResolvers<void>();
  let listens = false;
  const broker = await Aedes.createBroker({
    authorizeSubscribe(_, subscription, done) {
      // Its own commands are subscribed to by then; its state is told when it hears Home Assistant.
      const held = subscription.topic.startsWith('homeassistant/');
      listens ||= held;
      void (held ? gate.promise : Promise.resolve()).then(() => done(null, subscription));
    },
  });
  const dial = async () => {
    const [theirs, ours] = duplexPair();
    broker.handle(ours);
    return theirs;
  };
  const url = 'mqtt://127.0.0.1:1';
  const connect = { url, dial, protocolVersion: 4 } as const;
  const stand: TestBroker = { kind: 'embedded', url, connect, halt: gone, restart: gone, stop: gone };
  const homeAssistant = { prefix: 'homeassistant', siteName: 'HQ', serial: 'b1' };
  const { lan, metrics } = await startLan(stand, fakeSite(), { homeAssistant }, false);
  try {
    await until(() => listens, 'it listens');
    const early = async () =>
      (await metrics.getSingleMetric('siteward_mqtt_early_dropped_total')?.get())?.values[0]?.value;
    const ping = () =>
      new Promise<void>((resolve) => {
        const payload = JSON.stringify({ id: commandId(), issued_at: now() });
        const packet = {
          cmd: 'publish',
          topic: `${root}/cmd/ping`,
          payload,
          qos: 0,
          retain: false,
          dup: false,
        } as const;
        broker.publish(packet, () => resolve());
      });
    for (let n = 0; n < 70; n += 1) await ping();
    await expect.poll(early).toBe(6);
    gate.resolve();
    await until(() => lan.health().state === 'ok', 'siteward is connected');
    await ping();
    const counted = async () =>
      (await metrics.metrics()).match(/commands_total\{verb="ping",result="done"\} (\d+)/)?.[1];
    await expect.poll(counted).toBeDefined();
    expect(await early()).toBe(6);
  } finally {
    await lan.stop();
    await new Promise<void>((resolve) => broker.close(() => resolve()));
  }
});
