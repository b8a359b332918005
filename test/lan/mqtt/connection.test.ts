import mqtt from 'mqtt';
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
      name: 'siteward-birth',
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

  it('tells of a rival without what is made of its password', async () => {
    const broker = await startMosquitto();
    const logged: string[] = [];
    const connection = createConnection({
      connect: { url: broker.url, protocolVersion: 4 },
      name: 'siteward-rival',
      clientId: 'siteward-rival-5ec2e7aa',
      will: { topic: 'rival/status', payload: 'offline' },
      onOpen: async () => undefined,
      onClose: () => undefined,
      onMessage: () => undefined,
      clock: systemClock(),
      log: pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) }),
    });
    const stop = new AbortController();
    const running = connection.run(stop.signal);
    const rival = mqtt.connect(broker.url, { clientId: 'siteward-rival-5ec2e7aa', reconnectPeriod: 50 });
    try {
      await until(() => connection.health().facts?.trouble === 'mqtt_client_id_clash', 'the clash', 20_000);
      expect(connection.health().reason).toContain('siteward-rival;');
      expect(logged.join()).toContain('clash');
      expect(`${logged.join()} ${connection.health().reason}`).not.toContain('5ec2e7aa');
    } finally {
      rival.end(true);
      stop.abort();
      await running;
      await broker.stop();
    }
  });
});
