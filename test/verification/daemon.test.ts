import { randomUUID } from 'node:crypto';
import { connectAsync } from 'mqtt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { codes, contact, passwords, startVerificationSite, type VerificationSite } from './rig.ts';

/** Over a real broker, a real cloud and a real daemon. */
describe.each(['embedded', 'mosquitto'] as const)('an alarm verification over %s', (broker) => {
  let site: VerificationSite;
  beforeAll(async () => {
    site = await startVerificationSite({ broker });
  }, 60_000);
  afterAll(() => site?.close());

  const asked = async () => {
    const id = await site.requested();
    await site.handOn({ verification_id: id, contact_id: contact });
    return id;
  };

  test('is shown to operators with its deadline, answered with a code, recorded by the service and cleared', async () => {
    const id = await site.requested();
    const expires_at = new Date(Date.now() + 290_000).toISOString();
    const reply = await site.handOn({ verification_id: id, contact_id: contact, expires_at });
    expect(reply).toMatchObject({ outcome: 'done', final: true, data: { verification: { state: 'open' } } });
    const topic = `verification/${id}`;
    const shown = await eventually('the topic', () => site.lan.retained(topic));
    expect(JSON.parse(shown)).toMatchObject({ verification_id: id, state: 'open', contact_id: contact });
    expect(JSON.parse(shown).expires_at).toBe(expires_at);
    const query = await site.lan.ask('query', { what: 'verifications' });
    expect(query).toMatchObject({ outcome: 'done', data: { verifications: [{ verification_id: id }] } });

    const pressed = new Date().toISOString();
    const replies = await site.verify({
      verification_id: id,
      action: 'disregard',
      contact_id: contact,
      code: codes.anna,
      responded_at: pressed,
    });
    expect(replies.at(-1)).toMatchObject({ outcome: 'done', data: { verification: { state: 'recorded' } } });
    expect(await site.recorded(id)).toEqual({ contact_id: contact, action: 'disregard', responded_at: pressed });
    await site.lan.shows(topic, '');
    expect(JSON.stringify(await site.list())).toContain('"by":"anna"');
  });

  test('dispatch overrides disregard, never the reverse', async () => {
    const id = await asked();
    const give = async (action: string) =>
      (await site.verify({ verification_id: id, action, code: codes.anna })).at(-1);
    expect(await give('disregard')).toMatchObject({ outcome: 'done' });
    expect(await give('disregard')).toMatchObject({ outcome: 'already' });
    expect(await give('dispatch')).toMatchObject({ outcome: 'done' });
    expect(await give('disregard')).toMatchObject({ outcome: 'refused', error: { code: 'ALREADY_ANSWERED' } });
    expect(await site.recorded(id)).toMatchObject({ action: 'dispatch' });
    expect(await site.heard(id)).toEqual(['PATCH 200', 'PATCH 200']);
  });

  test('a request that is wrong is refused with the member, and nothing of it is kept', async () => {
    const before = await site.list();
    const id = randomUUID();
    const wrong = async (body: Readonly<Record<string, unknown>>) => (await site.handOn(body)).error;
    expect(await wrong({ contact_id: contact })).toEqual({ code: 'SCHEMA', field: 'verification_id' });
    expect(await wrong({ verification_id: id })).toEqual({ code: 'SCHEMA', field: 'contact_id' });
    expect(await wrong({ verification_id: 'v1', contact_id: 1 })).toEqual({ code: 'SCHEMA', field: 'verification_id' });
    expect(await wrong({ verification_id: id, contact_id: '1' })).toEqual({ code: 'SCHEMA', field: 'contact_id' });
    expect(await wrong({ verification_id: id, contact_id: 1, colour: 'red' })).toEqual({
      code: 'SCHEMA',
      field: 'colour',
    });
    const past = new Date(Date.now() - 60_000).toISOString();
    expect(await wrong({ verification_id: id, contact_id: contact, expires_at: past })).toMatchObject({
      code: 'EXPIRED',
    });
    expect(await site.list()).toEqual(before);
  });

  test('the same request twice is one; another under its id is refused', async () => {
    const id = await asked();
    expect(await site.handOn({ verification_id: id, contact_id: contact })).toMatchObject({ outcome: 'already' });
    expect(await site.handOn({ verification_id: id, contact_id: 8 })).toMatchObject({ error: { code: 'ID_CONFLICT' } });
    expect((await site.list()).filter((one) => one.verification_id === id)).toHaveLength(1);
  });

  test('an answer to what the service knows no more is too late for good, and everybody can see it', async () => {
    const id = randomUUID();
    await site.handOn({ verification_id: id, contact_id: contact });
    const replies = await site.verify({ verification_id: id, action: 'dispatch', code: codes.anna });
    expect(replies.at(-1)).toMatchObject({ outcome: 'failed', error: { code: 'VERIFICATION_GONE' } });
    expect(await site.state(id)).toBe('gone');
    expect((await site.cli(['list'])).out).toContain('TOO LATE');
    const again = await site.verify({ verification_id: id, action: 'dispatch', code: codes.anna });
    expect(again).toMatchObject([{ outcome: 'refused', error: { code: 'VERIFICATION_GONE' } }]);
    expect(await site.heard(id)).toEqual(['PATCH 404']);
  });

  test('without a code, or with a wrong one, nobody answers; another contact than the own is refused', async () => {
    const id = await asked();
    const give = async (more: object) =>
      (await site.verify({ verification_id: id, action: 'disregard', ...more })).at(-1)?.error;
    expect(await give({})).toEqual({ code: 'CODE_REQUIRED', field: 'code' });
    expect(await give({ code: codes.wrong })).toMatchObject({ code: 'BAD_CODE' });
    expect(await give({ code: codes.anna, contact_id: 8 })).toEqual({ code: 'FORBIDDEN', field: 'contact_id' });
    expect(await site.state(id)).toBe('open');
    expect(await site.heard(id)).toEqual([]);
  });

  test('one that nobody answers expires at its deadline, and cannot be answered any more', async () => {
    const id = await site.requested();
    const expires_at = new Date(Date.now() + 1500).toISOString();
    await site.handOn({ verification_id: id, contact_id: contact, expires_at });
    await eventually('the end', async () => ((await site.state(id)) === 'expired' ? true : undefined));
    await site.lan.shows(`verification/${id}`, '');
    const late = await site.verify({ verification_id: id, action: 'disregard', code: codes.anna });
    expect(late).toMatchObject([{ outcome: 'expired', error: { code: 'EXPIRED' } }]);
  });

  test('the account of a guard answers without a code where its name is proven', async () => {
    const id = await asked();
    const guard = await connectAsync(site.mqttUrl, {
      clientId: 'guard-1',
      protocolVersion: 4,
      ...(broker === 'embedded' && { username: 'guard-1', password: passwords.guard }),
    });
    const told: { outcome: string; final: boolean; error?: { code: string } }[] = [];
    guard.on('message', (topic, payload) => {
      if (topic.includes('/reply/')) told.push(JSON.parse(payload.toString()));
    });
    await guard.subscribeAsync(`${site.root}/reply/guard-1/#`, { qos: 1 });
    const body = { id: randomUUID(), issued_at: new Date().toISOString(), verification_id: id, action: 'dispatch' };
    await guard.publishAsync(
      `${site.root}/cmd/verify`,
      JSON.stringify({ ...body, reply_to: `${site.root}/reply/guard-1/1` }),
      { qos: 1 },
    );
    const last = await eventually('the reply', () => told.find(({ final }) => final));
    await guard.endAsync();
    if (broker === 'embedded') {
      expect(last).toMatchObject({ outcome: 'done' });
      expect(await site.recorded(id)).toMatchObject({ action: 'dispatch', contact_id: contact });
      expect((await site.list()).find((one) => one.verification_id === id)?.answers).toMatchObject([{ by: 'guard-1' }]);
    } else expect(last).toMatchObject({ error: { code: 'CODE_REQUIRED' } });
  });
});
