import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { fieldTiming } from '#devices/onvif/timing.ts';
import { detections, links, morePulls, rig, until } from './harness.ts';
import { type CameraModel, fault, motion, type Reply, type Seen, soap } from './scripted-camera.ts';

/** Numbered cases of ../shared/notes/onvif-bugs.md, section B: the life of a subscription. */

const site = rig(afterEach);
const on =
  (operation: string, reply: () => Reply | undefined): NonNullable<CameraModel['before']> =>
  (request) =>
    request.operation === operation ? reply() : undefined;
/** So slow that whatever is asked before the end of the wait was asked at once. */
const patient = { retryBaseMs: 60_000, retryCapMs: 60_000 };
const endOf = ({ body }: Seen) => /TerminationTime>([^<]*)</.exec(body)?.[1] ?? '';
const asked = (seen: readonly Seen[], operation: string) => seen.filter((one) => one.operation === operation);

describe('section B, the life of a subscription', () => {
  it.each<[string, () => Reply | undefined]>([
    ['a fault', () => fault('Receiver', 'busy', 500)],
    ['HTTP 503', () => ({ status: 503, body: 'Service Unavailable' })],
    ['a reset connection', () => ({ reset: true })],
    ['a cut answer', () => ({ cut: '<env:Envelope>' })],
    ['an empty answer', () => ({ status: 200 })],
    ['a web page', () => ({ status: 200, body: '<html><body>404</body></html>' })],
    ['an answer to another question', () => ({ body: soap('<tev:Other/>') })],
  ])('bug 17: a create answered with %s is told, waited after and repeated until it works', async (_, reply) => {
    let failures = 5;
    const one = await site.yard({
      before: on('CreatePullPointSubscription', () => (failures-- > 0 ? reply() : undefined)),
    });
    await until(() => links(one.signals).includes(false), 'the link down');
    await one.linked();
    expect(failures).toBeLessThanOrEqual(0);
  });

  it.each<[string, Reply]>([
    ['a fault', fault('Receiver', 'no', 500)],
    ['an empty 200', { status: 200 }],
    ['bad XML', { body: '<env:Envelope><env:Body></env:Envelope>' }],
  ])('bug 19: a pull answered with %s costs one wait of at least a second, and no request in it', async (_, reply) => {
    expect(fieldTiming.retryBaseMs).toBeGreaterThanOrEqual(1000);
    const good = await site.yard();
    const one = await site.yard({ before: on('PullMessages', () => reply) }, {}, { timing: patient });
    await until(() => one.state() === 'backoff', 'the wait');
    const before = one.server.seen.length;
    await morePulls(good.server);
    expect(one.server.seen.length).toBe(before);
    expect(one.server.count('PullMessages')).toBe(1);
    expect(one.server.count('CreatePullPointSubscription')).toBe(1);
    expect(one.signals).toContainEqual(expect.objectContaining({ kind: 'link', up: false }));
  });

  it('bug 19: answers to pulls without times are as good as others', async () => {
    const one = await site.yard({ before: on('PullMessages', () => ({ body: soap('<tev:PullMessagesResponse/>') })) });
    await one.linked();
    await morePulls(one.server);
    expect(one.server.count('CreatePullPointSubscription')).toBe(1);
  });

  it('bug 19: a failure costs a fixed number of requests, for ever, and its pull point is ended', async () => {
    const one = await site.yard({ before: on('PullMessages', () => fault('Receiver', 'no', 500)) });
    await until(() => one.server.count('PullMessages') >= 8, 'eight failures');
    // Clock, information, services, create, synchronise, unsubscribe beside each pull.
    expect(one.server.seen.length / one.server.count('PullMessages')).toBeLessThanOrEqual(9);
    expect(one.model.live.size).toBeLessThanOrEqual(1);
  });

  it('bug 19: never more pull points are asked for in a minute than four', async () => {
    expect([fieldTiming.createsPerWindow, fieldTiming.createWindowMs]).toEqual([4, 60_000]);
    const timing = { createsPerWindow: 4, createWindowMs: 60_000, retryBaseMs: 1, retryCapMs: 2 };
    const before = on('CreatePullPointSubscription', () => fault('InvalidArgVal', 'no'));
    const one = await site.yard({ before }, {}, { timing });
    await until(() => one.server.count('CreatePullPointSubscription') === 4, 'four tries');
    await until(() => one.state() === 'subscribing', 'the limit');
    expect(one.server.count('CreatePullPointSubscription')).toBe(4);
  });

  it('bug 21: the pull point is ended at stop, and asked for with a short life', async () => {
    const one = await site.yard();
    await one.linked();
    await one.made.cameras.stop();
    expect(one.model.live.size).toBe(0);
    expect(endOf(asked(one.server.seen, 'CreatePullPointSubscription')[0] as Seen)).toBe('PT180S');
  });

  it('bug 21: what a killed daemon left is ended before the next one is made', async () => {
    const { model, server } = await site.camera({ slots: 1 });
    model.live.add(77);
    const url = `http://127.0.0.1:${server.port}/onvif/sub?Idx=77`;
    const left = JSON.stringify({ url, to: url, parameters: [], grantedMs: 1 });
    const memory = new Map([['onvif/subscription/yard', left]]);
    const made = await site.run([{ id: 'yard', url: server.url }], { memory });
    await until(() => links(made.signals).includes(true), 'the link');
    expect([...model.live]).toEqual([1]);
    expect(memory.get('onvif/subscription/yard')).toContain('Idx=1');
  });

  it('bug 21: twenty processes killed one after the other do not fill a camera that has eight slots', async () => {
    const { model, server } = await site.camera({ slots: 8 });
    const folder = mkdtempSync(join(tmpdir(), 'siteward-killed-'));
    site.opened.push({ stop: () => rmSync(folder, { recursive: true }) });
    const script = join(import.meta.dirname, 'camera-process.ts');
    let most = 0;
    for (let cycle = 0; cycle < 20; cycle += 1) {
      const child = spawn(process.execPath, [script, server.url, join(folder, 'memory')], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const gone = once(child, 'exit');
      // Every other one is killed while it pulls, the rest as soon as it asked for its pull point and wrote it down.
      if (cycle % 2 === 0) await once(child.stdout, 'data');
      else await until(() => asked(server.seen, 'SetSynchronizationPoint').length > cycle, 'a pull point');
      child.kill('SIGKILL');
      await gone;
      most = Math.max(most, model.live.size);
    }
    expect(model.made).toBe(20);
    expect(most).toBe(1);
  }, 240_000);

  it('bug 23: a camera that wants the end as a point in time gets one by its own clock, after one try each', async () => {
    const hourMs = 3_600_000;
    const one = await site.yard({
      clockOffsetMs: hourMs,
      before: (request) => {
        if (request.operation !== 'CreatePullPointSubscription' && request.operation !== 'Renew') return undefined;
        return endOf(request).startsWith('P') ? fault('InvalidArgVal', 'wants a time') : undefined;
      },
    });
    await one.linked();
    const creates = asked(one.server.seen, 'CreatePullPointSubscription');
    expect(creates.map((create) => [create.body.includes('MessageID'), endOf(create).startsWith('P')])).toEqual([
      [true, true],
      [false, true],
      [true, false],
    ]);
    const aheadMs = Date.parse(endOf(creates[2] as Seen)) - Date.now();
    expect(aheadMs).toBeGreaterThan(hourMs + 100_000);
    expect(aheadMs).toBeLessThan(hourMs + 200_000);
  });

  it('bug 23: a Renew that wants a point in time gets one, the next time at once', async () => {
    const one = await site.yard({
      grantedMs: 1200,
      before: (request) =>
        request.operation === 'Renew' && endOf(request).startsWith('P') ? fault('InvalidArgVal', '') : undefined,
    });
    await until(() => one.server.count('Renew') >= 4, 'four renewals');
    expect(asked(one.server.seen, 'Renew').map((renew) => endOf(renew).startsWith('P'))).toEqual([
      true,
      ...Array(one.server.count('Renew') - 1).fill(false),
    ]);
    expect(one.server.count('CreatePullPointSubscription')).toBe(1);
  });

  it('bug 23: a camera that renews in no way is subscribed to anew before the end, without a gap that is told', async () => {
    const one = await site.yard({ grantedMs: 1500, before: on('Renew', () => fault('ActionNotSupported', '')) });
    await until(() => one.model.made >= 3, 'a third pull point');
    expect(links(one.signals)).toEqual([true]);
    expect(one.model.live.size).toBeLessThanOrEqual(1);
    expect(one.server.count('Renew')).toBeLessThanOrEqual(2 * one.model.made);
  });

  it('bug 25: each event call carries Action, MessageID, To and ReplyTo', async () => {
    const events = ['CreatePullPointSubscription', 'PullMessages', 'Renew', 'Unsubscribe', 'SetSynchronizationPoint'];
    const whole = ({ body }: Seen) =>
      ['Action', 'MessageID', 'To', 'ReplyTo'].every((name) => body.includes(`<a:${name} `));
    const one = await site.yard({
      grantedMs: 1200,
      before: (request) =>
        events.includes(request.operation) && !whole(request) ? fault('Action failed', '', 500) : undefined,
    });
    await until(() => one.server.count('Renew') >= 1, 'a renewal');
    await one.made.cameras.stop();
    for (const name of events) expect(asked(one.server.seen, name).every(whole)).toBe(true);
    expect(links(one.signals)).toEqual([true]);
  });

  it('bug 25: a camera that renews but says it failed is pulled on', async () => {
    const one = await site.yard({ grantedMs: 60_000, before: on('Renew', () => fault('Action failed', '', 500)) });
    await one.linked();
    await morePulls(one.server);
    expect(one.server.count('CreatePullPointSubscription')).toBe(1);
  });

  const times = (now: string, end: string) =>
    `<wsnt:CurrentTime>${now}</wsnt:CurrentTime><wsnt:TerminationTime>${end}</wsnt:TerminationTime>`;
  const createdWith = (times: string, port: number): Reply => ({
    body: soap(
      `<tev:CreatePullPointSubscriptionResponse><tev:SubscriptionReference><wsa5:Address>http://127.0.0.1:${port}/onvif/sub?Idx=1</wsa5:Address></tev:SubscriptionReference>${times}</tev:CreatePullPointSubscriptionResponse>`,
    ),
  });

  it.each([
    ['bug 27: times without Z', times('2026-11-27T10:00:00', '2026-11-27T10:03:00')],
    ['bug 27: times with +02:00', times('2026-11-27T10:00:00+02:00', '2026-11-27T08:03:00Z')],
    ['bug 27: times that are none', times('now', 'soon')],
    ['bug 27: no times', ''],
    ['bug 27: minute 61', times('2026-11-27T10:00:00Z', '2026-11-27T10:61:00Z')],
    ['bug 29: an end equal to the beginning', times('2026-11-27T10:00:00Z', '2026-11-27T10:00:00Z')],
    ['bug 29: an end before the beginning', times('2026-11-27T10:00:00Z', '1970-01-01T00:00:00Z')],
  ])('%s: the pull point lives as long as was asked for, and is used', async (_, text) => {
    const one = await site.yard({
      live: new Set([1]),
      before: (request, server) =>
        request.operation === 'CreatePullPointSubscription' ? createdWith(text, server.port) : undefined,
    });
    await one.linked();
    await morePulls(one.server);
    expect(one.server.count('CreatePullPointSubscription')).toBe(1);
    expect(one.server.count('Renew')).toBe(0);
  });

  const address = (text: string) => (request: Seen) =>
    request.operation === 'CreatePullPointSubscription'
      ? {
          body: soap(
            `<tev:CreatePullPointSubscriptionResponse><tev:SubscriptionReference><wsa5:Address>${text}</wsa5:Address></tev:SubscriptionReference></tev:CreatePullPointSubscriptionResponse>`,
          ),
        }
      : undefined;

  it.each([
    ['an inner address', 'http://192.168.1.64/sub?Idx=1', '/sub?Idx=1'],
    ['an inner address with another port', 'http://192.168.1.64:8000/sub?Idx=1', '/sub?Idx=1'],
    ['another scheme', 'https://192.168.1.64/sub?Idx=1', '/sub?Idx=1'],
    ['0.0.0.0', 'http://0.0.0.0/sub?Idx=1', '/sub?Idx=1'],
    ['an IPv6 address with a zone', 'http://[fe80::1%25eth0]:8080/sub?Idx=1', '/sub?Idx=1'],
    ['an IPv6 address with a bare zone', 'http://[fe80::1%eth0]/sub?Idx=1', '/sub?Idx=1'],
    ['an address without a scheme', '192.168.1.64:80/sub?Idx=1', '/sub?Idx=1'],
    ['a relative address', '/sub?Idx=1', '/sub?Idx=1'],
    ['line breaks', '\n  http://192.168.1.64/sub?Idx=1\n', '/sub?Idx=1'],
    ['nothing', '', '/onvif/events'],
    ['no address', 'urn:uuid:5', '/onvif/events'],
  ])('bug 31: a pull point at %s is pulled at the host that answered', async (_, text, path) => {
    const one = await site.yard({ before: address(text) });
    await until(() => one.server.count('PullMessages') > 0, 'a pull');
    expect(asked(one.server.seen, 'PullMessages')[0]?.path).toBe(path);
  });

  it('bug 31: as_reported goes where the camera says', async () => {
    const other = await site.camera();
    const text = `http://127.0.0.1:${other.server.port}/onvif/sub?Idx=1`;
    await site.yard({ before: address(text) }, { addresses: 'as_reported' });
    await until(() => other.server.count('PullMessages') > 0, 'a pull at the other port');
  });

  it.each<[string, Reply]>([
    ['the fault ResourceUnknown, HTTP 500', fault('ResourceUnknown', 'no such pull point', 500)],
    ['the fault InvalidArgVal', fault('InvalidArgVal', '')],
    ['HTTP 404', { status: 404, body: '<html>404</html>' }],
    ['HTTP 400', { status: 400 }],
  ])(
    'bug 33: a pull answered with %s brings one new pull point, and clock and profiles are read again',
    async (_, reply) => {
      let lost = false;
      const one = await site.yard({
        before: (request) => {
          if (request.operation !== 'PullMessages' || !lost) return undefined;
          lost = false;
          return reply;
        },
      });
      await one.linked();
      await until(() => one.server.count('GetProfiles') === 1, 'the profiles');
      const clocks = one.server.count('GetSystemDateAndTime');
      lost = true;
      await until(() => one.server.count('GetProfiles') === 2, 'the profiles again');
      expect(one.server.count('GetSystemDateAndTime')).toBe(clocks + 1);
      expect(one.model.made).toBe(2);
      one.model.queue.push(motion(true));
      await until(() => detections(one.signals).length === 1, 'a detection');
      // One lost pull is repaired before anyone is told.
      expect(links(one.signals)).toEqual([true]);
      expect([...one.model.live]).toEqual([2]);
    },
  );

  it('bug 33: a camera that started anew is told from a line that was cut', async () => {
    let cut = false;
    const one = await site.yard({
      before: (request) => (cut && request.operation !== '' ? { reset: true } : undefined),
    });
    const breakLine = async () => {
      cut = true;
      await until(() => one.status()?.reachable === false, 'no connection');
      cut = false;
      await until(() => one.state() === 'pulling', 'events again');
    };
    await one.linked();
    await breakLine();
    expect(one.status()?.rebootSeenAt).toBeUndefined();
    cut = true;
    one.model.live.clear();
    await breakLine();
    expect(one.status()?.rebootSeenAt).toBeGreaterThan(0);
  });

  it.each<[string, Reply]>([
    ['is cut', { cut: '<env:Envelope' }],
    ['hangs', { hang: true }],
    ['drips for ever', { drip: '<env:Envelope>' }],
    ['has no end', { endless: Buffer.alloc(65_536, '<a>x</a>') }],
  ])(
    'bug 35: an answer to a pull that %s ends with its deadline or at its bound, and the session goes on',
    async (_, reply) => {
      let failures = 1;
      const one = await site.yard(
        { before: on('PullMessages', () => (failures-- > 0 ? reply : undefined)) },
        {},
        // A cut before `emptyPullMs` is none of a pull that was held too long.
        { timing: { pullGraceMs: 200, callMs: 300, emptyPullMs: 5000 } },
      );
      await one.linked();
      expect(one.model.made).toBe(2);
      expect(one.made.cameras.health().state).toBe('ok');
    },
  );

  it('bug 37: a camera that answers empty pulls at once is asked once a second at most', async () => {
    expect(fieldTiming.emptyPullMs).toBeGreaterThanOrEqual(1000);
    const good = await site.yard();
    const one = await site.yard({ holdMs: 0 }, {}, { timing: { emptyPullMs: 60_000 } });
    await one.linked();
    await morePulls(good.server);
    expect(one.server.count('PullMessages')).toBe(1);
  });

  it('bug 39: no filter is sent', async () => {
    const one = await site.yard({
      before: (request) => (request.body.includes('Filter') ? { status: 500 } : undefined),
    });
    await one.linked();
    expect(one.server.seen.some((request) => request.body.includes('Filter'))).toBe(false);
  });

  it('bug 39b: pulls go to the address given out, which they name', async () => {
    const one = await site.yard({
      before: (request) => {
        if (request.operation !== 'PullMessages') return undefined;
        const to = /<a:To [^>]*>([^<]*)</.exec(request.body)?.[1];
        return to === 'http://10.0.0.9/onvif/sub?Idx=1' && request.path === '/onvif/sub?Idx=1'
          ? undefined
          : fault('ResourceUnknownFault', 'Unkown Pullpoint');
      },
    });
    await one.linked();
    expect(one.model.made).toBe(1);
  });

  it('bug 68: a subscription that vanishes again and again is told: another client takes it', async () => {
    const one = await site.yard({ slots: 1 });
    await one.linked();
    for (let times = 1; times <= 3; times += 1) {
      expect(one.status()?.warnings).toEqual([]);
      one.model.live.clear();
      await until(() => one.model.made === times + 1 && one.state() === 'pulling', 'a new pull point');
    }
    expect(one.status()?.warnings).toEqual([
      { code: 'taken_over', text: expect.stringContaining('taken over by another client') },
    ]);
    expect(await one.counted('code="taken_over"')).toBe(1);
    expect(links(one.signals)).toEqual([true]);
  });

  it('bug 68: a Renew refused with an empty text ends nothing', async () => {
    const one = await site.yard({ grantedMs: 2000, before: on('Renew', () => fault('', '')) });
    await until(() => one.server.count('Renew') >= 2, 'two tries to renew');
    await until(() => one.model.made === 2, 'a pull point in time');
    expect(links(one.signals)).toEqual([true]);
  });

  it('a camera that is full says so in words', async () => {
    const one = await site.yard({ slots: 0 });
    await until(() => links(one.signals).includes(false), 'the link down');
    expect(one.status()?.reason).toContain('subscriptions are taken');
    expect(one.server.count('CreatePullPointSubscription')).toBeLessThanOrEqual(2);
  });
});
