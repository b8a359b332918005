import pino from 'pino';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { defaultDialect } from '#cloud/contract/index.ts';
import type { Settings } from '#config/index.ts';
import type { DispatchRequest } from '#lan/mqtt/index.ts';
import { systemClock } from '#lib/clock.ts';
import { Secret } from '#lib/secret.ts';
import { defaultSeed, type SandboxCloud, startCloud } from '#sandbox/cloud/index.ts';
import type { ClockQualityWatch } from '#site/clock-quality.ts';
import { type AuditDraft, localAsker } from '#site/model/index.ts';
import { dispatcher } from '../../src/daemon/dispatch.ts';
import { keyPair } from '../cloud/support.ts';
import { startDeafHost } from '../harness/deaf-host.ts';

const key = keyPair();
let cloud: SandboxCloud;
beforeAll(async () => {
  cloud = await startCloud({
    listen: { host: '127.0.0.1', port: 0 },
    clients: [{ clientId: 'bridge-1', publicKeyPem: key.publicPem }],
    dealers: defaultSeed().dealers,
    tokenLifeS: 3600,
  });
});
afterAll(() => cloud.close());

function ask(change: { url?: string; token?: string; paths?: boolean; keyless?: boolean } = {}) {
  const { url = cloud.url, paths = true, keyless = false } = change;
  const token = change.token ?? cloud.issueToken('api_key', { lifetimeS: 3600 });
  const settings = {
    site: { id: String(cloud.sites()[0]?.site_id) },
    cloud: {
      ...{ base_url: url, auth_url: url, events: { client_id: 'bridge-1', private_key: key.pem } },
      ...(!keyless && { api_key: new Secret(token) }),
      dialect: { ...defaultDialect(), public_paths: paths },
    },
  } as unknown as Settings;
  const notes: AuditDraft[] = [];
  const dispatch = dispatcher({
    settings: () => settings,
    clock: systemClock(),
    quality: { compare: () => undefined } as unknown as ClockQualityWatch,
    log: pino({ level: 'silent' }),
    note: async (entry) => void notes.push(entry),
  });
  return { dispatch, notes };
}
const signal = new AbortController().signal;
const request: DispatchRequest = { id: 'c1', kind: 'guard', client: 'tablet', partition: 'p1', note: 'gate open' };

it('asks the service, and the audit log has who asked and what came of it', async () => {
  const { dispatch, notes } = ask();
  expect(await dispatch?.(request, signal)).toMatchObject({
    kind: 'requested',
    dispatchId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(notes).toEqual([
    ...[
      {
        kind: 'command',
        source: 'lan',
        client_id: 'tablet',
        target: 'site',
        action: 'dispatch_guard',
        outcome: 'requested',
      },
    ],
  ]);
  expect(JSON.stringify(notes)).not.toContain('gate');
  expect(await dispatch?.({ ...request, kind: 'police' }, signal)).toMatchObject({ kind: 'requested' });
});

it('an account or key stands there as everywhere, with the address it came from', async () => {
  const { dispatch, notes } = ask();
  await dispatch?.(request, signal, { source: 'lan', client: 'key:a1', address: '192.0.2.7' });
  await dispatch?.(request, signal, localAsker);
  expect(notes).toMatchObject([
    { source: 'lan', client_id: '192.0.2.7', actor_ref: 'key:a1', action: 'dispatch_guard' },
    { source: 'cli', client_id: 'control socket', action: 'dispatch_guard' },
  ]);
});

it('is not there where the service is not said to take it, or no key is', () => {
  expect(ask({ paths: false }).dispatch).toBeUndefined();
  expect(ask({ keyless: true }).dispatch).toBeUndefined();
});

it('says what did not leave, what was refused, and where nobody knows', async () => {
  expect(await ask({ url: 'http://127.0.0.1:9' }).dispatch?.(request, signal)).toEqual({ kind: 'offline' });
  expect(await ask({ token: 'nobody' }).dispatch?.(request, signal)).toEqual({ kind: 'refused' });
  const path = `/v1/sites/${cloud.sites()[0]?.site_id}/dispatch`;
  cloud.plant({ path, method: 'POST', mode: 'reset', when: 'after', count: 1 });
  expect(await ask().dispatch?.(request, signal)).toEqual({ kind: 'unknown' });
}, 60_000);

it('has not left where nobody takes the connection', async () => {
  const deaf = await startDeafHost();
  onTestFinished(deaf.stop);
  expect(await ask({ url: `http://${deaf.host}` }).dispatch?.(request, signal)).toEqual({ kind: 'offline' });
}, 60_000);

it('does not go on when the part that asked stops, and says that nobody knows', async () => {
  const path = `/v1/sites/${cloud.sites()[0]?.site_id}/dispatch`;
  cloud.plant({ path, method: 'POST', mode: 'hang', when: 'after', count: 1 });
  const stopping = new AbortController();
  const { dispatch, notes } = ask();
  const asked = dispatch?.(request, stopping.signal);
  stopping.abort();
  expect(await asked).toEqual({ kind: 'unknown' });
  expect(notes).toMatchObject([{ outcome: 'unknown' }]);
});
