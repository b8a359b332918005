import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { readNotifications } from '#devices/onvif/notification.ts';
import { readAnswer } from '#devices/onvif/soap.ts';
import { SitewardError } from '#errors.ts';
import { detections, links, rig, until } from './harness.ts';
import { cameraModel, motion, type Reply, soap } from './scripted-camera.ts';

const site = rig(afterEach);
const captures = join(import.meta.dirname, '../../../../shared/data/onvif-captures');
const absent = !existsSync(captures);
const maxBytes = 4 * 1024 * 1024;

function seeded(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  };
}
type Random = ReturnType<typeof seeded>;

const cut = (bytes: Uint8Array, random: Random) => bytes.subarray(0, random(bytes.length + 1));
function mutate(bytes: Uint8Array, random: Random): Uint8Array {
  const changed = Uint8Array.from(bytes);
  for (let times = 1 + random(8); times > 0; times -= 1) changed[random(changed.length)] = random(256);
  return changed;
}

/** A result or a typed error; anything else is thrown. Returns whether it was a result. */
function read(bytes: Uint8Array): boolean {
  try {
    const answer = readAnswer(200, bytes, { maxBytes });
    if ('body' in answer) readNotifications(answer.body);
    return true;
  } catch (error) {
    if (!(error instanceof SitewardError)) throw error;
    return false;
  }
}

const walk = (path: string): string[] =>
  readdirSync(path).flatMap((name) => {
    const full = join(path, name);
    return statSync(full).isDirectory() ? walk(full) : [full];
  });
const files = absent ? [] : walk(captures).filter((file) => /\.(xml|html)$/.test(file));

describe.skipIf(absent)('every recorded answer (../shared)', () => {
  it('cut at 200 places each is a result or a typed error', () => {
    const random = seeded(20_261_127);
    const results = { cuts: 0, read: 0 };
    for (const file of files) {
      const bytes = readFileSync(file);
      for (let times = 0; times < 200; times += 1) {
        results.cuts += 1;
        if (read(cut(bytes, random))) results.read += 1;
      }
    }
    expect(files.length).toBeGreaterThan(300);
    expect(results.cuts).toBe(200 * files.length);
    // What is cut is no answer, but where only blanks were lost.
    expect(results.read).toBeLessThan(results.cuts / 50);
  }, 400_000);

  it('with a few bytes changed, 50 times each, is a result or a typed error', () => {
    const random = seeded(7);
    const results = { all: 0, read: 0 };
    for (const file of files) {
      const bytes = readFileSync(file);
      for (let times = 0; times < 50; times += 1) {
        results.all += 1;
        if (read(mutate(bytes, random))) results.read += 1;
      }
    }
    // Both happen, so that this looks at more than the first byte.
    expect(results.read).toBeGreaterThan(results.all / 20);
    expect(results.read).toBeLessThan(results.all);
  }, 400_000);
});

const declared = (type: string, body: string) => soap(body).replace('?>', `?>${type}`);
const pulled = (inside: string) => `<tev:PullMessagesResponse>${inside}</tev:PullMessagesResponse>`;
const laughs = `<!DOCTYPE a [<!ENTITY a "ha">${Array.from({ length: 20 }, (_, n) => `<!ENTITY a${n} "&a${n - 1};&a${n - 1};">`).join('')}]>`;
const fill = (text: string) => text.repeat(Math.floor((maxBytes - 4000) / text.length));

describe('an answer that is an attack', () => {
  it.each([
    ['4 MiB of an entity it declares', declared(laughs, pulled(fill('&a19;')))],
    [
      'an entity of 1 MiB, used a thousand times',
      declared(`<!DOCTYPE a [<!ENTITY a "${'x'.repeat(1 << 20)}">]>`, pulled('&a;'.repeat(1000))),
    ],
    ['a document type alone', declared('<!DOCTYPE a>', pulled(''))],
    ['more than 4 MiB', soap(pulled('x'.repeat(maxBytes)))],
    ['a hundred thousand levels', soap(pulled(`${'<a>'.repeat(100_000)}${'</a>'.repeat(100_000)}`))],
    ['a million elements', soap(pulled(fill('<a/>')))],
    ['4 MiB of entities nobody declared', soap(pulled(fill('&lol;')))],
    ['half a comment without end', soap(pulled('<!--')).replace('</env:Body>', fill('-'))],
  ])('(%s) is refused', (_, text) => {
    expect(read(Buffer.from(text))).toBe(false);
  });

  it.each([
    ['a thousand entities nobody declared', '&lol;'.repeat(1000)],
    ['4 MiB of character references', fill('&#120;')],
  ])('(%s) grows by nothing', (_, text) => {
    const answer = readAnswer(200, Buffer.from(soap(pulled(text))), { maxBytes });
    if (!('body' in answer)) throw new Error('a fault');
    expect(answer.body.text.length).toBeLessThanOrEqual(text.length);
    expect(readNotifications(answer.body)).toEqual([]);
  });

  it('fetches nothing: an external entity is not asked for', async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.end('secret');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    site.opened.push({ stop: () => new Promise<void>((resolve) => void server.close(() => resolve())) });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const types = [
      `<!DOCTYPE a SYSTEM "${url}">`,
      `<!DOCTYPE a [<!ENTITY x SYSTEM "${url}">]>`,
      `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]>`,
      `<!DOCTYPE a [<!ENTITY % p SYSTEM "${url}"> %p;]>`,
    ];
    const one = await site.yard({
      before: ({ operation }) => {
        const type = operation === 'PullMessages' ? types.shift() : undefined;
        return type === undefined ? undefined : { body: declared(type, pulled('&x;')) };
      },
    });
    await until(() => types.length === 0, 'all of them');
    await one.linked();
    expect(asked).toBe(0);
  });
});

const hasty = { retryBaseMs: 1, retryCapMs: 2, pullGraceMs: 150, callMs: 150, emptyPullMs: 1, fullPullMs: 1 };

describe('a session whose camera answers with rubbish', () => {
  it.each([1, 2, 3])(
    'half of the time, to any question, goes on and tells what is true in the end (seed %i)',
    async (seed) => {
      const random = seeded(seed);
      // Its slots never end: each pull point whose address was garbled stays with the camera until it forgets it.
      const healthy = cameraModel({ holdMs: 1, slots: 10_000 });
      let left = 150;
      const spoils: readonly ((bytes: Uint8Array) => Reply)[] = [
        (bytes) => ({ body: cut(bytes, random) }),
        (bytes) => ({ body: mutate(bytes, random) }),
        (bytes) => ({ body: Buffer.concat([bytes, bytes]) }),
        (bytes) => ({ status: [200, 204, 400, 404, 500, 503][random(6)] ?? 200, body: cut(bytes, random) }),
        (bytes) => ({ cut: Buffer.from(cut(bytes, random)).toString('latin1') }),
        () => ({ reset: true }),
        () => ({ body: declared(laughs, pulled('&a19;')) }),
        () => ({ body: soap('') }),
      ];
      const one = await site.yard(
        {
          before: async (request, camera) => {
            const reply = await healthy.script(request, camera);
            if (left === 0 || random(2) === 0 || !('body' in reply)) return reply;
            left -= 1;
            return spoils[random(spoils.length)]?.(Buffer.from(reply.body ?? '')) ?? reply;
          },
        },
        {},
        { timing: hasty },
      );
      await until(() => left === 0, 'all the rubbish', 90_000);
      await until(() => one.state() === 'pulling' && one.made.cameras.health().state === 'ok', 'events', 30_000);
      healthy.queue.push(motion(false), motion(true));
      await until(() => detections(one.signals).at(-1)?.active === true, 'the detection');
      expect(links(one.signals).at(-1)).toBe(true);
      expect(await one.counted('code="internal"')).toBe(0);
    },
    150_000,
  );

  const operations = [
    'GetSystemDateAndTime',
    'GetDeviceInformation',
    'GetServices',
    'GetCapabilities',
    'GetProfiles',
    'CreatePullPointSubscription',
    'SetSynchronizationPoint',
    'Renew',
    'Unsubscribe',
  ];
  it.each(operations)(
    'without end, dripping or hanging to %s alone goes on',
    async (name) => {
      const replies: Reply[] = [{ drip: '<a>' }, { endless: Buffer.alloc(65_536, '<a>x</a>') }, { hang: true }];
      const one = await site.yard(
        {
          grantedMs: 1200,
          before: ({ operation }) => (operation === name ? replies.shift() : undefined),
        },
        {},
        { timing: hasty },
      );
      await one.linked();
      one.model.queue.push(motion(true));
      await until(() => detections(one.signals).length > 0, 'a detection');
      expect(await one.counted('code="internal"')).toBe(0);
    },
    60_000,
  );
});
