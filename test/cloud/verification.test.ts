import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { createCloudClient } from '#cloud/client/index.ts';
import { createAnswerSender } from '#cloud/verification/index.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import { Secret } from '#lib/secret.ts';
import { startCloud } from '#sandbox/cloud/index.ts';
import type { AnswerResult, VerificationAction } from '#site/model/index.ts';
import { createVerifications } from '#site/verification/index.ts';
import { seedDealer } from '../../src/sandbox/cloud/seed.ts';
import { keyPair, lineTo, quiet, testStore, until } from './support.ts';

/** Answers to alarm verifications over a real line, a real sandbox and a real store. */

const place = { dealer_id: 17, site_id: 4711 };
const contact = {
  contact_id: 7,
  external_contact_id: 'c7',
  first_name: 'Ada',
  last_name: 'Byron',
  phone_number: '+49 30 5550100',
};
const dealer = {
  dealer_id: 17,
  external_dealer_id: 'acme',
  sites: [{ site_id: 4711, external_site_id: 'hq', name: 'HQ', timezone: 'Europe/Berlin', contacts: [contact] }],
};
const secret = 'correct horse battery';
const answersPath = '/partner/v1/dealers/17/sites/4711/alarm-verifications/*';

/** The clock of the machine, which can be put ahead: hours pass in a moment. */
function aheadClock(): Clock & { ahead(ms: number): void } {
  const real = systemClock();
  let offset = 0;
  return {
    monotonic: () => real.monotonic() + offset,
    wall: () => real.wall() + offset,
    bootId: real.bootId,
    ahead(ms) {
      offset += ms;
    },
  };
}

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function rig(options: { call?: 'patch' | 'response' } = {}) {
  const clock = aheadClock();
  const key = keyPair();
  const sandbox = await startCloud({
    listen: { host: '127.0.0.1', port: 0 },
    control: true,
    clients: [
      { clientId: 'bridge-1', publicKeyPem: key.publicPem },
      { clientId: 'partner-1', clientSecret: secret },
    ],
    dealers: [seedDealer.parse(dealer)],
    dialect: { verification_life_s: 86_000 },
  });
  ends.push(() => sandbox.close());
  const line = await lineTo(sandbox.url);
  ends.push(line.close);
  const { store, close } = await testStore(clock);
  ends.push(close);
  const cloud = createCloudClient({
    baseUrl: line.url,
    authUrl: line.url,
    clientId: 'bridge-1',
    keys: { current: { pem: key.pem } },
    partner: { clientId: 'partner-1', secret: new Secret(secret) },
    clock,
    log: quiet,
  });
  ends.push(() => cloud.close());
  const metrics = new Registry();
  const verifications = createVerifications({
    store,
    submit: (command, reply) =>
      reply({ commandId: command.id, outcome: 'done', partition: 'all', at: clock.wall(), final: true }),
    checkCode: async (code) => ({ code: code === 'duress' ? 'duress' : 'ok', actor: 'anna' }),
    contacts: { ofUser: () => 7, ofClient: () => undefined },
    unsendable: undefined,
    onChange: () => sender.wake(),
    clock,
    quality: () => 'synced',
    log: quiet,
    metrics,
  });
  const sender = createAnswerSender({
    api: cloud.api,
    tokens: cloud.partnerTokens,
    call: options.call ?? 'patch',
    place: { dealerId: '17', siteId: '4711' },
    answers: verifications,
    clock,
    log: quiet,
    metrics,
  });
  await verifications.start(new AbortController().signal);
  await sender.start(new AbortController().signal);
  ends.push(verifications.stop, sender.stop);
  const control = async (path: string, body?: object) => {
    const sent =
      body === undefined
        ? {}
        : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return (await fetch(`${sandbox.url}/__sandbox/${path}`, sent)).json() as Promise<Record<string, unknown>>;
  };
  return {
    ...{ clock, sandbox, line, sender, verifications, metrics },
    async asked(): Promise<string> {
      const { verification_id: id } = await control('verifications', { ...place, contact_id: 7 });
      const expires_at = new Date(clock.wall() + 20 * 3_600_000).toISOString();
      await verifications.ask(
        { verification_id: String(id), contact_id: 7, expires_at },
        { source: 'lan', client: 'p' },
      );
      return String(id);
    },
    async answer(id: string, action: VerificationAction, code = 'good'): Promise<AnswerResult> {
      const ids = { commandId: randomUUID(), verificationId: id, bodyHash: randomUUID() };
      const from = { source: 'lan', client: 'guard-1', isProven: false, issuedAt: clock.wall() } as const;
      return new Promise((resolve, reject) => {
        verifications.answer({ ...ids, ...from, action, code }, resolve).catch(reject);
      });
    },
    state: (id: string) => verifications.list().find((one) => one.verification_id === id)?.state,
    async recorded(id: string) {
      const { verifications: rows } = await control('verifications');
      return (rows as { verification_id: string; answer: { action: string; responded_at: string } | null }[]).find(
        (one) => one.verification_id === id,
      )?.answer;
    },
    heard: (id: string) =>
      sandbox.log().flatMap(({ method, path, status }) => (path.includes(id) ? [`${method} ${status}`] : [])),
  };
}

describe('an answer to a verification', () => {
  it('outlasts an outage of hours, token and all, and keeps the moment of the press; the one that overrides it is sent alone', async () => {
    const site = await rig();
    const id = await site.asked();
    await site.line.cut('refuses');
    const pressed = new Date(site.clock.wall()).toISOString();
    await site.answer(id, 'disregard');
    for (let hour = 0; hour < 6; hour += 1) {
      site.clock.ahead(3_600_000);
      site.sandbox.setClockOffset((hour + 1) * 3600);
      site.sender.wake();
      await until('another try has failed', () => site.sender.health().state === 'degraded');
    }
    await site.answer(id, 'dispatch');
    expect(site.state(id)).toBe('waiting');
    await site.line.mend();
    site.sender.retryNow();
    await until('it is recorded', () => site.state(id) === 'recorded');
    expect(site.heard(id)).toEqual(['PATCH 200']);
    expect(await site.recorded(id)).toMatchObject({ action: 'dispatch' });
    const [first] = site.verifications.list().find((one) => one.verification_id === id)?.answers ?? [];
    expect(Date.parse(first?.responded_at ?? '') - Date.parse(pressed)).toBeLessThan(2000);
    expect(site.sender.health()).toEqual({ state: 'ok' });
  });

  it.each([
    [404, { message: 'no open verification' }, 'gone'],
    [410, { message: 'gone' }, 'gone'],
    [400, { field: 'contact_id', message: 'is no contact of this site' }, 'refused'],
    [422, { message: 'not valid' }, 'refused'],
    [409, { message: 'answered' }, 'refused'],
    [200, { action: 'dispatch' }, 'recorded'],
    [200, { data: { action: 'dispatch' } }, 'recorded'],
    [204, undefined, 'recorded'],
  ] as const)('ends with %i %o as %s', async (status, body, state) => {
    const site = await rig();
    const id = await site.asked();
    site.sandbox.plant({ path: answersPath, mode: 'status', status, ...(body !== undefined && { body }) });
    await site.answer(id, 'dispatch');
    await until('its end', () => site.state(id) === state);
    expect(site.heard(id)).toHaveLength(1);
  });

  it.each([
    [500, { message: 'oops' }],
    [503, { message: 'busy' }],
    [429, { message: 'slow down' }],
    [408, {}],
    [302, ''],
    [200, '<html>log in</html>'],
    [404, '<html>log in</html>'],
    [200, { action: 'disregard' }],
  ] as const)('is tried again after %i %o, and is recorded then', async (status, body) => {
    const site = await rig();
    const id = await site.asked();
    site.sandbox.plant({ path: answersPath, mode: 'status', status, body });
    await site.answer(id, 'dispatch');
    await until('it is recorded', () => site.state(id) === 'recorded');
    expect(site.heard(id)).toHaveLength(2);
  });

  it.each([401, 403])(
    'is held while the service does not allow it (%i), and goes on when somebody has mended that',
    async (status) => {
      const site = await rig();
      const id = await site.asked();
      site.sandbox.plant({ path: answersPath, mode: 'status', status, count: -1, body: { message: 'no' } });
      await site.answer(id, 'dispatch');
      await until('it is held', () => site.sender.health().state === 'degraded');
      expect(site.sender.health().reason).toContain(String(status));
      const tries = site.heard(id).length;
      site.sender.wake();
      site.sandbox.clearFaults();
      expect(site.heard(id).length).toBe(tries);
      site.sender.retryNow();
      await until('it is recorded', () => site.state(id) === 'recorded');
    },
  );

  it('whose reply was lost is sent again, and is one', async () => {
    const site = await rig();
    const id = await site.asked();
    site.sandbox.plant({ path: answersPath, mode: 'reset', when: 'after' });
    await site.answer(id, 'disregard');
    await until('it is recorded', () => site.state(id) === 'recorded');
    expect(await site.recorded(id)).toMatchObject({ action: 'disregard' });
  });

  it('waits as long as the service asks, within a minute', async () => {
    const site = await rig();
    const id = await site.asked();
    const headers = { 'retry-after': '20' };
    site.sandbox.plant({ path: answersPath, mode: 'status', status: 503, headers, body: { message: 'busy' } });
    await site.answer(id, 'dispatch');
    await until('the first try', () => site.heard(id).length === 1);
    site.clock.ahead(15_000);
    site.sender.wake();
    await site.answer(await site.asked(), 'dispatch');
    expect(site.heard(id)).toHaveLength(1);
    site.clock.ahead(6000);
    site.sender.wake();
    await until('it is recorded', () => site.state(id) === 'recorded');
  });

  it('given by a clock that is ahead of the service is told by the clock of the service', async () => {
    const site = await rig();
    const id = await site.asked();
    site.clock.ahead(15 * 60_000);
    await site.answer(id, 'dispatch');
    await until('it is recorded', () => site.state(id) === 'recorded');
    expect(site.heard(id)).toEqual(['PATCH 400', 'PATCH 200']);
    const off = Date.parse((await site.recorded(id))?.responded_at ?? '') - Date.now();
    expect(Math.abs(off)).toBeLessThan(30_000);
  });

  it.each(['good', 'duress'] as const)(
    'with the code %s waits behind no pause of the disregard it overrides',
    async (code) => {
      const site = await rig();
      const id = await site.asked();
      const headers = { 'retry-after': '60' };
      site.sandbox.plant({ path: answersPath, mode: 'status', status: 503, headers, body: { message: 'busy' } });
      await site.answer(id, 'disregard');
      await until('the pause', () => site.sender.health().state === 'degraded');
      await site.answer(id, code === 'duress' ? 'disregard' : 'dispatch', code);
      await until('dispatch', async () => (await site.recorded(id))?.action === 'dispatch');
      expect(site.heard(id)).toEqual(['PATCH 503', 'PATCH 200']);
      expect(site.state(id)).toBe(code === 'duress' ? 'waiting' : 'recorded');
    },
  );

  it('leaves when the disregard it overrides is no longer under way, so that it is heard last', async () => {
    const site = await rig();
    const id = await site.asked();
    site.sandbox.plant({ path: answersPath, mode: 'delay', delay_ms: 1500 });
    await site.answer(id, 'disregard');
    await setImmediate();
    await site.answer(id, 'dispatch');
    await until('both', () => site.heard(id).length === 2);
    expect(await site.recorded(id)).toMatchObject({ action: 'dispatch' });
  });

  it('under duress ends as it would without, whatever the service says of dispatch, and no word of that is told', async () => {
    const site = await rig();
    const told = async (status: number, body: object, code: string) => {
      const id = await site.asked();
      site.sandbox.plant({ path: answersPath, mode: 'status', status, body });
      await site.answer(id, 'disregard', code);
      await until('its end', () => !['waiting', 'open'].includes(site.state(id) ?? 'open'));
      const [one] = site.verifications.list().find((seen) => seen.verification_id === id)?.answers ?? [];
      return { action: one?.action, fate: one?.fate, reason: one?.reason };
    };
    const words = (action: string) => ({ message: `action "${action}" is not permitted` });
    const refused = { action: 'disregard', fate: 'refused', reason: '422' };
    expect(await told(422, words('disregard'), 'good')).toEqual(refused);
    expect(await told(422, words('dispatch'), 'duress')).toEqual(refused);
    const contact = { field: 'contact_id', message: 'is no contact' };
    expect(await told(400, contact, 'duress')).toMatchObject({ reason: '400: contact_id' });
    const recorded = { action: 'disregard', fate: 'recorded' };
    expect(await told(200, { action: 'disregard' }, 'duress')).toMatchObject(recorded);
    expect(await told(200, { action: 'dispatch' }, 'duress')).toMatchObject(recorded);
  });

  it('goes by the other call where the dialect says so', async () => {
    const site = await rig({ call: 'response' });
    const id = await site.asked();
    await site.answer(id, 'disregard');
    await until('it is recorded', () => site.state(id) === 'recorded');
    expect(site.heard(id)).toEqual(['POST 200']);
  });

  it('nobody sees is in no number and no health', async () => {
    const site = await rig();
    const id = await site.asked();
    await site.answer(id, 'disregard');
    await until('it is recorded', () => site.state(id) === 'recorded');
    const before = await site.metrics.metrics();
    site.sandbox.plant({ path: answersPath, mode: 'status', status: 503, body: {} });
    expect(await site.answer(id, 'disregard', 'duress')).toMatchObject({ outcome: 'already', final: true });
    await until('the first try', () => site.heard(id).length === 2);
    expect(site.sender.health()).toEqual({ state: 'ok' });
    await until('dispatch', async () => (await site.recorded(id))?.action === 'dispatch');
    expect(await site.metrics.metrics()).toBe(before);
  });

  it('does not hold up a stop, though the service never answers', async () => {
    const site = await rig();
    const id = await site.asked();
    site.sandbox.plant({ path: answersPath, mode: 'hang' });
    await site.answer(id, 'dispatch');
    await site.sender.stop();
    expect(site.state(id)).toBe('waiting');
  });
});
