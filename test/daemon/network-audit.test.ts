import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as pathOf } from 'node:path';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import type { Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { fakeSite } from '#lan/mqtt/site-port.fake.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { systemClock } from '#lib/clock.ts';
import type { AuditDraft, MediaItem } from '#site/model/index.ts';
import { openStore } from '#site/store/index.ts';
import { audioPort } from '../../src/daemon/audio-port.ts';
import { camerasPort } from '../../src/daemon/cameras-port.ts';
import type { House } from '../../src/daemon/house.ts';
import { mediaPort } from '../../src/daemon/media-port.ts';
import { outboxCount } from '../../src/daemon/outbox-count.ts';
import { outboxPort } from '../../src/daemon/outbox-port.ts';
import { usersPort } from '../../src/daemon/users-port.ts';
import { quiet } from '../cloud/support.ts';
import { box, by, claim } from '../lan/access/box.ts';
import { network, tokenOf } from '../lan/http/access-rig.ts';
import { row } from '../site/store/rows.ts';

const picture: MediaItem = { index: 0, kind: 'snapshot', camera: 'yard', offsetMs: 0 };
const signal = new AbortController().signal;

/** The ports of a daemon over a store and devices that obey, and who may ask them over the network. */
async function bridge() {
  const dir = mkdtempSync(pathOf(tmpdir(), 'siteward-network-audit-'));
  const store = openStore({ dir, clock: systemClock(), log: quiet, metrics: new Registry() });
  await store.start(signal);
  onTestFinished(async () => {
    await store.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  await store.commit({ rows: [row(1, { media: [picture] }), row(2), row(3)], arming: [], inputs: [] });
  writeFileSync(pathOf(dir, '1-0.jpg'), 'picture');
  const file = { bytes: 7, sha256: 'ab', mime: 'image/jpeg', file: '1-0.jpg' };
  await store.updateMedia([{ seq: 1, lane: 'alarm', index: 0, at: 9, state: 'ready', ...file }]);
  await store.settle(
    [2, 3].map((seq) => ({
      seq,
      lane: 'alarm' as const,
      at: 9,
      verdict: 'parked' as const,
      tries: 1,
      status: 422,
      reason: 'no',
    })),
  );

  const audit: AuditDraft[] = [];
  const note = async (entry: AuditDraft) => void audit.push(entry);
  const site = fakeSite();
  site.setPlan({ cameras: [{ id: 'yard', name: 'Yard', partitions: ['p1'], pictures: 'always' }] });
  const house = {
    store,
    media: { places: (name: string) => [pathOf(dir, name)] },
    controller: {
      audit: async (entries: readonly AuditDraft[]) => void audit.push(...entries),
      view: () => site.view(),
    },
    codes: {
      add: async ({ id, name, role }: { id: string; name: string; role: string }, createdBy: string) => {
        if (id === 'taken') throw new SitewardError('user_refused', 'there is one');
        return { id, name, role, createdAt: '2026-11-27T20:00:00.000Z', createdBy };
      },
      setCode: async () => undefined,
      remove: async () => undefined,
    },
    cameras: { status: () => [], trust: async () => undefined, trustDevice: async () => undefined },
    streams: { snapshot: async () => ({ bytes: Uint8Array.of(0xff), mime: 'image/jpeg' }) },
    audio: {
      library: {
        import: async () => ({ key: 'chime' }),
        find: () => undefined,
        list: () => [],
        remove: async () => undefined,
      },
      messagesChanged: () => undefined,
      cancel: () => [],
      playbacks: () => [],
    },
  } as unknown as House;
  const clock = manualClock();
  const settings = () =>
    ({
      cameras: [{ id: 'yard', url: 'http://192.0.2.10/', name: 'Yard' }],
      nvrs: [],
      speakers: [],
      site: {},
    }) as unknown as Settings;
  const made = box();
  const access = await made.start();
  const olga = await claim(access, 'olga', 'owner');
  const net = network(access, {
    users: usersPort({ house, log: quiet, note }),
    outbox: outboxPort({
      ...{ house, note, clock, log: quiet, count: outboxCount({ store }), health: () => [] },
      ...{ dir: () => dir, hasCloud: () => false },
    }),
    cameras: camerasPort({ house, settings, wall: clock.wall, note }),
    media: mediaPort({ house, clock, note }),
    audio: audioPort({ house, settings, note, clock }),
  });
  const { key, token } = await access.addKey(by(olga), { name: 'app', scopes: ['audio:play', 'cameras', 'media'] });
  return {
    audit,
    net,
    owner: { session: tokenOf(olga), from: '192.0.2.5' },
    app: { key: token.reveal(), from: '192.0.2.6' },
    key,
  };
}

const fingerprint = Array(32).fill('AB').join(':');

/** Each change that is asked for over the network, and the action its entry has. */
const changes: readonly [path: string, method: string, body: unknown, action: string, media?: string][] = [
  ['/api/v1/users', 'POST', { id: 'ben', name: 'Ben', code: '40718362' }, 'user_added'],
  ['/api/v1/users', 'POST', { id: 'taken', name: 'Ben', code: '40718362' }, 'user_added'],
  ['/api/v1/users/ben/code', 'PUT', { code: '40729351' }, 'user_code_changed'],
  ['/api/v1/users/ben', 'DELETE', undefined, 'user_removed'],
  ['/api/v1/outbox/parked/retry', 'POST', { seqs: [2] }, 'outbox_retry'],
  ['/api/v1/outbox/parked/drop', 'POST', { seqs: [3] }, 'outbox_drop'],
  ['/api/v1/media/1/export', 'POST', undefined, 'export'],
  ['/api/v1/media/9/export', 'POST', undefined, 'export'],
  ['/api/v1/cameras/yard/snapshot', 'POST', undefined, 'snapshot'],
  ['/api/v1/cameras/yard/trust', 'POST', { fingerprint }, 'certificate_trusted'],
  ['/api/v1/cameras/yard/trust', 'POST', { device: 'uuid-2' }, 'device_trusted'],
  ['/api/v1/audio/messages?name=Chime', 'POST', 'RIFF', 'audio_import', 'application/octet-stream'],
  ['/api/v1/audio/messages/chime', 'DELETE', undefined, 'audio_remove'],
  ['/api/v1/audio/cancel', 'POST', { all: true }, 'audio_cancel'],
];

test.each(changes)(
  '%s %s is in the audit log with the account and the address',
  async (path, method, body, action, media) => {
    const { audit, net, owner } = await bridge();
    await net.ask(path, { method, body, ...owner, ...(media !== undefined && { media }) });
    const who = { source: 'lan', client_id: owner.from, actor_ref: 'account:olga' };
    expect(audit).toEqual([expect.objectContaining({ ...who, action })]);
    expect(JSON.stringify(audit)).not.toMatch(/40718362|40729351/);
  },
);

test('what a key does is in it with the key and the address', async () => {
  const { audit, net, app, key } = await bridge();
  const ask = (path: string, body?: unknown) => net.post(path, body, app);
  await ask('/api/v1/audio/cancel', { all: true });
  await ask('/api/v1/cameras/yard/snapshot');
  await ask('/api/v1/media/1/export');
  expect(audit.map(({ action }) => action)).toEqual(['audio_cancel', 'snapshot', 'export']);
  for (const entry of audit)
    expect(entry).toMatchObject({ source: 'lan', client_id: app.from, actor_ref: `key:${key.id}` });
});

test('and what is asked on the control socket is not laid at an account', async () => {
  const { audit, net } = await bridge();
  await net.post('/api/v1/audio/cancel', { all: true }, { from: 'here' });
  await net.post('/api/v1/users', { id: 'ben', name: 'Ben', code: '40718362' }, { from: 'here' });
  for (const entry of audit) expect(entry).toMatchObject({ source: 'cli', client_id: 'control socket' });
  expect(audit.some((entry) => 'actor_ref' in entry)).toBe(false);
});

test('a key that asks the speakers without end does not push the past out of the log', async () => {
  const { audit, net, app } = await bridge();
  for (let n = 0; n < 20; n += 1) await net.post('/api/v1/audio/cancel', { all: true }, app);
  expect(audit).toHaveLength(5);
});
