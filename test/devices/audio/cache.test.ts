import { describe, expect, it } from 'vitest';
import { createPreparedCache } from '#devices/audio/cache.ts';
import { faded } from '#devices/audio/sound.ts';
import { never } from '#lib/wait.ts';

const second = () => new Int16Array(8_000).fill(1_000);
const kilobytes = 16;

/** A library whose messages of one second at 8000 are given out when told to, or at once. */
function library(maxKilobytes: number, { held = false, stop = never() } = {}) {
  const loaded: string[] = [];
  const gates = new Map<string, () => void>();
  const load = async (sha256: string, signal: AbortSignal) => {
    loaded.push(sha256);
    if (held) await new Promise<void>((resolve) => gates.set(sha256, resolve));
    signal.throwIfAborted();
    if (sha256 === 'gone') throw new Error('no such file');
    return { rate: 8_000, samples: second() };
  };
  const cache = createPreparedCache({ maxBytes: maxKilobytes * 1_000, load, stop });
  const get = (sha256: string, urgent?: boolean) => cache.get({ sha256, rate: 8_000 }, never(), urgent);
  const pass = async (sha256: string) => {
    gates.get(sha256)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { cache, loaded, get, pass };
}

describe('the cache of prepared messages', () => {
  it('gives a message faded, at the rate of the speaker', async () => {
    const { cache } = library(1_000);
    expect(await cache.get({ sha256: 'a', rate: 8_000 }, never())).toEqual(faded(second(), 8_000));
    expect((await cache.get({ sha256: 'a', rate: 48_000 }, never())).length).toBe(48_000);
    expect(cache.stats).toMatchObject({ messages: 2, bytes: 16_000 + 96_000, misses: 2, hits: 0 });
  });

  it('makes a message once', async () => {
    const { loaded, get, cache } = library(1_000);
    const [one, other] = await Promise.all([get('a'), get('a')]);
    expect(other).toBe(one);
    expect(await get('a')).toBe(one);
    expect(loaded).toEqual(['a']);
    expect(cache.stats.hits).toBe(1);
  });

  it('holds no more bytes than it may; what was used longest ago gives way', async () => {
    const { loaded, get, cache } = library(3 * kilobytes);
    for (const name of ['a', 'b', 'c', 'a', 'd']) await get(name);
    expect(cache.stats).toMatchObject({ messages: 3, bytes: 48_000 });
    for (const name of ['a', 'c', 'd']) await get(name);
    expect(loaded).toEqual(['a', 'b', 'c', 'd']);
    await get('b');
    expect(loaded.at(-1)).toBe('b');
  });

  it('keeps what is pinned, whatever comes', async () => {
    const { loaded, get, cache } = library(2 * kilobytes);
    expect(await cache.pin({ sha256: 'alarm', rate: 8_000 }, never())).toBe(true);
    expect(await cache.pin({ sha256: 'alarm', rate: 8_000 }, never())).toBe(true);
    for (const name of ['a', 'b', 'c']) await get(name);
    await get('alarm');
    expect(loaded).toEqual(['alarm', 'a', 'b', 'c']);
    expect(cache.stats).toMatchObject({ messages: 2, bytes: 32_000, pinnedBytes: 16_000 });
  });

  it('takes another bound: what was used longest ago gives way, what is pinned last of all', async () => {
    const { cache, get } = library(4 * kilobytes);
    await cache.pin({ sha256: 'alarm', rate: 8_000 }, never());
    for (const name of ['a', 'b', 'c']) await get(name);
    cache.bound(2 * kilobytes * 1_000);
    expect(cache.stats).toMatchObject({ messages: 2, bytes: 32_000, pinnedBytes: 16_000 });
    cache.bound(kilobytes * 1_000 - 1);
    expect(cache.stats).toMatchObject({ messages: 0, bytes: 0, pinnedBytes: 0 });
    cache.bound(2 * kilobytes * 1_000);
    expect(await cache.pin({ sha256: 'alarm', rate: 8_000 }, never())).toBe(true);
    await get('d');
    expect(cache.stats).toMatchObject({ messages: 2, bytes: 32_000 });
  });

  it('keeps pinned what is still wanted, and no more', async () => {
    const { cache, get } = library(2 * kilobytes);
    for (const sha256 of ['old', 'alarm']) await cache.pin({ sha256, rate: 8_000 }, never());
    cache.unpin([{ sha256: 'alarm', rate: 8_000 }]);
    expect(cache.stats).toMatchObject({ messages: 2, pinnedBytes: 16_000 });
    await get('new');
    expect(cache.stats).toMatchObject({ messages: 2, bytes: 32_000, pinnedBytes: 16_000 });
  });

  it('says where there is no room to pin, and gives the message all the same', async () => {
    const { get, cache } = library(kilobytes);
    await cache.pin({ sha256: 'alarm', rate: 8_000 }, never());
    expect(await cache.pin({ sha256: 'other', rate: 8_000 }, never())).toBe(false);
    expect((await get('other')).length).toBe(8_000);
    expect(cache.stats).toMatchObject({ messages: 1, bytes: 16_000 });
  });

  it('makes two at a time, and an alarm before what waits', async () => {
    const { loaded, get, pass } = library(1_000, { held: true });
    const all = [get('a'), get('b'), get('c'), get('d'), get('alarm', true)];
    await pass('none');
    expect(loaded).toEqual(['a', 'b']);
    await pass('a');
    expect(loaded).toEqual(['a', 'b', 'alarm']);
    // What is urgent for one of those who ask is urgent.
    all.push(get('d', true));
    await pass('b');
    expect(loaded).toEqual(['a', 'b', 'alarm', 'd']);
    for (const name of ['alarm', 'd', 'c']) await pass(name);
    expect((await Promise.all(all)).length).toBe(6);
  });

  it('keeps nothing of a message that cannot be read', async () => {
    const { loaded, get, cache } = library(1_000);
    await expect(get('gone')).rejects.toThrow('no such file');
    await expect(get('gone')).rejects.toThrow('no such file');
    expect(loaded).toEqual(['gone', 'gone']);
    expect(cache.stats).toMatchObject({ messages: 0, bytes: 0 });
    // Nor does it take the place of others.
    expect((await get('a')).length).toBe(8_000);
  });

  it('lets one who waits go; the others get it', async () => {
    const { cache, get, pass } = library(1_000, { held: true });
    const leaving = new AbortController();
    const left = cache.get({ sha256: 'a', rate: 8_000 }, leaving.signal);
    const stays = get('a');
    leaving.abort(new Error('cancelled'));
    await expect(left).rejects.toThrow('cancelled');
    await pass('a');
    expect((await stays).length).toBe(8_000);
  });

  it('refuses when too many wait', async () => {
    const { get, loaded } = library(1_000, { held: true });
    const asked = Array.from({ length: 67 }, (_, at) => get(`m${at}`));
    for (const one of asked) one.catch(() => undefined);
    await expect(asked[66]).rejects.toMatchObject({ code: 'queue_full' });
    expect(loaded.length).toBe(2);
  });

  it('makes nothing more once it is stopped', async () => {
    const stop = new AbortController();
    const { get, pass, loaded } = library(1_000, { held: true, stop: stop.signal });
    const asked = [get('a'), get('b'), get('c')];
    const ends = Promise.allSettled(asked);
    await pass('none');
    stop.abort(new Error('over'));
    await pass('a');
    await pass('b');
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(loaded).toEqual(['a', 'b']);
  });

  it('forgets a message at every rate', async () => {
    const { cache, get } = library(1_000);
    await get('a');
    await cache.pin({ sha256: 'a', rate: 48_000 }, never());
    cache.forget('a');
    expect(cache.stats).toMatchObject({ messages: 0, bytes: 0, pinnedBytes: 0 });
  });
});
