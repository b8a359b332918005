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
  publisher.leave(status('offline'));
  const left = publisher.drained();
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
