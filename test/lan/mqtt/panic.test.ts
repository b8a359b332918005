import { describe, expect, it } from 'vitest';
import * as schemas from '../../../src/lan/mqtt/schemas.ts';
import { bench, brokers } from './bench.ts';
import { commandId, root, until } from './harness.ts';

for (const [name, startBroker, missing] of brokers) {
  describe.skipIf(missing)(`calls for help on ${name}`, () => {
    const on = bench(startBroker);
    const call = (change: object = {}) => on.body({ kind: 'audible', ...change });

    it('are handed on whatever their age, and answered once', async () => {
      await on.start();
      const watcher = await on.observe();
      const long = { issued_at: '2020-01-01T00:00:00Z', expires_at: '2020-01-01T00:01:00Z' };
      const bodies = [
        call(),
        call({ kind: 'silent', ...long }),
        call({ kind: 'medical', issued_at: '2099-01-01T00:00:00Z' }),
        call({ kind: 'fire', partition: 'all', code: '48270391' }),
      ];
      for (const body of bodies) {
        await on.send(watcher, 'panic', body);
        const { topic: _, ...reply } = await on.final(watcher, body.id);
        expect(schemas.reply.parse(reply)).toMatchObject({ outcome: 'done' });
      }
      expect(on.site.called).toMatchObject([
        { kind: 'audible', partition: 'p1', source: 'lan' },
        { kind: 'silent', issuedAt: Date.parse(long.issued_at), expiresAt: Date.parse(long.expires_at) },
        { kind: 'medical' },
        { kind: 'fire', partition: 'all' },
      ]);
      expect(JSON.stringify(on.site.called)).not.toContain('48270391');
      // No code is looked at: that would take its turn behind those of others.
      expect(on.site.checked).toEqual([]);
      for (const { id } of bodies) expect(on.replies(watcher, id)).toHaveLength(1);
    });

    it('are taken with whatever is wrong beside their id and kind, and where their reply must not go', async () => {
      await on.start();
      const watcher = await on.observe();
      const wrong = {
        ...call({ partition: 'kitchen', code: 48270391, issued_at: 'now', expires_at: 0, expected: 1, extra: {} }),
        reply_to: `${root}/cmd/disarm`,
      };
      await on.send(watcher, 'panic', wrong);
      expect(await on.final(watcher, wrong.id)).toMatchObject({ outcome: 'done' });
      const id = commandId();
      await on.send(watcher, 'panic', { id, kind: 'audible' });
      await on.final(watcher, id);
      expect(on.site.called).toEqual([
        { id: wrong.id, kind: 'audible', source: 'lan', client: 'unknown' },
        { id, kind: 'audible', source: 'lan', client: 'unknown' },
      ]);
      expect(watcher.texts('cmd/disarm')).toEqual([]);
    });

    it.each([
      ['a long note', (body: object) => JSON.stringify({ ...body, note: 'x'.repeat(1100) })],
      ['a long actor', (body: object) => JSON.stringify({ actor: 'x'.repeat(1100), ...body })],
      ['a member deep within', (body: object) => JSON.stringify({ ...body, more: [[[[[[[[1]]]]]]]] })],
      ['more than a command may have', (body: object) => JSON.stringify({ ...body, more: 'x'.repeat(9000) })],
      ['very much', (body: object) => JSON.stringify({ ...body, more: 'x'.repeat(60_000) })],
      [
        'a byte of another encoding',
        (body: object) => Buffer.from(JSON.stringify({ note: 'caf\xe9', ...body }), 'latin1'),
      ],
      ['a NUL at its end', (body: object) => `${JSON.stringify(body)}\0`],
      ['an end that is missing', (body: object) => JSON.stringify(body).slice(0, -1)],
    ])('are taken with %s in them', async (_, of) => {
      await on.start();
      const watcher = await on.observe();
      const body = call({ kind: 'silent', reply_to: `${root}/reply/kp1/help` });
      await on.send(watcher, 'panic', of(body));
      expect(await on.final(watcher, body.id)).toMatchObject({ topic: 'kp1/help', outcome: 'done' });
      expect(on.site.called).toMatchObject([{ id: body.id, kind: 'silent', partition: 'p1' }]);
    });

    it.each([
      ['a long member', JSON.stringify({ action: 'TRIGGER', note: 'x'.repeat(1100) })],
      ['more than a command may have', JSON.stringify({ action: 'TRIGGER', note: 'x'.repeat(9000) })],
      ['a byte of another encoding', Buffer.from('{"note":"caf\xe9","action":"TRIGGER"}', 'latin1')],
      ['a NUL at its end', '{"action":"TRIGGER"}\0'],
      ['a line break behind the word', 'TRIGGER\n'],
      ['the word in quotes', '"TRIGGER"'],
    ])('of Home Assistant are taken with %s in them', async (_, payload) => {
      await on.start();
      const watcher = await on.observe();
      await on.send(watcher, 'ha/p2', payload);
      await until(() => on.site.called.length === 1, 'the call');
      expect(on.site.called).toMatchObject([{ kind: 'audible', partition: 'p2' }]);
    });

    it('that nobody can read are refused, where they say whom to tell', async () => {
      await on.start();
      const watcher = await on.observe();
      const cases: [string | Buffer | object, object][] = [];
      const add = (payload: (id: string) => string | Buffer | object, error: object) => {
        const id = commandId();
        cases.push([payload(id), { id, error }]);
      };
      add((id) => ({ id }), { code: 'SCHEMA', field: 'kind' });
      add((id) => ({ id, kind: 'police' }), { code: 'SCHEMA', field: 'kind' });
      add((id) => `{"id":"${id}","kind":`, { code: 'BAD_JSON' });
      add((id) => `{"id":"${id}","pad":"${'x'.repeat(9000)}","kind":"audible"}`, { code: 'TOO_LARGE' });
      add((id) => Buffer.concat([Buffer.from(`{"id":"${id}","kind":"`), Buffer.from([0xff]), Buffer.from('"}')]), {
        code: 'NOT_UTF8',
      });
      add((id) => ({ id, kind: [[[[[[[1]]]]]]] }), { code: 'TOO_LARGE', field: 'kind' });
      for (const [payload, { id, error }] of cases as [string, { id: string; error: object }][]) {
        await on.send(watcher, 'panic', payload);
        expect(await on.final(watcher, id)).toMatchObject({ outcome: 'refused', error });
      }
      expect(on.site.called).toEqual([]);
      const good = call();
      await on.send(watcher, 'panic', good);
      expect(await on.final(watcher, good.id)).toMatchObject({ outcome: 'done' });
    });

    it('that were retained are taken as such, and cleared once they are kept', async () => {
      const before = await on.own({}, [`${root}/cmd/panic`]);
      const kept = call();
      await on.send(before, 'panic', kept, true);
      on.site.callFailure = { code: 'BUSY', retryAfterS: 1 };
      await on.start();
      await until(() => on.site.called.length === 1 || on.broker.kind === 'embedded', 'the call');
      const retains = on.broker.kind === 'mosquitto';
      if (retains) {
        expect(on.site.called).toMatchObject([{ id: kept.id, retained: true }]);
        await on.stop();
        on.site.callFailure = undefined;
        await on.start();
        await until(() => on.site.called.length === 2, 'the call again');
        await until(() => before.texts('cmd/panic').at(-1) === '', 'the topic is cleared');
      }
      const later = await on.own({}, [`${root}/cmd/panic`]);
      expect(later.texts('cmd/panic')).toEqual([]);
    });

    if (name !== 'the embedded broker')
      it('are answered and cleared when they were retained and come before the birth', async () => {
        const watcher = await on.observe();
        const kept = call();
        await on.send(watcher, 'panic', kept, true);
        // The birth waits for one more answer of the broker.
        await on.start({ homeAssistant: { prefix: 'homeassistant', siteName: 'HQ', serial: 'b1' } });
        expect(await on.final(watcher, kept.id)).toMatchObject({ outcome: 'done' });
        expect(on.site.called).toMatchObject([{ id: kept.id, retained: true }]);
        await expect
          .poll(
            async () => {
              const late = await on.own({}, [`${root}/cmd/panic`]);
              await late.client.subscribeAsync(`${root}/status`);
              await until(() => late.texts('status').length > 0, 'what is retained');
              return late.texts('cmd/panic');
            },
            { timeout: 10_000 },
          )
          .toEqual([]);
      });

    it('wait for nothing: a flood, a slow check of codes and a client that sent too much hold none', async () => {
      let release = () => {};
      const slow = new Promise<void>((resolve) => {
        release = resolve;
      });
      const checkCode = () => slow.then(() => ({ code: 'none' }) as const);
      await on.start({ site: Object.assign(Object.create(on.site) as typeof on.site, { checkCode }) });
      const watcher = await on.observe();
      const flood = Array.from({ length: 300 }, (_, n) =>
        on.body({ mode: 'away', ...(n % 2 > 0 && { code: '48270391' }) }),
      );
      await Promise.all(flood.map((body) => on.send(watcher, 'arm', body)));
      const help = call();
      await on.send(watcher, 'panic', help);
      expect(await on.final(watcher, help.id)).toMatchObject({ outcome: 'done' });
      expect(flood.some(({ id }) => on.replies(watcher, id).some(({ outcome }) => outcome === 'refused'))).toBe(true);
      const calls = Array.from({ length: 200 }, () => call({ kind: 'medical' }));
      await Promise.all(calls.map((body) => on.send(watcher, 'panic', body)));
      await until(() => on.site.called.length === 201, 'every call');
      release();
    });

    it('that are silent show in no metric, log line or topic but their answer, which is like any other (safety 4)', async () => {
      const { lines, metrics } = await on.start();
      const watcher = await on.observe();
      await until(() => watcher.texts('status').at(-1) === 'online', 'the birth');
      const counts = async () =>
        (await metrics.metrics()).split('\n').filter((line) => /commands_total|published_total|dropped/.test(line));
      const messages = (of: readonly string[]) => of.find((line) => /published_total.*kind="message"/.test(line));
      const first = messages(await counts());
      await on.send(watcher, 'query', { ...on.body({ what: 'info' }), partition: undefined });
      await until(() => watcher.packets.some(({ topic }) => topic.startsWith(`${root}/reply/`)), 'an answer');
      // The answer counts once the broker has acknowledged it, which may be after it is heard.
      await expect.poll(async () => messages(await counts())).not.toBe(first);
      const [before, from, logged] = [await counts(), watcher.packets.length, lines.length];
      const silent = call({ kind: 'silent' });
      await on.send(watcher, 'panic', silent);
      const quiet = await on.final(watcher, silent.id);
      expect(watcher.packets.slice(from).map(({ topic }) => topic)).toEqual([expect.stringContaining('/reply/')]);
      expect(lines.slice(logged)).toEqual([]);
      expect(await counts()).toEqual(before);
      const audible = call();
      await on.send(watcher, 'panic', audible);
      const { id: _, at: __, topic: ___, ...loud } = await on.final(watcher, audible.id);
      expect(quiet).toMatchObject(loud);
      expect(Object.keys(quiet).sort()).toEqual(['at', 'final', 'id', 'outcome', 'topic']);
      expect(await counts()).not.toEqual(before);
    });
  });
}
