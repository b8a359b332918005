import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { roomyKeys } from '#devices/onvif/forget-removed.ts';
import { remembered } from '#devices/onvif/memory-keys.ts';
import { placeMemory } from '#devices/onvif/place-memory.ts';
import { Secret } from '#lib/secret.ts';
import { defaultLimits } from '#site/store/limits.ts';
import { type Harness, harness, links, memoryPort, until } from './harness.ts';
import { makeCertificate } from './make-certificate.ts';
import { cameraModel, type ScriptedCamera, startCamera } from './scripted-camera.ts';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});
const yard = (url: string) => ({ id: 'yard', url });

describe('what is remembered of a device', () => {
  it('counts for its address', async () => {
    const map = new Map([['onvif/pin/yard', 'old']]);
    const first = placeMemory(memoryPort(map), yard('http://192.0.2.10/onvif/device_service'));
    expect(await first.get('onvif/pin/yard')).toBe('old');
    await first.set('onvif/subscription/yard', 'there');
    const other = placeMemory(memoryPort(map), yard('http://192.0.2.11/onvif/device_service'));
    map.set('onvif/roster/yard', 'x').set('onvif/pin/gate', 'of another').set('onvif/login/yard', 'x');
    expect(await other.get('onvif/pin/yard')).toBeUndefined();
    expect([...map.keys()].sort()).toEqual(['onvif/address/yard', 'onvif/pin/gate', 'onvif/roster/yard']);
  });

  it('is kept for a device that is taken out and put back, and forgotten when the memory fills up', async () => {
    const keysOf = (id: string) => ['address', 'pin', 'learned'].map((what) => `onvif/${what}/${id}`);
    const map = new Map<string, string>();
    const learn = (...keys: string[]) => {
      for (const key of keys) map.set(key, 'x');
    };
    learn(...keysOf('yard'), 'onvif/channel/rec/gone', ...keysOf('rec'), 'onvif/channel/rec/shop');
    for (const id of ['yard', 'rec']) map.set(`onvif/address/${id}`, 'http://127.0.0.1:9');
    for (let n = 0; n < 400; n += 1) learn(...keysOf(`old-${n}`));
    const nvrs = [{ id: 'rec', url: 'http://127.0.0.1:9/', channels: [{ id: 'shop', source: 'S1' }] }] as const;
    const before = map.size;
    const start = async () => {
      const made = harness([yard('http://127.0.0.1:9/')], { memory: map, nvrs: nvrs as never });
      await made.cameras.start(new AbortController().signal);
      return made;
    };
    const roomy = await start();
    await roomy.cameras.stop();
    expect(map.size).toBeGreaterThanOrEqual(before);
    for (let n = 400; n < 500; n += 1) learn(...keysOf(`old-${n}`));
    const filled = await start();
    await until(() => map.size <= roomyKeys + 10, 'room');
    await filled.cameras.stop();
    expect(map.has('onvif/channel/rec/gone')).toBe(false);
    expect([...keysOf('yard'), ...keysOf('rec'), 'onvif/channel/rec/shop'].filter((key) => !map.has(key))).toEqual([]);
    // No more than is needed, and of each device all.
    expect(map.size).toBeGreaterThan(roomyKeys - 10);
    expect([...map.keys()].filter((key) => key.startsWith('onvif/pin/old-'))).toHaveLength(
      [...map.keys()].filter((key) => key.startsWith('onvif/address/old-')).length,
    );
  });

  it('is asked again after a failure of the store', async () => {
    const map = new Map([['onvif/pin/yard', 'old']]);
    let fails = true;
    const port = memoryPort(map);
    const get = async (key: string) => (fails ? Promise.reject(new Error('away')) : port.get(key));
    const memory = placeMemory({ ...port, get }, yard('http://192.0.2.10/'));
    await expect(memory.get('onvif/pin/yard')).rejects.toThrow('away');
    fails = false;
    expect(await memory.get('onvif/pin/yard')).toBe('old');
  });

  it('can be read where the store takes nothing more', async () => {
    const port = memoryPort(new Map([['onvif/pin/yard', 'old']]));
    const set = () => Promise.reject(new Error('full'));
    const memory = placeMemory({ ...port, set }, yard('http://192.0.2.10/'));
    expect(await memory.get('onvif/pin/yard')).toBe('old');
    await expect(memory.set('onvif/pin/yard', 'new')).rejects.toThrow('full');
  });
});

describe('the table of what is remembered', () => {
  it.each([
    'onvif/secret/yard',
    'onvif/learned/gate',
    'onvif/learned/yard/more',
    'onvif/channel/yard',
    'elsewhere/learned/yard',
  ])('has all there is: %s is not kept for yard', async (key) => {
    const map = new Map<string, string>();
    await expect(placeMemory(memoryPort(map), yard('http://192.0.2.10/')).set(key, 'x')).rejects.toThrow('memory-keys');
    expect(map.size).toBe(0);
  });

  it('names who writes each, and nothing that nobody writes', () => {
    for (const [what, { by }] of Object.entries(remembered)) {
      const source = readFileSync(join(import.meta.dirname, '../../../src/devices/onvif', by), 'utf8');
      const isWritten =
        what === 'channel' ? source.includes('channelKey(') : new RegExp(`['\`/]${what}['\`/]`).test(source);
      expect([what, isWritten]).toEqual([what, true]);
    }
  });

  it('leaves room for the largest site, whatever was remembered before', () => {
    const most = Math.max(
      ...Array.from({ length: 16 }, (_, at) => mostKeys({ cameras: 63 - at, recorders: at + 1, channels: at + 1 })),
      ...Array.from({ length: 16 }, (_, at) => mostKeys({ cameras: 0, recorders: at + 1, channels: 64 })),
    );
    expect(most).toBe(480);
    expect(roomyKeys + most).toBeLessThanOrEqual(defaultLimits.memoryKeys);
  });
});

/** Runs the camera `yard` at this address until its events arrive. */
async function watched(server: ScriptedCamera, memory: Map<string, string>): Promise<Harness> {
  const one = harness([{ id: 'yard', url: server.url, username: 'u', password: new Secret('secret') }], { memory });
  opened.push({ close: () => one.cameras.stop() });
  await one.cameras.start(new AbortController().signal);
  await until(() => links(one.signals).includes(true), 'its events');
  return one;
}

async function camera(tls?: Parameters<typeof startCamera>[2]) {
  const server = await startCamera(cameraModel().script, 0, tls);
  opened.push(server);
  return server;
}

describe('another camera in the place of one', () => {
  it('is asked for its own certificate, and the old one hears nothing of it', async () => {
    const memory = new Map<string, string>();
    const old = await camera(makeCertificate());
    const one = await watched(old, memory);
    const left = memory.get('onvif/subscription/yard');
    await one.cameras.stop();
    // As if it had been killed: what it had at the old camera is still remembered.
    memory.set('onvif/subscription/yard', left ?? '');
    const asked = old.seen.length;
    await watched(await camera(makeCertificate()), memory);
    expect(old.seen.slice(asked)).toEqual([]);
  });
});

/** The most keys that a site with so many of each can have. */
function mostKeys(site: { cameras: number; recorders: number; channels: number }): number {
  const many = { device: site.cameras + site.recorders, recorder: site.recorders, channel: site.channels };
  return Object.values(remembered).reduce((sum, { per }) => sum + many[per], 0);
}
