import { expect } from 'vitest';
import { done, number, refused, text, time } from './answers.ts';
import { type Place, place } from './audio-place.ts';
import type { Ask, Loose, Method } from './http.ts';
import { conformance } from './server.ts';

const service = conformance();
const { rule, call } = service;

/** A place where something may be done, and a way to ask there. */
async function acting() {
  service.need(service.target().actions || undefined, 'needs --allow-actions: it acts at the site');
  return asking(await place(service));
}

function asking(at: Place) {
  const partition = () => `/v1/partitions/${encodeURIComponent(service.need(at.partition, 'needs --partition'))}`;
  const ask = (method: Method, path: string, more: Ask = {}) => call(method, path, { token: at.key, ...more });
  const state = async () => done(await ask('GET', partition())).data;
  return { at, ask, partition, state };
}

rule('S-178 a partition is armed with an API key', async () => {
  const { ask, partition } = await acting();
  const answer = await ask('POST', `${partition()}/arm`);
  expect(answer.status, answer.text).toBeGreaterThanOrEqual(200);
  expect(answer.status, answer.text).toBeLessThan(300);
});

rule('S-178 the answer names the partition and its status; an unknown one is 404, a wrong key 401', async () => {
  const { at, ask, partition } = await acting();
  const body = done(await ask('POST', `${partition()}/arm`));
  expect(body).toEqual({ data: { partition_id: at.partition, status: 'armed' } });
  refused(await ask('POST', '/v1/partitions/no-such-partition/arm'), 404);
  refused(await ask('POST', `${partition()}/arm`, { token: `${at.key}x` }), 401);
});

rule('S-179 a partition is disarmed, and its state is read', async () => {
  const { at, ask, partition, state } = await acting();
  done(await ask('POST', `${partition()}/arm`));
  expect(await state()).toMatchObject({ partition_id: at.partition, status: 'armed' });
  expect(done(await ask('POST', `${partition()}/disarm`))).toEqual({
    data: { partition_id: at.partition, status: 'disarmed' },
  });
  const { ready, bypassed_zones, ...rest } = (await state()) ?? {};
  expect(rest).toEqual({ partition_id: at.partition, status: 'disarmed' });
  expect(ready).toBeTypeOf('boolean');
  expect(Array.isArray(bypassed_zones)).toBe(true);
  for (const path of ['/v1/partitions/no-such', '/v1/partitions/a%20b']) refused(await ask('GET', path), 404);
});

rule('S-179 zones of a partition are bypassed', async () => {
  const { at, ask, partition, state } = await acting();
  const zone = service.need(service.target().control ? '1' : undefined, 'needs a control path');
  const bypass = (json: unknown) => ask('POST', `${partition()}/bypass`, { json });
  done(await ask('POST', `${partition()}/disarm`));
  const { data } = done(await bypass({ zones: [zone] }));
  expect(data).toMatchObject({ partition_id: at.partition, bypassed_zones: [zone] });
  expect(await state()).toEqual(data);
  for (const zones of [undefined, [], 'x', [1], null]) {
    expect(refused(await bypass({ zones }), 400)).toMatchObject({ error: { code: 'invalid_request', message: text } });
  }
});

rule('S-179 a snapshot comes as a picture or as its address, by Accept', async () => {
  const { at, ask } = await acting();
  const device = service.need(at.devices[0], 'needs --device');
  const path = `/v1/devices/${encodeURIComponent(device)}/snapshot`;
  const picture = await ask('POST', path, { headers: { accept: 'image/jpeg' } });
  expect(picture.status, picture.text.slice(0, 300)).toBe(200);
  expect(picture.headers['content-type']).toBe('image/jpeg');
  expect([...picture.bytes.subarray(0, 2)]).toEqual([0xff, 0xd8]);
  const { data } = done(await ask('POST', path, { headers: { accept: 'application/json' } }));
  expect(data?.url).toMatch(/^https?:\/\//);
  refused(await ask('POST', '/v1/devices/no-such-device/snapshot'), 404);
});

rule('S-179 a guard is asked for, and the request is taken with 202', async () => {
  const { at, ask } = await acting();
  const path = `/v1/sites/${at.site}/dispatch`;
  const body = done(await ask('POST', path, { json: { reason: 'glass break', responder: 'guard' } }), 202);
  expect(body).toEqual({ data: { dispatch_id: text, status: 'requested' } });
  for (const json of [{ responder: 'guard' }, { reason: '', responder: 'guard' }, { reason: 'x', responder: 'army' }]) {
    refused(await ask('POST', path, { json }), 400);
  }
  refused(await ask('POST', '/v1/sites/999999999/dispatch', { json: { reason: 'x', responder: 'guard' } }), 404);
});

rule('S-179 the audit log of a site has the form of the activity log, in data', async () => {
  const { at, ask, partition } = await acting();
  done(await ask('POST', `${partition()}/arm`));
  const { data } = done(await ask('GET', `/v1/sites/${at.site}/audit-log`));
  const entries = data as unknown as readonly Loose[];
  expect(entries.length).toBeGreaterThan(0);
  for (const entry of entries) {
    expect(entry).toEqual({ activity_log_id: number, type: text, description: text, created_at: time });
  }
  expect(done(await ask('GET', `/v1/sites/${at.site}/audit-log?limit=1`)).data).toHaveLength(1);
  refused(await ask('GET', `/v1/sites/${at.site}/audit-log?limit=0`), 400);
});

rule('S-041 the audio and public interfaces refuse a request without a key', async () => {
  const { at } = asking(await place(service));
  const paths = [
    ['GET', `${at.audio}/audio-messages`],
    ['GET', '/ref/v1/sites/any/audio-messages'],
    ['POST', '/v1/partitions/any/arm'],
    ['POST', '/v1/partitions/any/disarm'],
    ['POST', '/v1/partitions/any/bypass'],
    ['GET', '/v1/partitions/any'],
    ['POST', '/v1/devices/any/snapshot'],
    ['POST', `/v1/sites/${at.site}/dispatch`],
    ['GET', `/v1/sites/${at.site}/audit-log`],
  ] as const;
  for (const [method, path] of paths) {
    const to = path.startsWith('/v1') ? 'base' : 'ext';
    const answer = await call(method, path, { to, ...(method === 'POST' ? { json: {} } : {}) });
    expect(answer.status, `${method} ${path}`).toBe(401);
  }
});
