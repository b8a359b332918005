import { randomUUID } from 'node:crypto';
import { connectAsync, type MqttClient } from 'mqtt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { siteward } from '../cli/run-cli.ts';
import { codes, contact, passwords, startVerificationSite, type VerificationSite } from './rig.ts';

/** Bad input at the door of the partner platform, over both brokers, and by the command line. */
describe.each(['embedded', 'mosquitto'] as const)('in/verification on the %s broker', (broker) => {
  let site: VerificationSite;
  let platform: MqttClient;
  const replies: { id: string | null; outcome: string; error?: { code: string; field?: string } }[] = [];
  beforeAll(async () => {
    site = await startVerificationSite({ broker });
    platform = await connectAsync(site.mqttUrl, {
      clientId: 'platform-1b',
      protocolVersion: 4,
      ...(broker === 'embedded' && { username: 'platform-1', password: passwords.platform }),
    });
    platform.on('message', (_, payload) => replies.push(JSON.parse(payload.toString())));
    await platform.subscribeAsync(`${site.root}/reply/platform-1/#`, { qos: 1 });
  }, 60_000);
  afterAll(async () => {
    await platform?.endAsync(true);
    await site?.close();
  });

  const publish = (payload: string | Buffer, retain = false) =>
    platform.publishAsync(`${site.root}/in/verification`, payload, { qos: 1, retain });
  const reply_to = () => `${site.root}/reply/platform-1/${randomUUID()}`;
  const body = (more: object = {}) =>
    JSON.stringify({ verification_id: randomUUID(), contact_id: contact, reply_to: reply_to(), ...more });

  test('what cannot be read is refused or dropped, and the daemon goes on', async () => {
    const before = replies.length;
    await publish('no JSON');
    await publish(Buffer.from([0xff, 0xfe, 0x00]));
    await publish('[]');
    await publish('null');
    await publish('x'.repeat(20_000));
    await publish(body({ contact_id: 2 ** 60 }));
    await publish(body({ event_id: 'a b' }));
    await publish(body({ expires_at: 'tomorrow' }));
    await publish(body({ expires_at: '2026-99-99T00:00:00Z' }));
    await publish(body({ verification_id: 7 }));
    await publish(body({ code: codes.anna }));
    // An embedded broker knows who published, so what cannot be read is answered too.
    const fields = () => replies.slice(before).flatMap(({ error }) => error?.field ?? []);
    await eventually('the refusals', () => (fields().length >= 6 ? true : undefined));
    expect(fields()).toEqual(['contact_id', 'event_id', 'expires_at', 'expires_at', 'verification_id', 'code']);
    expect(JSON.stringify(replies)).not.toContain(codes.anna);
    expect(await site.list()).toEqual([]);
  });

  test('a retained request is refused on mosquitto and cleared; the embedded broker takes the flag off', async () => {
    const before = replies.length;
    await publish(body(), true);
    await eventually('the reply', () => replies.slice(before)[0]);
    // A retained message reaches a live subscriber without its flag: it is taken once, and never again.
    const later = await connectAsync(site.mqttUrl, { clientId: `late-${randomUUID()}`, protocolVersion: 4 });
    const seen: string[] = [];
    later.on('message', (topic) => seen.push(topic));
    await later.subscribeAsync(`${site.root}/verification/#`, { qos: 1 });
    await site.daemon.restart();
    await site.lan.shows('status', 'online', 30_000);
    await later.endAsync(true);
    if (broker === 'mosquitto') {
      const last = await eventually('the refusal', () =>
        replies.slice(before).find(({ error }) => error?.code === 'RETAINED'),
      );
      expect(last.outcome).toBe('refused');
    }
    expect(await site.list()).toHaveLength(1);
  });

  test('a flood is bounded: 32 are open, the rest is told so, and what was open stays', {
    timeout: 60_000,
  }, async () => {
    const before = replies.length;
    for (let n = 0; n < 60; n += 1) {
      await publish(body());
      // Within the rate of a client, so that the cap of open ones is met.
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    await eventually('all replies', () => (replies.length - before >= 60 ? true : undefined), { timeoutMs: 30_000 });
    const told = replies.slice(before).map(({ outcome, error }) => error?.code ?? outcome);
    expect(told.filter((one) => one === 'done')).toHaveLength(31);
    expect(new Set(told)).toEqual(new Set(['done', 'BUSY']));
    expect(await site.list()).toHaveLength(32);
    const rush = Array.from({ length: 200 }, () => publish(body()));
    await Promise.all(rush);
    await eventually('the rate', () => replies.some(({ error }) => error?.code === 'RATE_LIMITED') || undefined);
    expect(await site.list()).toHaveLength(32);
  });
});

describe('siteward verification', () => {
  let site: VerificationSite;
  beforeAll(async () => {
    site = await startVerificationSite({ broker: 'embedded' });
  }, 60_000);
  afterAll(() => site?.close());

  test('adds, lists, shows; says what is wrong and what to do', { timeout: 60_000 }, async () => {
    // Before the first read of the contacts nobody is sure of one.
    await eventually('the contacts', async () => {
      const { contacts } = (await site.api('/api/v1/cloud/site')) as { contacts: { count: number } };
      return contacts.count > 0 ? true : undefined;
    });
    const id = await site.requested();
    expect(await site.cli(['add', id, '--contact', '7', '--in', '5m'])).toMatchObject({ code: 0, err: '' });
    const again = await site.cli(['add', id, '--contact', '8', '--in', '5m']);
    expect(again).toMatchObject({ code: 65 });
    expect(again.err).toMatch(/another request is known under this id.*\(verification_refused\)/);
    const same = await site.cli(['add', id, '--contact', '7', '--in', '5m']);
    expect(same).toMatchObject({ code: 0, out: expect.stringContaining('known already; to be answered until') });
    expect((await site.cli(['list', '--open'])).out).toMatch(new RegExp(`^${id}  OPEN .*left`));
    expect((await site.cli(['show', id])).out).toContain('deadline');
    expect((await siteward(['status', '--socket', site.socket])).out).toContain('siteward verification list --open');
    expect(JSON.parse((await site.cli(['list', '--json'])).out)).toMatchObject({ verification_id: id, state: 'open' });
    const unknown = await site.cli(['show', randomUUID()]);
    expect([unknown.code, unknown.err.includes('verification list')]).toEqual([66, true]);
    expect((await site.cli(['answer', id, 'perhaps'])).code).toBe(2);
    expect((await site.cli(['answer', id, 'dispatch'])).err).toContain('--code-stdin');
    const typed = await site.cli(['answer', id, 'dispatch', '--code', codes.anna]);
    expect([typed.code, typed.err.includes(codes.anna)]).toEqual([2, false]);
    expect((await site.cli(['add', 'v1', '--contact', '7'])).code).toBe(2);
  });
});
