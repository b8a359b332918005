import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createCloudClient } from '#cloud/client/index.ts';
import { createDelivery, mediaFilesOf } from '#cloud/delivery/index.ts';
import { systemClock } from '#lib/clock.ts';
import { startCloud } from '#sandbox/cloud/index.ts';
import { commitRows, eventIdOf, keyPair, quiet, rowOf, testStore, until } from './support.ts';

const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(5_000, 7), Buffer.from([0xff, 0xd9])]);

it('events and pictures reach the strict sandbox in order, once, through a revoked token, faults and an outage', async () => {
  const clock = systemClock();
  const key = keyPair();
  const sandbox = await startCloud({
    listen: { host: '127.0.0.1', port: 0 },
    clients: [{ clientId: 'bridge-1', publicKeyPem: key.publicPem, kid: 'k1' }],
  });
  const { store, close } = await testStore(clock);
  const spool = mkdtempSync(join(tmpdir(), 'siteward-spool-'));
  const cloud = createCloudClient({
    baseUrl: sandbox.url,
    authUrl: sandbox.url,
    clientId: 'bridge-1',
    keys: { current: { pem: key.pem, keyId: 'k1' } },
    clock,
    log: quiet,
  });
  const delivery = createDelivery({
    store,
    cloud,
    clock,
    log: quiet,
    metrics: new Registry(),
    allowLoopbackHttp: true,
    uploadResume: 'off',
    onLink: () => undefined,
    files: mediaFilesOf({
      path: (file) => join(spool, file),
      discard: async () => undefined,
      keep: async () => undefined,
    }),
  });
  try {
    await delivery.start(new AbortController().signal);
    const media = [{ index: 0, kind: 'snapshot', camera: 'yard', offsetMs: 0 }] as const;
    await commitRows(store, [rowOf(clock, 1, { media })]);
    writeFileSync(join(spool, '1-0.jpg'), jpeg);
    const sha256 = createHash('sha256').update(jpeg).digest('hex');
    await store.updateMedia([
      {
        seq: 1,
        lane: 'alarm',
        index: 0,
        at: clock.wall(),
        state: 'ready',
        file: '1-0.jpg',
        bytes: jpeg.length,
        sha256,
        mime: 'image/jpeg',
      },
    ]);
    delivery.wake();
    await until('the picture has arrived', () => sandbox.uploads().length === 1);
    expect(sandbox.uploads()[0]).toMatchObject({
      event_id: eventIdOf(1),
      kind: 'snapshot',
      index: 0,
      bytes: jpeg.length,
      sha256,
      authorization_sent: false,
    });

    sandbox.revoke();
    await commitRows(store, [rowOf(clock, 2)]);
    delivery.wake();
    await until('the second has arrived', () => sandbox.events().length === 2);

    sandbox.plant({
      path: '/partner/v1/events',
      method: 'POST',
      mode: 'status',
      status: 503,
      when: 'before',
      count: 1,
    });
    sandbox.plant({ path: '/partner/v1/events', method: 'POST', mode: 'reset', when: 'after', count: 2 });
    await commitRows(
      store,
      [3, 4, 5].map((seq) => rowOf(clock, seq)),
    );
    delivery.wake();
    await until('the outbox is empty', async () => (await store.stats()).pending.alarm === 0);
    expect(sandbox.events().map((event) => event.event_id)).toEqual([1, 2, 3, 4, 5].map(eventIdOf));
    expect(sandbox.events().every((event) => event.identical)).toBe(true);
  } finally {
    await delivery.stop();
    await cloud.close();
    await sandbox.close();
    await close();
    rmSync(spool, { recursive: true, force: true });
  }
});
