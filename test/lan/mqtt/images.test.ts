import { describe, expect, it } from 'vitest';
import { fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import { bench, brokers } from './bench.ts';
import { commandId, now, root, until } from './harness.ts';

const jpeg = Buffer.from([0xff, 0xd8, 1, 2, 3, 0xff, 0xd9]);
const images = [`${root}/camera/+/image`];

for (const [name, startBroker, missing] of brokers) {
  describe.skipIf(missing)(`pictures that are retained on ${name}`, () => {
    const on = bench(startBroker);

    async function take(): Promise<void> {
      on.site.pictures = { yard: jpeg };
      const watcher = await on.observe();
      const body = { id: commandId(), issued_at: now(), camera: 'yard' };
      await on.send(watcher, 'snapshot', body);
      expect(await on.final(watcher, body.id)).toMatchObject({ outcome: 'done' });
    }

    /** What a client finds that comes now. */
    async function found(): Promise<string[]> {
      const late = await on.own({}, images);
      await late.client.subscribeAsync(`${root}/info`, { qos: 1 });
      await until(() => late.texts('info').length > 0, 'what is retained');
      await late.client.endAsync();
      return late.packets.filter(({ topic, retain }) => retain && topic.endsWith('/image')).map(({ topic }) => topic);
    }

    it('stay for whoever comes later, over a restart of siteward, until that is turned off', async () => {
      await on.start({ retainImages: true });
      await take();
      await expect.poll(found).toEqual([`${root}/camera/yard/image`]);
      await on.stop();
      on.renew(fakeSite());
      await on.start({ retainImages: true });
      // What is retained was heard by then.
      await take();
      await expect.poll(found).toEqual([`${root}/camera/yard/image`]);
      await on.stop();
      on.renew(fakeSite());
      await on.start();
      await expect.poll(found, { timeout: 10_000 }).toEqual([]);
    });

    it('are cleared when their camera goes', async () => {
      await on.start({ retainImages: true });
      await take();
      await expect.poll(found).toHaveLength(1);
      on.site.setPlan({ cameras: [] });
      await expect.poll(found).toEqual([]);
    });
  });
}
