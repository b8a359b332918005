import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { SitewardError } from '#errors.ts';
import { createConnection } from '#lan/mqtt/connection.ts';
import { systemClock } from '#lib/clock.ts';
import { mosquittoPath, startMosquitto, until } from './harness.ts';

describe.skipIf(mosquittoPath === undefined)('a connection with MQTT 5', () => {
  it('whose birth fails while it stands has no rival, and says what failed', async () => {
    const broker = await startMosquitto();
    const told: (string | undefined)[] = [];
    let births = 0;
    const connection = createConnection({
      connect: { url: broker.url, protocolVersion: 5 },
      clientId: 'siteward-birth',
      will: { topic: 'birth/status', payload: 'offline' },
      async onOpen() {
        births += 1;
        throw new SitewardError('mqtt_unreachable', 'the broker refused the subscription to birth/#');
      },
      onClose: () => void told.push(connection.health().reason),
      onMessage: () => undefined,
      clock: systemClock(),
      log: pino({ level: 'silent' }),
    });
    const stop = new AbortController();
    const running = connection.run(stop.signal);
    try {
      await until(() => births >= 4, 'four tries', 30_000);
      await until(() => /refused|another client/.test(connection.health().reason ?? ''), 'what is told');
      expect(connection.health()).toMatchObject({ state: 'down', reason: expect.stringContaining('refused') });
    } finally {
      stop.abort();
      await running;
      await broker.stop();
    }
    expect(told.join()).not.toContain('lost');
  });
});
