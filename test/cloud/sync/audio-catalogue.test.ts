import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { audioMessageShown } from '#site/model/index.ts';
import type { Memory } from '#site/store/index.ts';
import { until } from '../../harness/until.ts';
import { json, scripted } from '../support.ts';
import { type AudioRig, apiKey, audioRig, memoryOf } from './audio-rig.ts';

const message = (id: unknown, more: object = {}) => ({
  ...{ audio_message_id: id, name: 'Gate', description: 'Close the gate.', duration_seconds: 4.5 },
  ...{ language: 'de-DE', category: 'announcement' },
  ...more,
});
const listOf = (messages: unknown, count: unknown = 1) => ({ data: { audio_messages: messages, total_count: count } });

/** A service whose answer can be changed, and siteward's side of it. */
async function started(first: (response: ServerResponse) => void, more: Parameters<typeof audioRig>[1] = {}) {
  let answer = first;
  const server = await scripted((_, response) => answer(response));
  const rig = audioRig(server.url, more);
  onTestFinished(async () => {
    await rig.end();
    await server.close();
  });
  await rig.start(new AbortController().signal);
  return {
    ...{ rig, server },
    say: (next: typeof first) => {
      answer = next;
    },
    /** Another rig of the same service, as after a restart. */
    async again() {
      await rig.end();
      const next = audioRig(server.url, { ...more, kept: rig.kept });
      onTestFinished(() => next.end());
      await next.start(new AbortController().signal);
      return next;
    },
  };
}

const good = (response: ServerResponse) => json(response, 200, listOf([message('msg-1')]));
const known = (rig: AudioRig) => until(() => rig.messages(), 'the messages of the service');
const reads = (rig: AudioRig, outcome: string, n: number) =>
  until(
    async () => (await rig.metric(`siteward_audio_catalogue_reads_total{outcome="${outcome}"}`)).endsWith(` ${n}`),
    `${n} reads: ${outcome}`,
  );
/** Wakes it until another read has ended. */
async function readAgain(rig: AudioRig, outcome: 'read' | 'failed'): Promise<void> {
  const name = `siteward_audio_catalogue_reads_total{outcome="${outcome}"}`;
  const before = await rig.metric(name);
  rig.retryNow();
  await until(async () => (await rig.metric(name)) !== before, `another read: ${outcome}`);
}

describe('the audio messages of the service', () => {
  it('are read with the key, by the id of the site (S-041, S-170)', async () => {
    const { rig, server } = await started(good);
    expect(await known(rig)).toEqual([
      {
        ...{ audio_message_id: 'msg-1', name: 'Gate', description: 'Close the gate.', duration_seconds: 4.5 },
        ...{ language: 'de-DE', category: 'announcement' },
      },
    ]);
    const [seen] = server.seen;
    expect(`${seen?.method} ${seen?.path}`).toBe('GET /ext/v1/sites/101/audio-messages');
    expect(seen?.headers.authorization).toBe(`Bearer ${apiKey}`);
    expect(rig.health()).toEqual({ state: 'ok', facts: { cloud_messages: 1 } });
  });

  it('are read anew each hour, and when the line is back', async () => {
    const { rig, server, say } = await started(good, { everyMs: 50, random: () => 0.5 });
    await known(rig);
    say((response) => json(response, 200, listOf([message('msg-1'), message('msg-2')])));
    await until(() => rig.messages()?.length === 2, 'the next hour');
    expect(server.seen.length).toBeGreaterThan(1);

    const other = await started(good);
    await known(other.rig);
    expect(other.server.seen).toHaveLength(1);
    other.rig.lineUp();
    await reads(other.rig, 'read', 2);
  });

  it('are told of when they are others, and known from before a restart, not each hour', async () => {
    const told: (number | undefined)[] = [];
    const { rig, say, server } = await started(good, { onChanged: () => told.push(rig.messages()?.length) });
    await until(() => told.length === 1, 'the news');
    await readAgain(rig, 'read');
    expect(told).toEqual([1]);
    say((response) => json(response, 200, listOf([message('msg-1', { name: 'Door' })])));
    await readAgain(rig, 'read');
    expect(told).toEqual([1, 1]);
    await rig.end();
    say((response) => json(response, 503, {}));
    const again: string[] = [];
    const next = audioRig(server.url, { kept: rig.kept, onChanged: () => again.push('told') });
    onTestFinished(() => next.end());
    await next.start(new AbortController().signal);
    await reads(next, 'failed', 1);
    expect(again).toEqual(['told']);
  });

  it('are not read more than once a minute, however often the line comes back', async () => {
    const { rig, server } = await started(good, { calmMs: 60_000 });
    await known(rig);
    for (let n = 0; n < 100; n += 1) rig.lineUp();
    rig.retryNow();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(server.seen).toHaveLength(1);
  });

  it('are those of before a restart, and of before an outage', async () => {
    const { rig, say, again } = await started(good);
    await known(rig);
    await until(() => rig.kept.has('catalogue'), 'the list on disk');
    say((response) => response.socket?.destroy());
    await readAgain(rig, 'failed');
    expect(rig.messages()).toHaveLength(1);
    // That nobody answers is the trouble of the line.
    expect(rig.health().state).toBe('ok');
    const next = await again();
    expect(await known(next)).toMatchObject([{ audio_message_id: 'msg-1' }]);
    await reads(next, 'failed', 1);
    expect(next.messages()).toHaveLength(1);
  });

  it('that were kept are as they were read, whatever their signs and however many', async () => {
    const many = Array.from({ length: 300 }, (_, n) => message(`nr ${n} ä😀`, { name: `„Tür“ \\ 😀 ${n}` }));
    const { rig, say, again } = await started((response) => json(response, 200, listOf(many)));
    const read = await known(rig);
    await until(() => rig.kept.has('catalogue'), 'the list on disk');
    say((response) => json(response, 503, {}));
    const next = await again();
    expect(await known(next)).toEqual(read);
  });

  it('that were not written to the end leave those of before', async () => {
    const { rig, server, say } = await started(good);
    await known(rig);
    await until(() => rig.kept.has('catalogue'), 'the list on disk');
    await rig.end();
    const { kept } = rig;
    for (const messages of [[message('msg-2')], [message('msg-3')]]) {
      say((response) => json(response, 200, listOf(messages)));
      const memory = memoryOf(kept);
      const set: Memory['set'] = async (key, value) => {
        if (key === 'catalogue') throw new Error('the power is gone');
        await memory.set(key, value);
      };
      const cut = audioRig(server.url, { memory: { ...memory, set } });
      await cut.start(new AbortController().signal);
      await reads(cut, 'read', 1);
      await cut.end();
    }
    say((response) => json(response, 503, {}));
    const next = audioRig(server.url, { kept });
    onTestFinished(() => next.end());
    await next.start(new AbortController().signal);
    expect(await known(next)).toMatchObject([{ audio_message_id: 'msg-1' }]);
  });

  it('of another site, and what is damaged or half written, are none', async () => {
    const { rig, server, say } = await started(good);
    await known(rig);
    await until(() => rig.kept.has('catalogue'), 'the list on disk');
    await rig.end();
    say((response) => json(response, 503, {}));
    const damages: [string, Map<string, string>, string][] = [
      ['another site', new Map(rig.kept), '102'],
      ['a piece is gone', new Map([...rig.kept].filter(([key]) => key === 'catalogue')), '101'],
      ['no JSON', new Map([['catalogue', '{']]), '101'],
    ];
    for (const [what, kept, siteId] of damages) {
      const next = audioRig(server.url, { kept, siteId });
      await next.start(new AbortController().signal);
      await reads(next, 'failed', 1);
      expect(next.messages(), what).toBeUndefined();
      await next.end();
    }
  });

  it('a list that is empty is taken; one of which nothing can be read is not', async () => {
    const { rig, say } = await started(good);
    await known(rig);
    for (const bad of [listOf([1, null, 'x', {}]), listOf(undefined), {}, [], 'text', listOf({ a: 1 })]) {
      say((response) => json(response, 200, bad));
      await readAgain(rig, 'failed');
      expect(rig.messages(), JSON.stringify(bad)).toHaveLength(1);
      expect(rig.health()).toMatchObject({ state: 'degraded' });
    }
    say((response) => json(response, 200, listOf([], 0)));
    await readAgain(rig, 'read');
    expect(rig.messages()).toEqual([]);
    expect(rig.health().state).toBe('ok');
  });

  it('a login page in place of the service changes nothing', async () => {
    const { rig, say } = await started(good);
    await known(rig);
    say((response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Please log in</html>'));
    await readAgain(rig, 'failed');
    expect(rig.messages()).toHaveLength(1);
    expect(rig.health()).toMatchObject({ state: 'degraded', reason: expect.stringContaining('not JSON') });
  });

  it.each([401, 403, 404])('%i is told, without the key, also where the service repeats it', async (status) => {
    const { rig, server } = await started((response) =>
      json(response, status, { error: { message: `the key ${apiKey} is not taken` } }),
    );
    await reads(rig, 'failed', 1);
    expect(rig.health()).toMatchObject({ state: 'degraded', reason: expect.stringContaining(String(status)) });
    expect(JSON.stringify([rig.health(), rig.lines])).not.toContain(apiKey);
    // Nor tried again and again.
    expect(server.seen).toHaveLength(1);
  });
});

describe('a hostile list', () => {
  it('of 10 MB is not read, and the last good one stays', async () => {
    const { rig, say } = await started(good);
    await known(rig);
    const huge = JSON.stringify(listOf([message('x', { description: 'x'.repeat(10_000_000) })]));
    say((response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(huge);
    });
    await readAgain(rig, 'failed');
    expect(rig.messages()).toMatchObject([{ audio_message_id: 'msg-1' }]);
    expect(rig.health()).toMatchObject({ state: 'degraded', reason: expect.stringContaining('larger') });
  });

  it('of 100,000 messages is not read; of 20,000 short ones the first 500 are', async () => {
    const { rig, say } = await started((response) =>
      json(response, 200, listOf(Array.from({ length: 20_000 }, (_, n) => ({ audio_message_id: `m${n}` })))),
    );
    expect(await known(rig)).toHaveLength(500);
    expect(rig.lines.join('')).toContain('"left_out":19500');
    say((response) =>
      json(response, 200, listOf(Array.from({ length: 100_000 }, (_, n) => ({ audio_message_id: `m${n}` })))),
    );
    await readAgain(rig, 'failed');
    expect(rig.messages()).toHaveLength(500);
  });

  it('of wrong types, control characters and ids that address something else becomes what can be shown', async () => {
    const odd = [
      message('..'),
      message('.'),
      message(''),
      message(' spaced '),
      message('line\nbreak'),
      message('\u202eturned'),
      message('i'.repeat(256)),
      message({ a: 1 }),
      message(['x']),
      message(null),
      message(42),
      message('twice', { name: 'First' }),
      message('twice', { name: 'Second' }),
      message('odd', {
        ...{ name: 'Two\r\nlines\u0000\u001b[31m', description: 7, duration_seconds: -3 },
        ...{ language: 'klingon', category: 'opera' },
      }),
      message('long', { name: 'n'.repeat(100_000), duration_seconds: 1e300, language: 5, category: ['alarm'] }),
      message('tone', { name: '\u0007', language: 'zxx', duration_seconds: '12' }),
      message('half', { name: `${'n'.repeat(63)}😀` }),
    ];
    const { rig } = await started((response) => json(response, 200, listOf(odd, 'many')));
    const found = await known(rig);
    expect(found.map(({ audio_message_id }) => audio_message_id)).toEqual([
      '42',
      'twice',
      'odd',
      'long',
      'tone',
      'half',
    ]);
    const by = Object.fromEntries(found.map((one) => [one.audio_message_id, one]));
    expect(by.twice?.name).toBe('First');
    expect(by.odd).toMatchObject({
      ...{ name: 'Two lines [31m', description: '', duration_seconds: 0, language: 'und', category: 'custom' },
    });
    expect(by.long).toMatchObject({ duration_seconds: 86_400, language: 'und', category: 'custom' });
    expect(by.long?.name).toHaveLength(64);
    expect(by.tone).toMatchObject({ name: 'tone', language: 'zxx', duration_seconds: 12 });
    expect(by.half?.name).toBe('n'.repeat(63));
    for (const one of found) audioMessageShown.parse({ ...one, key: 'k', source: 'cloud' });
  });
});
