import { describe, expect, it } from 'vitest';
import { SitewardError } from '#errors.ts';
import * as schemas from '../../../src/lan/mqtt/schemas.ts';
import { fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { bench, brokers, event } from './bench.ts';
import { commandId, mosquittoPath, now, root, startEmbedded, startMosquitto, until } from './harness.ts';

for (const [name, startBroker, missing] of brokers) {
  describe.skipIf(missing)(`commands to a site on ${name}`, () => {
    const on = bench(startBroker);

    it('obeys arm and disarm in two phases and tells it to all', async () => {
      await on.start();
      const watcher = await on.observe();
      const arm = on.body({ mode: 'away', correlation: 'c1', bypass: ['2'], reply_to: `${root}/reply/kp1/a` });
      await on.send(watcher, 'arm', arm);
      expect(await on.final(watcher, arm.id)).toMatchObject({
        outcome: 'done',
        state: 'armed_away',
        correlation: 'c1',
      });
      const phases = on.replies(watcher, arm.id);
      expect(phases.map((reply) => [reply.topic, reply.outcome, reply.final])).toEqual([
        ['kp1/a', 'accepted', false],
        ['kp1/a', 'done', true],
      ]);
      for (const { topic: _, ...reply } of phases) expect(schemas.reply.safeParse(reply).error).toBeUndefined();
      await until(() => watcher.texts('partition/p1/state').at(-1) === 'armed_away', 'armed');
      const disarm = on.body({ code: '48270391' });
      await on.send(watcher, 'disarm', disarm);
      expect(await on.final(watcher, disarm.id)).toMatchObject({ outcome: 'done', state: 'disarmed' });
      expect(on.site.submitted).toMatchObject([
        { verb: 'arm', mode: 'away', code: 'none', source: 'lan', bypass: ['2'], issuedAt: Date.parse(arm.issued_at) },
        { verb: 'disarm', code: 'ok', actor: 'user 3' },
      ]);
    });

    it('names the partitions a command for all did not reach, and why, however many there are', async () => {
      await on.start();
      const watcher = await on.observe();
      const arm = async () => {
        const asked = { ...on.body({ mode: 'away' }), partition: 'all' };
        await on.send(watcher, 'arm', asked);
        const { topic: __, ...reply } = await on.final(watcher, asked.id);
        return schemas.reply.parse(reply);
      };
      on.site.undone = [{ partition: 'p2', code: 'NOT_READY', zones: ['2', '3'] }];
      expect(await arm()).toMatchObject({ outcome: 'failed', partition: 'all', data: { undone: on.site.undone } });

      const zones = Array.from({ length: 64 }, (_, n) => `10${n}`);
      on.site.undone = Array.from({ length: 200 }, (_, n) => ({ partition: `p${n + 1}`, code: 'NOT_READY', zones }));
      const { data = {} } = await arm();
      const undone = (data.undone ?? []) as unknown[];
      expect(data.truncated).toBe(true);
      expect(undone.length).toBeGreaterThan(16);
      expect(undone).toEqual(on.site.undone.slice(0, undone.length).map(({ zones: _, ...one }) => one));
    });

    it('who gives a command only a code says, whatever name the client writes', async () => {
      await on.start();
      const watcher = await on.observe();
      const uncoded = on.body({ mode: 'away', actor: 'chief' });
      await on.send(watcher, 'arm', uncoded);
      await on.final(watcher, uncoded.id);
      const coded = on.body({ code: '48270391', actor: 'chief' });
      await on.send(watcher, 'disarm', coded);
      await on.final(watcher, coded.id);
      expect(on.site.submitted).toMatchObject([{ verb: 'arm' }, { verb: 'disarm', actor: 'user 3' }]);
      expect(on.site.submitted[0]).not.toHaveProperty('actor');
      expect(JSON.stringify(on.site.submitted)).not.toContain('chief');
    });

    it('hands on bypass, clear_memory and test, whose `on: false` is another verb', async () => {
      await on.start();
      const watcher = await on.observe();
      const { partition: _, ...zone } = on.body({
        zone: '2',
        on: true,
        minutes: 30,
        reason: 'delivery',
        code: '48270391',
      });
      await on.send(watcher, 'bypass', zone);
      await on.final(watcher, zone.id);
      const back = { ...zone, id: commandId(), on: false };
      await on.send(watcher, 'bypass', back);
      await on.final(watcher, back.id);
      for (const [verb, more] of [
        ['clear_memory', {}],
        ['test', { on: true, minutes: 20, zones: ['1'] }],
        ['test', { on: false }],
      ] as const) {
        const body = on.body(more);
        await on.send(watcher, verb, body);
        await on.final(watcher, body.id);
      }
      expect(on.site.submitted).toMatchObject([
        { verb: 'bypass', zone: '2', minutes: 30, reason: 'delivery', code: 'ok', source: 'lan' },
        { verb: 'unbypass', zone: '2' },
        { verb: 'clear_memory', partition: 'p1' },
        { verb: 'test', partition: 'p1', minutes: 20, zones: ['1'] },
        { verb: 'end_test', partition: 'p1' },
      ]);
    });

    it('answers a ping, and hands on silence', async () => {
      await on.start();
      const watcher = await on.observe();
      const { partition: _, ...ping } = on.body({ issued_at: '2020-01-01T00:00:00Z', code: '48270391' });
      await on.send(watcher, 'ping', ping);
      const { data, outcome } = await on.final(watcher, ping.id);
      const role = on.broker.kind === 'embedded' ? { role: 'local' } : {};
      expect({ data, outcome }).toEqual({
        outcome: 'done',
        data: { boot_id: '3f2b6c1e-8a4d-4c55-9b1e-0d6f7a2c9e10', epoch: 1, ...role },
      });
      expect([on.site.submitted, on.site.checked]).toEqual([[], []]);
      const quiet = on.body({ code: '48270391' });
      await on.send(watcher, 'silence', quiet);
      await on.final(watcher, quiet.id);
      expect(on.site.submitted).toMatchObject([{ verb: 'silence', partition: 'p1', code: 'ok', actor: 'user 3' }]);
    });

    it('hands on a postponement without its code, and refuses one that is not of whole minutes', async () => {
      await on.start();
      const watcher = await on.observe();
      const { partition: _, ...wish } = on.body({ schedule: 'night', minutes: 30, code: '48270391' });
      await on.send(watcher, 'postpone', wish);
      await on.final(watcher, wish.id);
      const bad = { ...wish, id: commandId(), minutes: 0.5 };
      await on.send(watcher, 'postpone', bad);
      expect(await on.final(watcher, bad.id)).toMatchObject({ error: { code: 'SCHEMA', field: 'minutes' } });
      expect(on.site.submitted).toMatchObject([
        { verb: 'postpone', partition: 'all', schedule: 'night', minutes: 30, code: 'ok', actor: 'user 3' },
      ]);
      expect(JSON.stringify(on.site.submitted)).not.toContain('48270391');
    });

    it('answers a refusal with its reason and shows the state again', async () => {
      await on.start();
      const watcher = await on.observe();
      await until(() => watcher.texts('partition/p1/state').length === 1, 'the state');
      on.site.refusal = { code: 'NOT_READY', zones: ['2'] };
      const arm = on.body({ mode: 'away' });
      await on.send(watcher, 'arm', arm);
      expect(await on.final(watcher, arm.id)).toMatchObject({
        outcome: 'refused',
        error: { code: 'NOT_READY', zones: ['2'] },
      });
      await until(() => watcher.texts('partition/p1/state').length === 2, 'the state again');
      expect(watcher.texts('partition/p1/state')).toEqual(['disarmed', 'disarmed']);
    });

    it('passes on what a code says of a person, and nothing about why it does not count', async () => {
      const verdicts = [
        { code: 'ok', actor: 'tim', role: 'installer' },
        { code: 'bad', refused: { why: 'expired', user: 'ben' } },
      ] as const;
      let next = 0;
      await on.start({ site: { ...on.site, checkCode: async () => verdicts[next++] ?? { code: 'none' } } });
      const watcher = await on.observe();
      for (const code of ['48270391', '48270393']) {
        const disarm = on.body({ code });
        await on.send(watcher, 'disarm', disarm);
        await on.final(watcher, disarm.id);
      }
      expect(on.site.submitted).toMatchObject([{ code: 'ok', actor: 'tim', role: 'installer' }, { code: 'bad' }]);
      const shown = watcher.packets.map(({ payload }) => payload.toString()).join('\n');
      expect(shown).toContain('"final":true');
      expect(JSON.stringify(on.site.submitted) + shown).not.toMatch(/expired|\bben\b/);
    });

    it('is busy while too many codes wait to be checked', async () => {
      const checkCode = async () => {
        throw new SitewardError('queue_full', 'too many codes wait');
      };
      const { lines } = await on.start({ site: { ...on.site, checkCode } });
      const watcher = await on.observe();
      const disarm = on.body({ code: '48270391' });
      await on.send(watcher, 'disarm', disarm);
      expect(await on.final(watcher, disarm.id)).toMatchObject({
        outcome: 'refused',
        error: { code: 'BUSY', retry_after_s: 1 },
      });
      expect(lines.filter((line) => line.includes('failed inside'))).toEqual([]);
      expect(on.site.submitted).toEqual([]);
    });

    it('passes a repeated command on under the same hash, and another under the same id with another', async () => {
      await on.start();
      const watcher = await on.observe();
      const arm = on.body({ mode: 'away' });
      await on.send(watcher, 'arm', { ...arm, code: '48270391' });
      await on.send(watcher, 'arm', arm);
      await on.send(watcher, 'arm', { ...arm, mode: 'home' });
      await until(() => on.site.submitted.length === 3, 'three commands');
      const hashes = on.site.submitted.map((command) => command.bodyHash);
      expect(hashes[1]).toBe(hashes[0]);
      expect(hashes[2]).not.toBe(hashes[0]);
    });

    it('obeys once after several reconnections', async () => {
      await on.start();
      for (let round = 0; round < 2; round += 1) {
        await on.broker.halt();
        await until(() => /ECONNREFUSED|was stopped/.test(on.health.reason ?? ''), 'nobody answers');
        await on.broker.restart();
        await until(() => on.health.state === 'ok', 'siteward is back', 20_000);
      }
      const watcher = await on.observe();
      const arm = on.body({ mode: 'away' });
      await on.send(watcher, 'arm', arm);
      await on.final(watcher, arm.id);
      expect(on.site.submitted.length).toBe(1);
      expect(on.replies(watcher, arm.id).filter((reply) => reply.final).length).toBe(1);
    });

    it('answers queries from the view and changes nothing', async () => {
      on.renew(fakeSite({ zones: 100 }));
      await on.start();
      const watcher = await on.observe();
      const ask = async (what: string, change = {}) => {
        const query = { id: commandId(), issued_at: now(), what, ...change };
        await on.send(watcher, 'query', query);
        return on.final(watcher, query.id);
      };
      on.site.history.push(event({ kind: 'duress', event_type: 'duress' }), event());
      expect((await ask('partitions')).data.partitions).toMatchObject([{ partition: 'p1' }, { partition: 'p2' }]);
      const zones = await ask('zones');
      expect(zones.data).toMatchObject({ truncated: true, total: 100 });
      expect(zones.data.zones?.length).toBeGreaterThan(10);
      expect(Math.max(...watcher.packets.map((packet) => packet.payload.length))).toBeLessThanOrEqual(4096);
      expect((await ask('zones', { limit: 2 })).data.zones?.length).toBe(2);
      expect((await ask('troubles')).data).toEqual({ items: [] });
      expect(schemas.info.safeParse((await ask('info')).data.info).error).toBeUndefined();
      expect((await ask('history')).data.events?.map((row) => row.kind)).toEqual(['burglary']);
      expect((await ask('audio')).error).toEqual({ code: 'NOT_CONFIGURED' });
      expect((await ask('verifications')).data).toEqual({ verifications: [] });
      expect(on.site.submitted).toEqual([]);
    });

    it('answers what is malformed where it can, counts it always, and obeys the next command', async () => {
      const { metrics } = await on.start();
      const watcher = await on.observe();
      await on.send(watcher, 'arm', Buffer.from('ffd8ffe000', 'hex'));
      await on.send(watcher, 'arm', 'ARM_AWAY');
      await on.send(watcher, 'disarm', '');
      await on.send(watcher, 'arm', JSON.stringify(on.body({ mode: 'away', actor: 'x'.repeat(20_000) })));
      const zeros = commandId();
      await on.send(watcher, 'disarm', `{"id":"${zeros}","issued_at":"${now()}","partition":"p1","code":0012}`);
      expect((await on.final(watcher, zeros)).error).toEqual({ code: 'BAD_JSON' });
      const cases = [
        [on.body({ code: 1234 }), { code: 'SCHEMA', field: 'code' }],
        [on.body({ partition: 7 }), { code: 'SCHEMA', field: 'partition' }],
        [on.body({ expected: { a: { a: { a: { a: { a: { a: 1 } } } } } } }), { code: 'TOO_LARGE', field: 'expected' }],
        [on.body({ actor: 'x'.repeat(2000) }), { code: 'TOO_LARGE', field: 'actor' }],
      ] as const;
      for (const [bad, error] of cases) {
        await on.send(watcher, 'disarm', bad);
        expect((await on.final(watcher, bad.id)).error).toEqual(error);
      }
      const unknown = on.body();
      await on.send(watcher, 'explode', unknown);
      expect((await on.final(watcher, unknown.id)).error).toEqual({ code: 'UNKNOWN_VERB' });
      const arm = on.body({ mode: 'away' });
      await on.send(watcher, 'arm', arm);
      expect((await on.final(watcher, arm.id)).outcome).toBe('done');
      expect(on.site.submitted.length).toBe(1);
      const text = await metrics.metrics();
      expect(text).toContain('siteward_mqtt_commands_total{verb="any",result="NOT_UTF8"} 1');
      expect(text).toContain('siteward_mqtt_commands_total{verb="any",result="TOO_LARGE"} 3');
    });

    it('outlives a message of a megabyte', async () => {
      await on.start();
      const flooder = await on.observe({ reconnectPeriod: 0 }, []);
      const huge = JSON.stringify(on.body({ mode: 'away', actor: 'x'.repeat(1024 * 1024) }));
      flooder.client.publish(`${root}/cmd/arm`, huge, { qos: 1 });
      const watcher = await on.observe();
      const arm = on.body({ mode: 'away' });
      await on.send(watcher, 'arm', arm);
      expect((await on.final(watcher, arm.id)).outcome).toBe('done');
      expect(on.site.submitted.length).toBe(1);
    });

    it('publishes answers only below reply/, and says so', async () => {
      await on.start();
      const watcher = await on.observe();
      const targets = [
        `${root}/cmd/disarm`,
        'zigbee2mqtt/lock/set',
        `${root}/reply`,
        `${root}/reply/kp1`,
        `${root}/status`,
      ];
      for (const reply_to of [...targets, `${root}/reply/../cmd/disarm`, `${root}/reply//x`]) {
        const arm = on.body({ mode: 'away', reply_to });
        await on.send(watcher, 'arm', arm);
        expect((await on.final(watcher, arm.id)).error).toEqual({ code: 'BAD_REPLY_TOPIC' });
      }
      expect(on.site.submitted).toEqual([]);
      expect(watcher.texts('status')).toEqual(['online']);
    });

    it('limits each sender and answers a flood with a trickle', async () => {
      await on.start();
      const watcher = await on.observe({ clientId: 'hasty' });
      const query = () => ({ id: commandId(), issued_at: now(), what: 'troubles', reply_to: `${root}/reply/hasty/1` });
      await Promise.all(Array.from({ length: 200 }, () => on.send(watcher, 'query', query())));
      const other = await on.observe({ clientId: 'calm' });
      const calm = { ...query(), reply_to: `${root}/reply/calm/1` };
      await on.send(other, 'query', calm);
      expect((await on.final(other, calm.id)).outcome).toBe('done');
      const errors = watcher.packets.filter((packet) => packet.payload.toString().includes('RATE_LIMITED'));
      expect(errors.length).toBeGreaterThan(0);
      expect(errors.length).toBeLessThan(20);
    });

    it('safety 1: hears a duress code and a good one in a flood of the same client, which has no turn of theirs', async () => {
      await on.start();
      const watcher = await on.observe({ clientId: 'hasty' });
      const reply_to = `${root}/reply/hasty/1`;
      const flood = (count: number, more = {}) =>
        Array.from({ length: count }, () => ({
          id: commandId(),
          issued_at: now(),
          what: 'troubles',
          reply_to,
          ...more,
        }));
      const [help, good] = [on.body({ code: '48270392', reply_to }), on.body({ code: '48270391', reply_to })];
      const sent = [...flood(300), ...flood(100, { code: '48270393' })].map((query) =>
        on.send(watcher, 'query', query),
      );
      sent.push(on.send(watcher, 'disarm', help), on.send(watcher, 'disarm', good));
      await Promise.all(sent);
      expect((await on.final(watcher, help.id)).outcome).toBe('done');
      expect((await on.final(watcher, good.id)).outcome).toBe('done');
      expect(on.site.submitted.map((command) => command.code)).toEqual(['duress', 'ok']);
      expect(watcher.packets.some((packet) => packet.payload.toString().includes('RATE_LIMITED'))).toBe(true);
    });

    it('bounds commands with a code too', async () => {
      await on.start();
      const watcher = await on.observe({ clientId: 'hasty' });
      const reply_to = `${root}/reply/hasty/1`;
      await Promise.all(
        Array.from({ length: 200 }, () => on.send(watcher, 'disarm', on.body({ code: '48270393', reply_to }))),
      );
      const limited = () => watcher.packets.some((packet) => packet.payload.toString().includes('RATE_LIMITED'));
      await until(limited, 'a refusal');
    });

    it.each([9, 70, 250, 1000])(
      'answers a command of %i kB as too large, and takes a call for help of that size',
      async (kB) => {
        await on.start();
        const watcher = await on.observe();
        const pad = 'x'.repeat(kB * 1000);
        // The embedded broker cuts who sends more than 256 KiB.
        if (on.broker.kind === 'embedded' && kB > 256) return;
        const disarm = { ...on.body({ code: '48270391' }), pad };
        await on.send(watcher, 'disarm', disarm);
        expect(await on.final(watcher, disarm.id)).toMatchObject({ outcome: 'refused', error: { code: 'TOO_LARGE' } });
        const help = { ...on.body({ kind: 'audible' }), pad };
        await on.send(watcher, 'panic', help);
        expect(await on.final(watcher, help.id)).toMatchObject({ outcome: 'done' });
      },
    );

    it('refuses a retained command and clears it from the broker', async () => {
      const watcher = await on.observe();
      const arm = on.body({ mode: 'away' });
      await on.send(watcher, 'arm', arm, true);
      await on.start();
      if (on.broker.kind === 'mosquitto') expect((await on.final(watcher, arm.id)).error).toEqual({ code: 'RETAINED' });
      const late = on.body({ mode: 'home' });
      await on.send(watcher, 'arm', late);
      await on.final(watcher, late.id);
      expect(on.site.submitted.map((command) => command.id)).toEqual([late.id]);
      await on.stop();
      on.renew(fakeSite());
      await on.start();
      const next = on.body({ mode: 'night' });
      await on.send(watcher, 'arm', next);
      await on.final(watcher, next.id);
      expect(on.site.submitted.map((command) => command.id)).toEqual([next.id]);
      expect(on.replies(watcher, arm.id).length).toBe(on.broker.kind === 'mosquitto' ? 1 : 0);
    });

    it('keeps codes out of every log line, every topic and every command', async () => {
      const { lines } = await on.start();
      const watcher = await on.own({}, [`${root}/status`, `${root}/reply/#`]);
      const good = on.body({ code: '48270391' });
      const wrong = on.body({ code: '99310472' });
      const broken = commandId();
      await on.send(watcher, 'disarm', good);
      await on.send(watcher, 'disarm', wrong);
      await on.send(watcher, 'disarm', `{"id":"${broken}","code":48270391`);
      await on.send(watcher, 'disarm', on.body({ code: 48270391 }));
      await on.send(watcher, 'disarm', on.body({ pin: '48270391', '48270391': '48270391' }));
      expect((await on.final(watcher, wrong.id)).error).toEqual({ code: 'BAD_CODE' });
      expect((await on.final(watcher, broken)).error).toEqual({ code: 'BAD_JSON' });
      expect(on.site.checked).toEqual(['48270391', '99310472']);
      const everything = await on.own({}, ['#']);
      await until(() => everything.texts('status').length > 0, 'the retained topics');
      const bare = (text: string) => text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, '');
      const seen = [...watcher.packets, ...everything.packets].map((packet) => `${packet.topic} ${packet.payload}`);
      const kept = [
        ...lines.map((line) => line.replace(/"time":\d+|"pid":\d+/g, '')),
        JSON.stringify(on.site.submitted),
        ...seen,
      ];
      for (const line of kept) {
        const { bodyHash: _, ...rest } = {
          line: bare(line).replaceAll(/[0-9a-f]{64}|"(issuedAt|at)":\d+/g, ''),
          bodyHash: '',
        };
        expect(rest.line).not.toMatch(/48270391|99310472/);
      }
    });

    it('answers duress like any right code', async () => {
      await on.start();
      const watcher = await on.observe();
      const [plain, duress] = [on.body({ code: '48270391' }), on.body({ code: '48270392' })];
      await on.send(watcher, 'disarm', plain);
      const first = await on.final(watcher, plain.id);
      await on.send(watcher, 'disarm', duress);
      const second = await on.final(watcher, duress.id);
      expect({ ...second, id: '', topic: '', seq: 0, at: '' }).toEqual({ ...first, id: '', topic: '', seq: 0, at: '' });
      expect(on.site.submitted.map((command) => command.code)).toEqual(['ok', 'duress']);
    });
  });
}

describe('a client that has proven its name to the embedded broker', () => {
  const user = { id: 'kp1', role: 'keypad', password: new Secret('keypad-password-1') } as const;
  const on = bench(() => startEmbedded([user]));
  const keypad = () =>
    on.observe({ clientId: 'x', username: 'kp1', password: 'keypad-password-1' }, [`${root}/reply/kp1/#`]);

  it('is answered under its own name without asking', async () => {
    await on.start();
    const watcher = await keypad();
    const arm = on.body({ mode: 'away' });
    await on.send(watcher, 'arm', arm);
    expect((await on.final(watcher, arm.id)).topic).toBe(`kp1/${arm.id}`);
    expect(on.site.submitted[0]?.client).toBe('kp1');
  });

  it("cannot send its answers into another's branch", async () => {
    await on.start();
    const watcher = await keypad();
    const arm = on.body({ mode: 'away', reply_to: `${root}/reply/kp2/1` });
    await on.send(watcher, 'arm', arm);
    expect(await on.final(watcher, arm.id)).toMatchObject({
      topic: `kp1/${arm.id}`,
      error: { code: 'BAD_REPLY_TOPIC' },
    });
    expect(on.site.submitted).toEqual([]);
  });
});

describe.skipIf(mosquittoPath === undefined)('an MQTT 5 client on mosquitto', () => {
  const on = bench(startMosquitto);

  it('may say id, address, correlation and expiry outside the payload', async () => {
    await on.start();
    const watcher = await on.observe({ protocolVersion: 5 });
    const id = commandId();
    const correlationData = Buffer.from([1, 2, 255]);
    const responseTopic = `${root}/reply/kp1/door`;
    await watcher.client.publishAsync(
      `${root}/cmd/arm`,
      JSON.stringify({ issued_at: now(), partition: 'p1', mode: 'away' }),
      {
        qos: 1,
        properties: { responseTopic, correlationData, messageExpiryInterval: 30, userProperties: { id } },
      },
    );
    expect(await on.final(watcher, id)).toMatchObject({ topic: 'kp1/door', outcome: 'done' });
    const answers = watcher.packets.filter((packet) => packet.topic === responseTopic);
    expect(answers.map((packet) => packet.properties?.correlationData)).toEqual([correlationData, correlationData]);
    expect(on.site.submitted[0]?.expiresAt).toBeTypeOf('number');
  });
});
