import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { SitewardError } from '#errors.ts';
import { fakeLiveSource, fakeSiteEvent } from '#lan/http/live.fake.ts';
import { fakeStatus } from '#lan/http/port.fake.ts';
import type { StatusDocument } from '#lan/http/schemas.ts';
import type { ZoneEntry } from '#lan/http/zones.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import type { PlaybackShown } from '#site/model/index.ts';
import { parse, type Streams, startStreams } from './stream-rig.ts';

let streams: Streams;
afterEach(() => streams.close());

const many = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => fakeSiteEvent(from + n));
const numbers = (from: number, to: number) => many(from, to).map(({ seq }) => `event ${seq}`);
const nothingChanged = { partitions: [], zones: [], troubles: false, links: false };
const [partition] = fakeLiveSource().partitions();
const zone: ZoneEntry = {
  ...{ number: '1', name: 'Door', type: 'perimeter', partitions: ['p1'] },
  ...{ open: false, alarm: false, tamper: false, low_battery: false, online: true, bypassed: false, shut: false },
};

describe('a stream', () => {
  test('begins with how to come again, the status and the lists', async () => {
    streams = await startStreams();
    streams.source.kept = many(1, 7);
    streams.source.zonesNow = [zone];
    const one = await streams.listen();
    expect(one.status).toBe(200);
    expect(one.headers).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    await one.until('playbacks');
    expect(one.messages[0]).toEqual({ retry: '3000', id: '7' });
    expect(one.told()).toEqual(['status', 'partitions', 'zones', 'playbacks']);
    expect(one.messages[1]?.data).toEqual(fakeStatus);
    expect(one.messages[3]?.data).toEqual({ items: [zone] });
  });

  test('tells events as they are published, by their seq, without those of before', async () => {
    streams = await startStreams();
    streams.source.kept = many(1, 7);
    const one = await streams.listen('/api/v1/stream?topics=events');
    streams.happens(fakeSiteEvent(8));
    streams.happens(fakeSiteEvent(9));
    const { data } = await one.until('event', 2);
    expect(data).toEqual(fakeSiteEvent(9));
    expect(one.told()).toEqual(['event 8', 'event 9']);
  });

  test('counts what came while it was opened to what was before, not to what is missing', async () => {
    streams = await startStreams();
    const { source, happens } = streams;
    source.kept = many(1, 7);
    Object.assign(source.history, { jump: async () => happens(fakeSiteEvent(8)) });
    const one = await streams.listen('/api/v1/stream?topics=events');
    happens(fakeSiteEvent(9));
    await one.until('event');
    expect(one.messages[0]).toEqual({ retry: '3000', id: '8' });
    expect(one.told()).toEqual(['event 9']);
  });

  test('begins also while the store hangs, and tells what comes', { timeout: 30_000 }, async () => {
    streams = await startStreams();
    Object.assign(streams.source.history, { newest: () => new Promise(() => undefined) });
    const one = await streams.listen('/api/v1/stream?topics=events');
    streams.live.publishEvent(fakeSiteEvent(8));
    await one.until('event');
    expect(one.told()).toEqual(['event 8']);
  });

  test('is one line a message, whatever the texts hold', async () => {
    streams = await startStreams();
    const one = await streams.listen('/api/v1/stream?topics=events');
    const nasty = 'a\nb\r\nevent: gap\n\ndata: x\u2028\u0000';
    const { data, ...event } = fakeSiteEvent(1);
    streams.happens({ ...event, data: { ...data, zone_name: nasty } });
    expect(await one.until('event')).toMatchObject({ data: { data: { zone_name: nasty } } });
    expect(one.told()).toEqual(['event 1']);
  });

  test('tells only of the topics asked for, and refuses what is none', async () => {
    streams = await startStreams();
    const one = await streams.listen('/api/v1/stream?topics=zones');
    streams.happens(fakeSiteEvent(1));
    streams.source.zonesNow = [zone];
    streams.live.publishState({ ...nothingChanged, zones: ['1'] });
    await one.until('zones', 2);
    expect(one.told()).toEqual(['zones', 'zones']);
    for (const query of ['topics=events,weather', 'topics=', 'topics=events,', 'colour=red', 'after=-1', 'after=x'])
      expect((await streams.listen(`/api/v1/stream?${query}`)).status, query).toBe(400);
  });

  test('leaves out what a key may not see, and refuses a key that may see none of it', async () => {
    streams = await startStreams({ scopes: { 'k-events': ['events'], 'k-state': ['state'] } });
    const one = await streams.listen(undefined, { 'x-who': 'k-events' });
    streams.happens(fakeSiteEvent(1));
    await one.until('event');
    expect(one.told()).toEqual(['event 1']);
    expect((await streams.listen('/api/v1/stream?topics=status,playbacks', { 'x-who': 'k-events' })).status).toBe(403);
    expect((await streams.listen(undefined, { 'x-who': 'k-state' })).status).toBe(403);
  });

  test('tells of a zone, a partition and a playback that changed, and of nothing that did not', async () => {
    streams = await startStreams();
    const { source, live } = streams;
    source.zonesNow = [zone, { ...zone, number: '2' }];
    const one = await streams.listen('/api/v1/stream?topics=zones,partitions,playbacks');
    source.zonesNow = [
      { ...zone, open: true },
      { ...zone, number: '2' },
    ];
    if (partition !== undefined) source.partitionsNow = [{ ...partition, state: 'disarmed' }];
    live.publishState({ ...nothingChanged, zones: ['1', '2'], partitions: ['p1'] });
    expect((await one.until('zone')).data).toEqual({ ...zone, open: true });
    expect((await one.until('partition')).data).toMatchObject({ id: 'p1', state: 'disarmed' });
    live.playbackChanged({ playback_id: 'x' } as PlaybackShown);
    expect((await one.until('playback')).data).toEqual({ playback_id: 'x' });
    expect(one.told().sort()).toEqual(['partition', 'partitions', 'playback', 'playbacks', 'zone', 'zones']);
  });

  test('tells nothing of a change of which nobody may know, though a delay runs meanwhile', async () => {
    streams = await startStreams();
    const { source, live } = streams;
    const one = await streams.listen('/api/v1/stream?topics=partitions,playbacks');
    if (partition !== undefined) source.partitionsNow = [{ ...partition, exit_left_s: 3 }];
    live.publishState({ ...nothingChanged, zones: ['9'], partitions: ['p1'] });
    live.playbackChanged({ playback_id: 'x' } as PlaybackShown);
    await one.until('playback');
    if (partition !== undefined) source.partitionsNow = [{ ...partition, exit_left_s: 2, memory: ['1'] }];
    live.publishState({ ...nothingChanged, partitions: ['p1'] });
    await one.until('partition');
    expect(one.told()).toEqual(['partitions', 'playbacks', 'playback', 'partition']);
  });

  test('holds up nobody while the site cannot be seen, and tells what changed meanwhile', async () => {
    streams = await startStreams();
    const { source, live } = streams;
    source.zonesNow = [zone];
    const one = await streams.listen('/api/v1/stream?topics=zones,partitions,events');
    await one.until('zones');
    const { zones, partitions } = source;
    source.zones = source.partitions = () => {
      throw new SitewardError('stopped', 'the controller is not running');
    };
    live.publishState({ ...nothingChanged, zones: ['1'], partitions: ['p1'] });
    streams.happens(fakeSiteEvent(1));
    await one.until('event');
    expect((await streams.listen('/api/v1/stream?topics=zones')).status).toBe(503);
    expect(await streams.figure('siteward_live_streams')).toBe(1);
    source.zonesNow = [{ ...zone, open: true }];
    if (partition !== undefined) source.partitionsNow = [{ ...partition, state: 'disarmed' }];
    Object.assign(source, { zones, partitions });
    await one.until('zone');
    await one.until('partition');
  });

  test('shows no silent event, should one come', async () => {
    streams = await startStreams();
    const one = await streams.listen('/api/v1/stream?topics=events');
    streams.live.publishEvent({ ...fakeSiteEvent(1), kind: 'duress' });
    streams.live.publishEvent(fakeSiteEvent(1));
    await one.until('event');
    expect(one.messages.map(({ data }) => (data as { kind?: string })?.kind)).toEqual([undefined, 'burglary']);
  });

  test('sends the status again when it has changed, not for the time alone', async () => {
    streams = await startStreams();
    const { source } = streams;
    const at = (last: string, perMin: number): Pick<StatusDocument, 'hints' | 'parts'> => ({
      hints: [{ device: 'panel p', about: '4', text: 'Nothing was heard of zone 4 yet.', values: [], count: 0, last }],
      parts: [{ name: 'delivery', state: 'ok', facts: { perMin } }],
    });
    source.statusNow = { ...fakeStatus, ...at('2026-11-27T00:00:00.000Z', 12.3) };
    const one = await streams.listen('/api/v1/stream?topics=status');
    source.statusNow = {
      ...fakeStatus,
      ...at('2026-11-28T00:00:00.000Z', 12.1),
      uptime_s: 9000,
      clock: { ...fakeStatus.clock, now: '2026-11-28T00:00:00.000Z' },
    };
    let asked = 0;
    source.status = async () => {
      asked += 1;
      return source.statusNow;
    };
    await eventually('two looks at the status', () => asked >= 2 || undefined);
    expect(one.told()).toEqual(['status']);
    source.statusNow = { ...source.statusNow, ready: false };
    expect((await one.until('status', 2)).data).toMatchObject({ ready: false });
  });

  test('pings by name', async () => {
    streams = await startStreams({ pingEveryMs: 20 });
    const one = await streams.listen('/api/v1/stream?topics=events');
    await eventually('three pings', () => one.pings() >= 3 || undefined);
    expect(one.text()).toContain('event: ping\ndata: {"at":"2026-11-27T20:00:00.000Z"}\n\n');
  });

  test('ends when whoever listens may not any more, at the next ping or before the next event', async () => {
    streams = await startStreams({ pingEveryMs: 20 });
    const one = await streams.listen('/api/v1/stream?topics=events');
    streams.gone.add('k1');
    await eventually('the end', () => one.ended() || undefined);
    await streams.close();
    streams = await startStreams();
    const other = await streams.listen('/api/v1/stream?topics=events');
    streams.gone.add('k1');
    streams.happens(fakeSiteEvent(1));
    await eventually('the end', () => other.ended() || undefined);
    expect(other.told()).toEqual([]);
  });

  test('ends at the stop, and there is none afterwards', async () => {
    streams = await startStreams();
    const one = await streams.listen();
    await streams.live.stop();
    await eventually('the end', () => one.ended() || undefined);
    expect((await streams.listen()).status).toBe(503);
  });
});

describe('a stream that goes on where another ended', () => {
  test.each([
    ['?after', '?topics=events&after=150', {}],
    ['Last-Event-ID', '?topics=events', { 'last-event-id': '150' }],
    ['Last-Event-ID before ?after', '?topics=events&after=3', { 'last-event-id': '150' }],
  ])('by %s has everything once: pages of the store, what came meanwhile, what comes', async (_, query, headers) => {
    streams = await startStreams();
    const { source, live } = streams;
    source.kept = many(1, 500);
    let reads = 0;
    source.onRead = async () => {
      reads += 1;
      // On disk and told of, as it is read, and told of only after it was read.
      if (reads <= 3) streams.happens(fakeSiteEvent(500 + reads));
      if (reads === 4) source.kept.push(fakeSiteEvent(504));
    };
    const one = await streams.listen(`/api/v1/stream${query}`, headers);
    await one.until('event', 354);
    live.publishEvent(fakeSiteEvent(504));
    streams.happens(fakeSiteEvent(505));
    await one.until('event', 355);
    expect(one.told()).toEqual(numbers(151, 505));
  });

  test('is told what is not kept any more, wherever it is missing', async () => {
    streams = await startStreams();
    streams.source.kept = [...many(5, 6), ...many(9, 10)];
    const one = await streams.listen('/api/v1/stream?topics=events&after=2');
    await one.until('event', 4);
    expect(one.told()).toEqual(['gap', 'event 5', 'event 6', 'gap', 'event 9', 'event 10']);
    const gaps = one.messages.filter(({ event }) => event === 'gap').map(({ data }) => data);
    expect(gaps).toEqual([
      { reason: 'not_kept', from: 3, to: 4 },
      { reason: 'not_kept', from: 7, to: 8 },
    ]);
  });

  test('misses nothing where no number was given, and is told what else is missing around it', async () => {
    streams = await startStreams();
    streams.source.kept = [...many(1, 6), ...many(100, 101)];
    streams.source.jumpNow = { last: 6, next: 100 };
    const one = await streams.listen('/api/v1/stream?topics=events&after=5');
    await one.until('event', 3);
    expect(one.told()).toEqual(['event 6', 'event 100', 'event 101']);
    await streams.close();
    const { kept } = streams.source;
    streams = await startStreams();
    Object.assign(streams.source, { kept, jumpNow: { last: 8, next: 100 } });
    const other = await streams.listen('/api/v1/stream?topics=events&after=5');
    await other.until('event', 3);
    expect(other.told()).toEqual(['event 6', 'gap', 'event 100', 'event 101']);
    expect(other.messages[2]?.data).toEqual({ reason: 'not_kept', from: 7, to: 8 });
  });

  test('from a number that is none yet is told so, and goes on with the next', async () => {
    streams = await startStreams();
    streams.source.kept = many(1, 3);
    const one = await streams.listen('/api/v1/stream?topics=events&after=90');
    expect(await one.until('gap')).toEqual({ event: 'gap', id: '3', data: { reason: 'ahead', from: 4, to: 90 } });
    streams.happens(fakeSiteEvent(4));
    await one.until('event');
    expect(one.told()).toEqual(['gap 3', 'event 4']);
  });

  test('while the store cannot be read is told so, and has what comes and what is in memory alone', async () => {
    streams = await startStreams();
    const { source, live } = streams;
    source.kept = many(1, 3);
    const inMemory = { ...fakeSiteEvent(4), data: { ...fakeSiteEvent(4).data, durable: false } };
    source.onRead = async () => {
      live.publishEvent(inMemory);
      throw new Error('no disk');
    };
    const one = await streams.listen('/api/v1/stream?topics=events&after=1');
    expect((await one.until('gap')).data).toEqual({ reason: 'unreadable', from: 2, to: null });
    live.publishEvent(fakeSiteEvent(5));
    await one.until('event', 2);
    expect(one.told()).toEqual(['gap', 'event 4', 'event 5']);
  });

  test('refuses a Last-Event-ID that is no number', async () => {
    streams = await startStreams();
    const one = await streams.listen('/api/v1/stream', { 'last-event-id': '12; drop' });
    expect(one.status).toBe(400);
    await eventually('the problem', () => one.text().includes('Last-Event-ID') || undefined);
  });
});

describe('too many and too slow', () => {
  test('the fifth of one caller and the seventeenth in all are refused, and may come when one has gone', async () => {
    streams = await startStreams();
    const open = [];
    for (let n = 0; n < 16; n += 1)
      open.push(await streams.listen('/api/v1/stream?topics=events', { 'x-who': `k${Math.floor(n / 4)}` }));
    expect(open.map(({ status }) => status)).toEqual(Array(16).fill(200));
    expect(await streams.figure('siteward_live_streams')).toBe(16);
    const seventeenth = await streams.listen(undefined, { 'x-who': 'k9' });
    expect([seventeenth.status, seventeenth.headers['retry-after']]).toEqual([503, '15']);
    open[0]?.close();
    await eventually('one has gone', async () => (await streams.figure('siteward_live_streams')) === 15 || undefined);
    expect((await streams.listen(undefined, { 'x-who': 'k1' })).status).toBe(503);
    expect((await streams.listen('/api/v1/stream?topics=events', { 'x-who': 'k0' })).status).toBe(200);
    expect(await streams.figure('siteward_live_refused_total')).toBe(2);
  });

  test('one that never reads costs a bounded buffer and is cut off, and others have everything', async () => {
    streams = await startStreams({ limits: { messages: 200, bytes: 256 * 1024, graceMs: 50 } });
    const deaf = connect({ port: streams.port, host: '127.0.0.1' });
    deaf.on('error', () => undefined);
    deaf.write('GET /api/v1/stream?topics=events HTTP/1.1\r\nhost: x\r\nx-who: k-deaf\r\n\r\n');
    deaf.pause();
    await eventually('the stream', async () => (await streams.figure('siteward_live_streams')) === 1 || undefined);
    const one = await streams.listen('/api/v1/stream?topics=events');
    const connections = () =>
      new Promise<number>((resolve) => streams.server.getConnections((_, count) => resolve(count)));
    // More than all buffers of sockets between.
    const filler = 'x'.repeat(20_000);
    let seq = 0;
    await eventually('the cut', async () => {
      for (let n = 0; n < 50; n += 1) {
        seq += 1;
        const { data, ...event } = fakeSiteEvent(seq);
        streams.live.publishEvent({ ...event, data: { ...data, detail: filler } });
        await new Promise(setImmediate);
      }
      return (await streams.figure('siteward_live_streams')) === 1 || undefined;
    });
    const closed = (await streams.metrics.metrics()).match(/ended_total\{reason="(\w+)"\} 1/);
    expect(closed?.[1]).toBe('overrun');
    expect(await streams.figure('siteward_live_dropped_total')).toBeGreaterThan(0);
    await one.until('event', seq);
    expect(one.told()).toEqual(numbers(1, seq));
    // Though it goes on reading nothing.
    await eventually('the connection is cut', async () => (await connections()) === 1 || undefined);
    deaf.destroy();
  });

  test('one that is too slow is told so, and has the rest by its last number', async () => {
    streams = await startStreams({ limits: { messages: 50, bytes: 1024 * 1024, graceMs: 5000 } });
    const one = await streams.listen('/api/v1/stream?topics=events');
    for (let seq = 1; seq <= 10; seq += 1) streams.happens(fakeSiteEvent(seq));
    await one.until('event', 10);
    // In one turn of the loop nothing can be taken.
    for (let seq = 11; seq <= 70; seq += 1) streams.happens(fakeSiteEvent(seq));
    await one.until('gap');
    await eventually('the end', () => one.ended() || undefined);
    expect(one.told()).toEqual([...numbers(1, 10), 'gap']);
    expect(one.messages.at(-1)?.data).toEqual({ reason: 'overrun', from: null, to: null });
    const again = await streams.listen('/api/v1/stream?topics=events', { 'last-event-id': '10' });
    await again.until('event', 60);
    expect(again.told()).toEqual(numbers(11, 70));
  });

  test('for one that is slow states wait in their newest form, events all of them', async () => {
    streams = await startStreams();
    const { source, live } = streams;
    source.zonesNow = [zone];
    const one = await streams.listen('/api/v1/stream?topics=events,partitions,playbacks');
    await one.until('playbacks');
    for (let n = 1; n <= 30; n += 1) {
      live.playbackChanged({ playback_id: 'x', seq: n } as PlaybackShown);
      streams.happens(fakeSiteEvent(n));
    }
    await one.until('event', 30);
    expect(one.told().filter((name) => name.startsWith('event'))).toEqual(numbers(1, 30));
    const playbacks = one.messages.filter(({ event }) => event === 'playback').map(({ data }) => data);
    expect(playbacks).toEqual([{ playback_id: 'x', seq: 30 }]);
  });

  test('one whose client asks for the head alone, or goes at once, leaves nothing open', async () => {
    streams = await startStreams({ pingEveryMs: 20, limits: { messages: 100, bytes: 256 * 1024, graceMs: 50 } });
    const head = connect({ port: streams.port, host: '127.0.0.1' });
    let text = '';
    head.on('data', (bytes) => {
      text += bytes;
    });
    head.write('HEAD /api/v1/stream HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually('the head', () => text.includes('200 OK') || undefined);
    for (let n = 0; n < 3; n += 1) (await streams.listen()).close();
    await eventually('none is open', async () => (await streams.figure('siteward_live_streams')) === 0 || undefined);
    head.destroy();
    expect(parse(text.split('\r\n\r\n')[1] ?? '')).toEqual([]);
  });
});
