import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createPublisher, type Message, type Session } from '#lan/mqtt/publisher.ts';

const status = (payload: string): Message => ({ topic: 'status', payload, qos: 1, retain: true });

it('says goodbye last, also while the birth is still being told, whose last word never comes', async () => {
  const publisher = createPublisher({ metrics: new Registry() });
  const sent: string[] = [];
  const acknowledge: (() => void)[] = [];
  const session: Session = {
    protocol: 4,
    publish(topic, payload) {
      sent.push(`${topic} ${payload}`);
      return new Promise((resolve) => acknowledge.push(resolve));
    },
  };
  for (let zone = 1; zone <= 100; zone += 1) publisher.state(`zone/${zone}`, 'OFF');
  publisher.open(session, [status('online')]);
  publisher.send({ topic: 'event', payload: 'alarm', qos: 1, retain: false });
  const left = publisher.leave(status('offline'));
  while (acknowledge.length > 0) {
    for (const done of acknowledge.splice(0)) done();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await left;
  expect(sent.slice(-2)).toEqual(['event alarm', 'status offline']);
  expect(sent).not.toContain('status online');
});

it('tells what came of a message by itself, whatever else is on its way', async () => {
  const publisher = createPublisher({ metrics: new Registry() });
  const message = (topic: string): Message => ({ topic, payload: 'x', qos: 0, retain: false });
  expect(await publisher.deliver(message('early'))).toBe(false);
  const session: Session = {
    protocol: 4,
    publish: async (topic) => {
      if (topic === 'refused') throw new Error('not authorised');
      if (topic !== 'image') await new Promise(() => undefined);
    },
  };
  publisher.open(session, []);
  publisher.send(message('event'));
  publisher.state('zone/1', 'ON');
  expect(await publisher.deliver(message('image'))).toBe(true);
  expect(await publisher.deliver(message('refused'))).toBe(false);
  const lost = Array.from({ length: 100 }, () => publisher.deliver(message('event')));
  publisher.close();
  expect(new Set(await Promise.all(lost))).toEqual(new Set([false]));
});

it('says goodbye however much state goes on to come', async () => {
  const publisher = createPublisher({ metrics: new Registry() });
  const sent: string[] = [];
  const publish: Session['publish'] = async (topic, payload) => {
    sent.push(`${topic} ${payload}`);
    await new Promise((resolve) => setImmediate(resolve));
  };
  publisher.open({ protocol: 4, publish }, []);
  let round = 0;
  const more = () => {
    round += 1;
    for (let zone = 1; zone <= 100; zone += 1) publisher.state(`zone/${zone}`, String(round));
  };
  more();
  void publisher.leave(status('offline'));
  for (let n = 0; n < 50; n += 1) {
    more();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(sent.at(-1)).toBe('status offline');
  // All of it is told with the next connection.
  publisher.close();
  publisher.open({ protocol: 4, publish }, []);
  expect(sent.at(-1)).toBe(`zone/32 ${round}`);
});
