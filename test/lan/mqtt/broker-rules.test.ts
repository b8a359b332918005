import type { AedesPublishPacket, Client } from 'aedes';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { BrokerAuth } from '#lan/mqtt/broker-auth.ts';
import { aedesOptions, brokerCounters, bufferBytes } from '#lan/mqtt/broker-rules.ts';
import { root } from './harness.ts';

test('a flood of commands that siteward has not read yet keeps no call for help from it', () => {
  const auth = {
    accessOf: () => ({ mayReceive: () => true }),
    roleOf: () => 'siteward',
    noteCommand: () => undefined,
  } as unknown as BrokerAuth;
  const counters = brokerCounters(new Registry(), () => 0);
  const { authorizeForward } = aedesOptions({ root, auth, counters, onKnown: () => undefined });
  const comes = (unread: number, topic: string, payload = '{}') => {
    const client = { conn: { writableLength: unread, destroy: () => expect.fail('siteward was cut') } };
    const packet = { topic: `${root}/${topic}`, payload: Buffer.from(payload), retain: false };
    return authorizeForward?.(client as unknown as Client, packet as unknown as AedesPublishPacket) !== null;
  };
  expect(comes(0, 'cmd/arm')).toBe(true);
  expect(comes(bufferBytes / 2, 'cmd/arm')).toBe(false);
  expect(comes(bufferBytes / 2, 'cmd/panic')).toBe(true);
  expect(comes(bufferBytes / 2, 'cmd/ha/p1', 'TRIGGER')).toBe(true);
  expect(comes(bufferBytes / 2, 'cmd/ha/p1', 'DISARM')).toBe(false);
  // Beyond that aedes itself would wait, and everybody with it.
  expect(comes(bufferBytes, 'cmd/panic')).toBe(false);
});
