import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { bench, brokers } from './bench.ts';
import { commandId, now, root, until } from './harness.ts';

/** Commands that a client has retained while siteward listens. */
for (const [name, startBroker, missing] of brokers) {
  describe.skipIf(missing)(`a command that was retained on ${name}`, () => {
    const on = bench(startBroker);
    const code = '48270391';

    /** The topics of commands that a client finds which connects now. */
    async function left(): Promise<string[]> {
      const late = await on.own({}, [`${root}/cmd/#`, `${root}/in/#`]);
      await late.client.subscribeAsync(`${root}/status`, { qos: 1 });
      await until(() => late.texts('status').length > 0, 'what is retained');
      await late.client.endAsync();
      return late.packets.map(({ topic }) => topic).filter((topic) => topic !== `${root}/status`);
    }

    it.each([['arm', { mode: 'away' }] as const, ['disarm', {}] as const, ['silence', {}] as const])(
      'is carried out once, and its code stays on no topic: %s',
      async (verb, more) => {
        await on.start();
        const watcher = await on.observe();
        const body = on.body({ ...more, code });
        await on.send(watcher, verb, body, true);
        const { error } = await on.final(watcher, body.id);
        expect(error).toBeUndefined();
        expect(on.site.retained).toEqual([]);
        await expect.poll(left).toEqual([]);
      },
    );

    it('of Home Assistant and of the platform is cleared too', async () => {
      await on.start();
      const watcher = await on.observe();
      await on.send(watcher, 'ha/p2', { action: 'DISARM', code, issued_at: now() }, true);
      const request = JSON.stringify({ verification_id: commandId() });
      // Without a password nobody may ask for a verification at the embedded broker.
      if (on.broker.kind === 'mosquitto')
        await watcher.client.publishAsync(`${root}/in/verification`, request, { qos: 1, retain: true });
      await on.send(watcher, 'ping', on.body({ partition: undefined }));
      await until(() => watcher.packets.some(({ topic }) => topic.startsWith(`${root}/reply/`)), 'an answer');
      await expect.poll(left).toEqual([]);
    });

    it('and calls for help is taken as one that came now, seen in no log line, and cleared', async () => {
      // Later than what was retained before siteward came.
      let later = 0;
      const clock = systemClock();
      const { lines } = await on.start({ clock: { ...clock, monotonic: () => clock.monotonic() + later } });
      later = 10_000;
      const watcher = await on.observe();
      const from = lines.length;
      const silent = on.body({ kind: 'silent' });
      await on.send(watcher, 'panic', silent, true);
      expect(await on.final(watcher, silent.id)).toMatchObject({ outcome: 'done' });
      await on.send(watcher, 'ha/p2', 'TRIGGER', true);
      await until(() => on.site.called.length === 2, 'both calls');
      for (const call of on.site.called) expect(call).not.toHaveProperty('retained');
      await expect.poll(left).toEqual([]);
      expect([lines.slice(from), on.site.retained]).toEqual([[], []]);
    });

    it('many times is cleared a few times, and told a few times', async () => {
      const { lines } = await on.start();
      const own = await on.own({}, [`${root}/cmd/arm`]);
      const bodies = Array.from({ length: 80 }, () => on.body({ mode: 'away' }));
      await Promise.all(bodies.map((body) => on.send(own, 'arm', body, true)));
      await expect.poll(left, { timeout: 5000 }).toEqual([]);
      const cleared = own.texts('cmd/arm').filter((text) => text === '').length;
      expect(cleared).toBeLessThan(20);
      expect(lines.filter((line) => line.includes('retained')).length).toBeLessThan(20);
    });
  });
}
