import { isDeepStrictEqual } from 'node:util';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it, test } from 'vitest';
import { type AuditLine, auditLine, createAuditFeed } from '../../../src/lan/mqtt/audit-feed.ts';
import { createPublisher, type Session } from '../../../src/lan/mqtt/publisher.ts';
import { planted, type Rig, root as siteRoot, startRig } from '../../system-input/rig.ts';
import { bench, brokers } from './bench.ts';
import { root, until, watch } from './harness.ts';

const line = (seq: number): AuditLine => ({
  ...{ at: '2026-11-27T20:00:00Z', clock: 'synced', kind: 'command', source: 'lan', actor_ref: 'anna' },
  ...{ target: 'p1', action: 'arm', outcome: 'done', seq, epoch: 1 },
});

describe.each(brokers)('the audit log on %s', (_name, startBroker, missing) => {
  describe.skipIf(missing)('is told', () => {
    const on = bench(startBroker);
    const listen = () => on.own({ clientId: 'siteward-hq-2' }, [`${root}/log/audit`]);
    const seqs = (watcher: Awaited<ReturnType<typeof listen>>) => watcher.json('log/audit').map(({ seq }) => seq);

    it('line by line in its order, from the start on, however many come at once', async () => {
      on.site.audit.push(line(1));
      const watcher = await listen();
      await on.start();
      // The place is known once a first reading is over.
      await until(() => on.site.auditReads > 0, 'a reading');
      const more = Array.from({ length: 250 }, (_, index) => line(index + 2));
      on.site.audit.push(...more);
      await until(() => seqs(watcher).length >= 250, 'all lines');
      expect(watcher.json('log/audit')).toEqual(more);
      expect(watcher.packets.every(({ qos, retain }) => qos === 1 && !retain)).toBe(true);
      const late = await listen();
      await late.client.subscribeAsync(`${root}/status`, { qos: 1 });
      await until(() => late.texts('status').length > 0, 'what is retained');
      expect(seqs(late)).toEqual([]);
    });

    it('after the broker was away, each line once', async () => {
      await on.start();
      await until(() => on.site.auditReads > 0, 'a reading');
      await on.broker.halt();
      await until(() => on.health.state !== 'ok', 'siteward has lost it');
      on.site.audit.push(line(1), line(2));
      await on.broker.restart();
      const watcher = await listen();
      await until(() => on.health.state === 'ok', 'siteward is back');
      on.site.audit.push(line(3));
      await until(() => seqs(watcher).includes(3), 'the newest');
      // The first two may have left before this client was there; never twice, and never behind the third.
      expect([[1, 2, 3], [2, 3], [3]]).toContainEqual(seqs(watcher));
    });
  });
});

test('a line that went down with its connection is told with the next one', async () => {
  const audit = Array.from({ length: 120 }, (_, index) => line(index + 1));
  const publisher = createPublisher({ metrics: new Registry() });
  const heard: number[] = [];
  const feed = createAuditFeed({
    ...{ root, publisher, isConnected: () => true },
    read: async (after, limit) => {
      const lines = audit.slice(after ?? 0, after === undefined ? 0 : after + limit);
      return {
        lines: lines.map((one, i) => ({ place: (after ?? 0) + i + 1, line: one })),
        place: (after ?? 0) + lines.length,
      };
    },
  });
  await feed();
  const seqOf = (payload: string | Buffer) => JSON.parse(payload.toString()).seq as number;
  // A broker that acknowledges the first ten only, and goes.
  const failing: Session = {
    protocol: 4,
    publish: (_, payload) => {
      if (seqOf(payload) > 10) return new Promise(() => undefined);
      heard.push(seqOf(payload));
      return Promise.resolve();
    },
  };
  publisher.open(failing, []);
  const first = feed();
  await until(() => heard.length === 10, 'the first ten');
  publisher.close();
  await first;
  publisher.open({ protocol: 4, publish: async (_, payload) => void heard.push(seqOf(payload)) }, []);
  await feed();
  await feed();
  expect(heard).toEqual(audit.map(({ seq }) => seq));
});

describe.each(['embedded', 'mosquitto'] as const)('the audit log of a site with %s', (broker) => {
  let rig: Rig;
  afterEach(() => rig?.close());

  it('reaches the auditor as anybody may read it on the box, without codes and without duress (safety 4)', async () => {
    const mqttMore = ', clients: [ { id: watcher, role: auditor, password: { env: WATCHER } } ]';
    rig = await startRig({
      broker,
      cloud: false,
      sections: `users: [ { id: anna, name: Anna, code: { env: CODE }, duress_code: { env: DURESS } } ]\npanels: []\n`,
      env: { WATCHER: planted.mqttPassword },
      ...(broker === 'embedded' && { mqttMore }),
    });
    const login = broker === 'embedded' ? { username: 'watcher', password: planted.mqttPassword } : {};
    const auditor = await watch(rig.mqttUrl, { clientId: 'watcher', ...login }, [`${siteRoot}/log/audit`]);
    rig.also(() => auditor.client.endAsync(true));
    const lines = () => auditor.packets.map(({ payload }) => payload.toString());
    const arm = { partition: 'p1', mode: 'away', code: planted.code };
    expect(await rig.lan.command('arm', arm)).toMatchObject({ outcome: 'done' });
    expect(await rig.lan.command('disarm', { partition: 'p1', code: planted.duress })).toMatchObject({
      outcome: 'done',
    });
    expect(await rig.lan.command('arm', arm)).toMatchObject({ outcome: 'done' });
    const done = (action: string) => lines().filter((text) => JSON.parse(text).action === action).length;
    await until(() => done('arm') >= 2 && done('disarm') >= 1, 'both armings');
    const told = lines().map((text) => JSON.parse(text));
    for (const one of told) auditLine.parse(one);
    const log = (await rig.audit()).reverse();
    const from = log.findIndex((entry) => isDeepStrictEqual(entry, told[0]));
    expect(told).toEqual(log.slice(from, from + told.length));
    expect(lines().join('\n')).not.toMatch(/duress|auditor|"n":/);
    for (const code of [planted.code, planted.duress]) expect(lines().join('\n')).not.toContain(code);
  });
});
