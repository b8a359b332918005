import { afterEach, describe, expect, it } from 'vitest';
import type { Device, SoapReply } from '#devices/onvif/device.ts';
import { createOccupant } from '#devices/onvif/occupant.ts';
import { Secret } from '#lib/secret.ts';
import type { Signal } from '#site/model/index.ts';
import { type Harness, links, memoryPort, morePulls, rig, until } from './harness.ts';
import { type CameraModel, checkDigest, fault, type Reply, type Seen, soap } from './scripted-camera.ts';

const site = rig(afterEach);
const login = { username: 'u', password: new Secret('pass') };

interface Named {
  serial?: string;
  maker?: string;
  model?: string;
  firmware?: string;
}

const names = ({ serial = 'REAL-0001', maker = 'Example', model = 'M7', firmware = '1' }: Named): Reply => ({
  body: soap(
    `<tds:GetDeviceInformationResponse><tds:Manufacturer>${maker}</tds:Manufacturer><tds:Model>${model}</tds:Model><tds:FirmwareVersion>${firmware}</tds:FirmwareVersion><tds:SerialNumber>${serial}</tds:SerialNumber><tds:HardwareId>1</tds:HardwareId></tds:GetDeviceInformationResponse>`,
  ),
});
const device =
  (named: Named, guarded = false): NonNullable<CameraModel['before']> =>
  (request: Seen) => {
    const challenge = { 'www-authenticate': 'Digest realm="x", nonce="n", qop="auth"' };
    const wrong = checkDigest(request, { user: 'u', password: 'pass', realm: 'x', nonce: 'n' });
    if (guarded && request.operation !== 'GetSystemDateAndTime' && wrong !== undefined)
      return { status: 401, headers: challenge };
    return request.operation === 'GetDeviceInformation' ? names(named) : undefined;
  };

const tampers = (signals: readonly Signal[]) =>
  signals.flatMap((signal) => (signal.kind === 'trouble' && signal.trouble === 'tamper' ? [signal] : []));
const codes = (made: Harness) => made.cameras.status()[0]?.warnings.map(({ code }) => code);

/** Events have arrived of one device; then it is gone, and the other one answers at its address. */
async function swapped(first: NonNullable<CameraModel['before']>, second: NonNullable<CameraModel['before']>) {
  const one = await site.yard({ before: first }, login);
  await one.linked();
  const become = async (other: NonNullable<CameraModel['before']>) => {
    one.model.before = () => ({ reset: true });
    await until(() => links(one.signals).at(-1) === false, 'the loss');
    one.model.before = other;
    await one.linked();
  };
  await become(second);
  return { ...one, become, last: () => tampers(one.signals).at(-1) };
}

describe('the device that belongs to a place', () => {
  const withMac =
    (mac: string, named: Named): NonNullable<CameraModel['before']> =>
    (request, camera) =>
      request.operation === 'GetNetworkInterfaces'
        ? {
            body: soap(
              `<tds:GetNetworkInterfacesResponse><tt:HwAddress>${mac}</tt:HwAddress></tds:GetNetworkInterfacesResponse>`,
            ),
          }
        : device(named)(request, camera);
  const known = { model: 'M7', serial: 'REAL-0001', mac: '00:11:22:aa:bb:cc' };

  it('is known by its MAC, model and serial number, after a restart before it answers, too', async () => {
    const memory = new Map<string, string>();
    const one = await site.yard({ before: withMac('00-11-22-AA-BB-CC', {}) }, login, { memory });
    await until(() => memory.get('onvif/learned/yard')?.includes(known.mac) === true, 'the MAC');
    expect(one.status()?.identity).toEqual(known);
    await one.made.cameras.stop();
    one.model.before = () => ({ reset: true });
    const again = await site.run([{ id: 'yard', url: one.server.url, ...login }], { memory });
    await until(() => again.cameras.status()[0]?.identity !== undefined, 'what was remembered');
    expect(again.cameras.status()[0]?.identity).toEqual(known);
  });

  it('stays that while another one answers', async () => {
    const one = await swapped(withMac(known.mac, {}), withMac('00:11:22:aa:bb:dd', { serial: 'OTHER-2' }));
    await morePulls(one.server);
    expect(one.status()).toMatchObject({ serial: 'OTHER-2', identity: { serial: 'REAL-0001' } });
    expect(one.status()?.identity?.mac).not.toBe('00:11:22:aa:bb:dd');
  });
});

describe('another device at the address of a camera', () => {
  it('is a trouble that names both, until the right one is back', async () => {
    const one = await swapped(device({}), device({ serial: 'THIEF-666', model: 'Copy' }));
    expect(one.last()).toMatchObject({ active: true, source: { kind: 'camera', id: 'yard' } });
    const text = 'another device answers here: was Example M7 serial REAL-0001, is Example Copy serial THIEF-666';
    expect(one.last()?.detail).toContain(text);
    expect(one.last()?.detail).toContain('siteward camera trust yard');
    expect(one.status()?.warnings).toMatchObject([{ code: 'other_device' }]);
    await one.become(device({}));
    expect(one.last()).toMatchObject({ active: false });
    expect(one.status()?.warnings).toEqual([]);
  });

  it('is one after a restart as well, and until a person says that it is meant', async () => {
    const memory = new Map<string, string>();
    const one = await site.yard({ before: device({}) }, login, { memory });
    await one.linked();
    await one.made.cameras.stop();
    one.model.before = device({ serial: 'NEW-00002' });
    const again = await site.run([{ id: 'yard', url: one.server.url, ...login }], { memory });
    await until(() => links(again.signals).includes(true), 'the link');
    expect(tampers(again.signals).at(-1)).toMatchObject({ active: true });
    expect((await again.cameras.certificate('yard')).device?.is).toBe('Example M7 serial NEW-00002');
    const trust = (name: string) => again.cameras.trustDevice('yard', name);
    await expect(trust('Example M7 serial REAL-0001')).rejects.toMatchObject({ code: 'camera_refused' });
    expect(codes(again)).toEqual(['other_device']);
    await trust('Example M7 serial NEW-00002');
    expect(tampers(again.signals).at(-1)).toMatchObject({ active: false });
    expect(codes(again)).toEqual([]);
    await again.cameras.stop();
    const third = await site.run([{ id: 'yard', url: one.server.url, ...login }], { memory });
    await until(() => links(third.signals).includes(true), 'the link');
    expect(tampers(third.signals).map(({ active }) => active)).toEqual([false]);
  });

  it('is one also where the store answers late, and the device of before stays the one that is meant', async () => {
    const memory = new Map<string, string>();
    const one = await site.yard({ before: device({}) }, login, { memory });
    await one.linked();
    await one.made.cameras.stop();
    one.model.before = device({ serial: 'NEW-00002' });
    let isBusy = true;
    const store = memoryPort(memory);
    const get = async (key: string) => {
      if (isBusy && key.startsWith('onvif/learned/')) throw new Error('busy');
      return await store.get(key);
    };
    const yard = { id: 'yard', url: one.server.url, ...login };
    const again = await site.run([yard], { port: { ...store, get }, timing: { clockEveryMs: 50 } });
    await until(() => links(again.signals).includes(true), 'the link');
    await morePulls(one.server);
    expect(tampers(again.signals)).toEqual([]);
    expect(memory.get('onvif/learned/yard')).toContain('REAL-0001');
    isBusy = false;
    await until(() => tampers(again.signals).at(-1)?.active === true, 'the trouble');
    expect(memory.get('onvif/learned/yard')).toContain('REAL-0001');
  });

  it('that a person says is meant is kept as soon as the store takes it', async () => {
    const memory = new Map<string, string>();
    let isFull = false;
    const store = memoryPort(memory);
    const set = async (key: string, value: string) => {
      if (isFull) throw new Error('full');
      await store.set(key, value);
    };
    const one = await site.yard({ before: device({}) }, login, {
      port: { ...store, set },
      timing: { clockEveryMs: 50 },
    });
    await one.linked();
    one.model.before = () => ({ reset: true });
    await until(() => links(one.signals).at(-1) === false, 'the loss');
    one.model.before = device({ serial: 'NEW-00002' });
    await one.linked();
    isFull = true;
    await one.made.cameras.trustDevice('yard', 'Example M7 serial NEW-00002');
    expect(memory.get('onvif/learned/yard')).toContain('REAL-0001');
    isFull = false;
    await until(() => memory.get('onvif/learned/yard')?.includes('NEW-00002') === true, 'the memory');
  });

  it('is told as over where a replaced one, which names itself to nobody, answers at another address', async () => {
    const memory = new Map<string, string>();
    const one = await site.yard({ before: device({}) }, login, { memory });
    await one.linked();
    await one.made.cameras.stop();
    const { server } = await site.camera({
      before: ({ operation }) => (operation === 'GetDeviceInformation' ? fault('ActionNotSupported', '') : undefined),
    });
    const again = await site.run([{ id: 'yard', url: server.url, ...login }], { memory });
    await until(() => tampers(again.signals).length > 0, 'the end of a trouble');
    expect(tampers(again.signals)[0]).toMatchObject({ active: false });
  });

  it('that is trusted while yet another one is asked, is the one that is meant', async () => {
    let answer = () => {};
    const asked = new Promise<SoapReply>((_, reject) => {
      answer = () => reject(new Error('401'));
    });
    let call = async () => Promise.reject(new Error('401')) as Promise<SoapReply>;
    const occupant = createOccupant({ kind: 'camera', id: 'yard' }, {
      authenticated: true,
      call: () => call(),
    } as Partial<Device> as Device);
    const named = (serial: string) =>
      occupant.named(
        { manufacturer: 'Example', model: 'M7', serial, firmware: '1' },
        { before: true, wasAway: true },
        new AbortController().signal,
      );
    occupant.use({ maker: 'Example', model: 'M7', serial: 'REAL-0001', guarded: true });
    await named('NEW-00002');
    call = () => asked;
    const third = named('THIRD-003');
    expect(occupant.doubted?.is).toContain('NEW-00002');
    occupant.trust('Example M7 serial NEW-00002');
    answer();
    await third;
    expect(occupant.known).toMatchObject({ serial: 'NEW-00002', guarded: true });
    expect(occupant.doubted?.is).toContain('THIRD-003');
  });

  it.each<[string, Named, Named, boolean]>([
    ['another serial number', {}, { serial: 'REAL-0002' }, true],
    ['a model that a firmware calls otherwise', {}, { model: 'M7 v2' }, false],
    ['one serial number for all, of another maker', {}, { maker: 'Other', model: 'X' }, true],
    ['no serial number, another model', { serial: '' }, { serial: '', model: 'X' }, true],
    [
      'no serial number, a model that an update calls otherwise',
      { serial: '' },
      { serial: '', model: 'X', firmware: '2' },
      false,
    ],
    [
      'no serial number, another maker and firmware',
      { serial: '' },
      { serial: '', maker: 'Other', firmware: '2' },
      true,
    ],
    ['no serial number, the same model', { serial: '' }, { serial: '' }, false],
    ['zeros for a serial number, another maker', { serial: '00000000' }, { serial: '00000000', maker: 'Other' }, true],
    ['a serial number it did not tell before', { serial: '' }, {}, false],
    ['nothing at all', {}, { serial: '', maker: '', model: '' }, false],
  ])('%s', async (_, first, second, isOther) => {
    const one = await swapped(device(first), device(second));
    expect(one.last()?.active).toBe(isOther);
  });

  it('that takes no password, where one was wanted, is told, also where it calls itself the same', async () => {
    const one = await swapped(device({}, true), device({}));
    expect(codes(one.made)).toEqual(['no_password']);
    expect(one.last()?.active).toBe(false);
    await one.become(device({}, true));
    expect(codes(one.made)).toEqual([]);
  });

  it('a device that never wanted a password for its name is not doubted for that', async () => {
    const one = await swapped(device({}), device({}));
    expect(codes(one.made)).toEqual([]);
  });
});
