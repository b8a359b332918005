import { afterEach, describe, expect, it } from 'vitest';
import { Secret } from '#lib/secret.ts';
import { links, morePulls, rig, until } from './harness.ts';
import { type CameraModel, checkToken, fault } from './scripted-camera.ts';

const site = rig(afterEach);
const login = { username: 'u', password: new Secret('pass') };

/** A camera that lets its user have the events and not all else. */
const forbids =
  (operations: readonly string[], status: number): NonNullable<CameraModel['before']> =>
  (request) => {
    if (['GetSystemDateAndTime', ''].includes(request.operation)) return undefined;
    const isRight = checkToken(request.body, 'u', 'pass', Date.now()) === undefined;
    if (isRight && !operations.includes(request.operation)) return undefined;
    return status === 401 && isRight ? { status } : fault('NotAuthorized', 'Sender not Authorized');
  };

describe('an account that may have the events and not all else', () => {
  it.each([
    ['GetNetworkInterfaces', ['GetNetworkInterfaces'], 400],
    ['profiles', ['GetProfiles'], 400],
    ['addresses of pictures and streams', ['GetSnapshotUri', 'GetStreamUri'], 400],
    ['all of them', ['GetNetworkInterfaces', 'GetProfiles', 'GetSnapshotUri', 'GetStreamUri'], 400],
    ['all of them, which it tells as HTTP does', ['GetNetworkInterfaces', 'GetProfiles'], 401],
  ])('keeps its events where it may not read %s', async (_, operations, status) => {
    const one = await site.yard({ holdMs: 200, before: forbids(operations, status) }, login);
    await one.linked();
    await until(() => operations.some((name) => one.server.count(name) > 0), 'what it may not');
    await morePulls(one.server);
    expect(links(one.signals)).toEqual([true]);
    expect(one.status()).toMatchObject({ authenticated: true });
    expect(one.status()?.loginHeldS).toBeUndefined();
  });

  it('keeps them where nobody needs a password for them', async () => {
    const before: CameraModel['before'] = ({ operation }) =>
      operation === 'GetNetworkInterfaces' ? fault('NotAuthorized', 'Sender not Authorized') : undefined;
    const one = await site.yard({ before });
    await one.linked();
    await until(() => one.server.count('GetNetworkInterfaces') > 0, 'what it may not');
    await morePulls(one.server);
    expect(links(one.signals)).toEqual([true]);
  });
});
