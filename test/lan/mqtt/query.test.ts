import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeSite, fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import { createLog } from '../../../src/lib/log.ts';
import { redactor } from '../../../src/lib/secret.ts';
import { type Answered, bench, brokers, event } from './bench.ts';
import { commandId, now, type Running, root, startLan, until, type Watcher, watch } from './harness.ts';
import { type Stand, stands } from './stands.ts';

const past = () => new Date(Date.now() - 1000).toISOString();

for (const [name, start, missing] of stands) {
  describe.skipIf(missing)(`what a role is told when it asks, on ${name}`, () => {
    let stand: Stand;
    let site: FakeSite;
    let running: Running;
    let clients: Watcher[] = [];

    beforeEach(async () => {
      stand = await start();
      site = fakeSite();
      running = await startLan(stand.broker, site);
    });
    afterEach(async () => {
      for (const { client } of clients) await client.endAsync(true);
      clients = [];
      await running.lan.stop();
      await stand.stop();
    });

    async function asks(id: string) {
      const watcher = await watch(stand.url, stand.login(id), [`${root}/reply/${id}/#`]);
      clients.push(watcher);
      return async (what: string, limit?: number): Promise<Pick<Answered, 'outcome' | 'error' | 'data'>> => {
        const query = { id: commandId(), issued_at: now(), reply_to: `${root}/reply/${id}/q`, what };
        const body = JSON.stringify({ ...query, ...(limit !== undefined && { limit }) });
        await watcher.client.publishAsync(`${root}/cmd/query`, body, { qos: 1 });
        const mine = () => watcher.json(`reply/${id}/q`).find((reply) => reply.id === query.id);
        return (await until(mine, 'an answer')) as unknown as Answered;
      };
    }

    it('is what it may read in topics, where the broker tells who asks', async () => {
      const tells = stand.kind === 'embedded';
      const arming = (n: number) => event({ class: 'arming', kind: 'closing', event_id: `a${n}` });
      site.history.push(event({ event_id: 'x1' }), arming(1), event({ event_id: 'x2' }), arming(2), arming(3));
      const keypad = await asks('kp1');
      const ids = async (limit?: number) => (await keypad('history', limit)).data.events?.map((row) => row.event_id);
      expect(await ids()).toEqual(tells ? ['a1', 'a2', 'a3'] : ['x1', 'a1', 'x2', 'a2', 'a3']);
      expect(await ids(2)).toEqual(tells ? ['a1', 'a2'] : ['x1', 'a1']);
      const forbidden = tells ? { outcome: 'refused', error: { code: 'FORBIDDEN' } } : { outcome: 'done' };
      site.setPlan({ speakers: ['gate'] });
      for (const what of ['troubles', 'verifications', 'audio']) expect(await keypad(what)).toMatchObject(forbidden);
      for (const what of ['partitions', 'zones', 'info']) expect(await keypad(what)).toMatchObject({ outcome: 'done' });

      const technician = await asks('tech');
      expect(await technician('history')).toMatchObject(forbidden);
      for (const what of ['troubles', 'verifications', 'audio', 'zones'])
        expect(await technician(what)).toMatchObject({ outcome: 'done' });
    });
  });
}

describe.each(brokers.filter(([, , missing]) => !missing))('on %s', (_, startBroker) => {
  const on = bench(startBroker);

  it.each([['ping', {}] as const, ['query', { what: 'info' }] as const])(
    'an expired %s is answered so, unless the clock is in doubt',
    async (verb, about) => {
      await on.start();
      const watcher = await on.observe();
      const ask = async (expires_at: string) => {
        const body = { id: commandId(), issued_at: past(), expires_at, ...about };
        await on.send(watcher, verb, body);
        return on.final(watcher, body.id);
      };
      expect(await ask(past())).toMatchObject({ outcome: 'expired', error: { code: 'EXPIRED' } });
      expect(await ask(new Date(Date.now() + 60_000).toISOString())).toMatchObject({ outcome: 'done' });
      const view = on.site.view();
      on.site.view = () => ({ ...view, clock: 'doubtful' });
      expect(await ask(past())).toMatchObject({ outcome: 'done' });
    },
  );

  it('the log says why a command was refused, and nothing of what was in it', async () => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    await on.start({ log: createLog({ level: 'debug', redactor: redactor(), destination }) });
    const watcher = await on.observe();
    const body = on.body({ code: 48_270_391, actor: 'kitchen keypad' });
    await on.send(watcher, 'disarm', body);
    await on.final(watcher, body.id);
    const line = lines.find((text) => text.includes('MQTT command refused')) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({ verb: 'any', reply_code: 'SCHEMA', field: 'code' });
    expect(lines.join('')).not.toMatch(/48270391|kitchen/);
  });
});
