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
