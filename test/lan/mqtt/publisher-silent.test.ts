import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createPublisher } from '#lan/mqtt/publisher.ts';

test('an answer to a silent call that waits, or is lost with its connection, moves no metric', async () => {
  const metrics = new Registry();
  const publisher = createPublisher({ metrics });
  publisher.open({ protocol: 4, publish: () => new Promise(() => undefined) }, []);
  const message = { topic: 'reply/kp1/1', payload: '{}', qos: 1, retain: false, uncounted: true } as const;
  const before = await metrics.metrics();
  for (let i = 0; i < 200; i += 1) publisher.send(message);
  expect(await metrics.metrics()).toBe(before);
  publisher.close();
  expect((await metrics.metrics()).match(/^siteward_mqtt_publish_dropped_total.* [1-9]/m)).toBeNull();
});
