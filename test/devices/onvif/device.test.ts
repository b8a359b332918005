import { afterEach, describe, expect, it } from 'vitest';
import { createDevice } from '#devices/onvif/device.ts';
import { createReads } from '#devices/onvif/reads.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { systemClock } from '#lib/clock.ts';
import { Secret } from '#lib/secret.ts';
import { rig, until } from './harness.ts';
import {
  type CameraModel,
  cameraModel,
  checkToken,
  fault,
  type Reply,
  type Seen,
  startCamera,
} from './scripted-camera.ts';

const opened: { stop(): Promise<void> | void }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop();
});

const site = rig(afterEach);
const forever = new AbortController().signal;
const hourMs = 3_600_000;

async function open(
  change: Partial<CameraModel>,
  options: { username?: string; clock?: ReturnType<typeof manualClock> } = {},
) {
  const model = cameraModel(change);
  const server = await startCamera(model.script);
  const { username = 'u', clock = systemClock() } = options;
  const login = username === '' ? {} : { username, password: new Secret('right') };
  const device = createDevice({ url: server.url, ...login, clock, authHoldMs: 900_000 });
  opened.push({ stop: () => server.close() }, { stop: () => device.close() });
  return { model, server, device, ask: () => createReads(device).deviceInformation(forever) };
}

/** Takes a token whose time is right by this clock; the clock itself is asked without one. */
const signedBy = (now: () => number): NonNullable<CameraModel['before']> => {
  return (request) => {
    if (request.operation === 'GetSystemDateAndTime') return undefined;
    return checkToken(request.body, 'u', 'right', now()) === undefined ? undefined : fault('NotAuthorized', '');
  };
};

describe('a camera that wants credentials', () => {
  it('gets none before it asks, and then the same kind at once', async () => {
    const { server, ask } = await open({ before: signedBy(Date.now) });
    await ask();
    await ask();
    expect(server.seen.map((one) => one.body.includes('UsernameToken'))).toEqual([false, true, true]);
  });

  it('is not asked again and again when no user is configured', async () => {
    const { server, ask } = await open({ before: signedBy(Date.now) }, { username: '' });
    await expect(ask()).rejects.toMatchObject({
      code: 'camera_auth',
      message: expect.stringContaining('none is configured'),
    });
    await expect(ask()).rejects.toMatchObject({ code: 'camera_auth' });
    expect(server.seen.length).toBe(1);
  });

  it('is left alone for 15 minutes after two refusals, then gets one try', async () => {
    const clock = manualClock();
    const { server, ask } = await open({ before: () => fault('NotAuthorized', '') }, { clock });
    const tries = () => server.seen.filter((one) => one.body.includes('UsernameToken')).length;
    await expect(ask()).rejects.toMatchObject({ code: 'camera_auth', facts: { retryInS: 900 } });
    expect(tries()).toBe(2);
    clock.advance(899_000);
    await expect(ask()).rejects.toMatchObject({ code: 'camera_auth' });
    expect(tries()).toBe(2);
    clock.advance(1000);
    await expect(ask()).rejects.toMatchObject({ code: 'camera_auth' });
    expect(tries()).toBe(3);
  });
});

/** Many cameras lock an account at the fifth of them. */
describe('tries with a password that was changed at the camera', () => {
  const signed = ({ headers }: Seen) => headers.authorization !== undefined;
  const challenge = (nonce: number): Reply => ({
    status: 401,
    headers: { 'www-authenticate': `Digest realm="x", nonce="n${nonce}", qop="auth"` },
  });

  it('count also where the camera may refuse the call itself', async () => {
    let nonce = 0;
    const { server, device } = await open({ before: () => challenge(nonce++) });
    const call = { name: 'x', action: 'x', body: '<x/>', timeoutMs: 5000, optional: true, signal: forever };
    await expect(device.call(call)).rejects.toMatchObject({ code: 'camera_fault', facts: { status: 401 } });
    await expect(device.call(call)).rejects.toMatchObject({ code: 'camera_auth' });
    await expect(device.call(call)).rejects.toMatchObject({ code: 'camera_auth' });
    expect(server.seen.filter(signed).length).toBeLessThan(5);
  });

  it.each([
    { name: 'one nonce for ever', fresh: false, optional: false },
    { name: 'one nonce for ever, of a call that may be refused', fresh: false, optional: true },
    { name: 'a fresh nonce each time', fresh: true, optional: false },
    { name: 'a fresh nonce each time, of a call that may be refused', fresh: true, optional: true },
  ])('stay below it also where it was away meanwhile: $name', async ({ fresh, optional }) => {
    const clock = manualClock();
    let nonce = 0;
    const { server, device, model, ask } = await open({}, { clock });
    const asks = () => challenge(fresh ? nonce++ : 0);
    model.before = (request) => (signed(request) ? undefined : asks());
    await ask();
    model.before = () => ({ reset: true });
    await expect(ask()).rejects.toMatchObject({ code: 'camera_unreachable' });
    model.before = asks;
    const from = server.seen.filter(signed).length;
    const call = { name: 'x', action: 'x', body: '<x/>', timeoutMs: 5000, optional, signal: forever };
    for (let minute = 0; minute < 6; minute += 1) {
      await expect(device.call(call)).rejects.toThrow();
      clock.advance(61_000);
    }
    expect(device.account.leftMs('events')).toBeGreaterThan(0);
    expect(server.seen.filter(signed).length - from).toBeLessThanOrEqual(4);
  });

  it('stay below what locks the account, also where a renewal comes first', async () => {
    let nonce = 0;
    let wrong = 0;
    const one = await site.yard(
      {
        grantedMs: 2000,
        before: (request) => {
          if (request.operation === 'GetSystemDateAndTime') return undefined;
          if (wrong === 0 && signed(request) && request.operation !== 'Renew') return undefined;
          if (signed(request)) wrong += 1;
          return challenge(nonce++);
        },
      },
      { username: 'u', password: new Secret('right') },
    );
    await until(() => one.state() === 'auth_failed', 'auth_failed');
    expect(one.server.count('Renew')).toBe(2);
    expect(wrong).toBeLessThan(5);
  });
});

describe('the clock of a camera', () => {
  it('is followed on the monotonic clock: a step of ours changes nothing', async () => {
    const clock = manualClock();
    const { device } = await open({}, { clock });
    await device.readClock(forever);
    const before = device.clock.now();
    clock.step(10 * hourMs);
    expect(device.clock.now()).toBe(before);
    clock.advance(1000);
    expect(device.clock.now()).toBe(before + 1000);
  });
});

describe('a redirect', () => {
  it('on the same host is followed, to another host it is not', async () => {
    const same = await open({
      before: (request) =>
        request.path === '/onvif/device_service' ? { status: 307, headers: { location: '/onvif/new' } } : undefined,
    });
    expect((await same.ask()).model).toBe('007');
    const other = await open({ before: () => ({ status: 307, headers: { location: 'http://localhost:9/x' } }) });
    await expect(other.ask()).rejects.toMatchObject({ code: 'camera_bad_answer', facts: { status: 307 } });
  });

  it('in a circle ends', async () => {
    const { server, ask } = await open({ before: () => ({ status: 302, headers: { location: '/onvif/round' } }) });
    await expect(ask()).rejects.toMatchObject({ code: 'camera_bad_answer' });
    expect(server.seen.length).toBe(4);
  });
});
