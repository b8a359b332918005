import { describe, expect, it } from 'vitest';
import { pictureAddresses, repairAddress, shownAddress } from '#devices/onvif/address.ts';
import { cameraOptions } from '#devices/onvif/index.ts';

describe('one entry of cameras', () => {
  const base = { id: 'yard', url: 'http://192.0.2.10/onvif/device_service' };

  it('needs only a name and an address, and has safe defaults', () => {
    expect(cameraOptions.parse(base)).toEqual({
      ...base,
      basic_login: false,
      chime: false,
      confirms: true,
      pictures: 'alarm',
      clips: [],
      pre_roll: 0,
      pull: 20_000,
      addresses: 'repaired',
    });
  });

  it('takes the outline of the example file', () => {
    const entry = { ...base, username: 'siteward', password: { credential: 'cam-yard' }, zone: '21' };
    const parsed = cameraOptions.parse(entry);
    expect(String(parsed.password)).toBe('credential cam-yard');
  });

  it.each([
    ['a password in clear', { username: 'u', password: 'geheim' }, 'password'],
    ['a password without a user', { password: { env: 'X' } }, 'username'],
    ['credentials in the address', { url: 'http://u:p@192.0.2.10/' }, 'url'],
    ['another scheme', { url: 'rtsp://192.0.2.10/' }, 'url'],
    ['an unknown key', { pasword: 1 }, ''],
    ['an unknown class', { detections: ['motoin'] }, 'detections.0'],
    ['a pull without a unit', { pull: 20 }, 'pull'],
    ['a pull that is too long', { pull: '2h' }, 'pull'],
  ])('is refused with %s', (_, change, path) => {
    const result = cameraOptions.safeParse({ ...base, ...change });
    expect(result.success).toBe(false);
    expect(result.error?.issues.map((issue) => issue.path.join('.'))).toContain(path);
    expect(JSON.stringify(result.error?.issues)).not.toContain('geheim');
  });

  it('is explained key by key', () => {
    for (const [key, schema] of Object.entries(cameraOptions.shape)) {
      const { description } = schema as { description?: string };
      expect({ key, said: (description ?? '').length > 10 }).toEqual({ key, said: true });
    }
  });
});

describe('an address a camera reports', () => {
  const base = new URL('http://198.51.100.7:8080/onvif/device_service');
  it.each([
    ['http://192.168.1.64/onvif/sub?Idx=3', 'http://198.51.100.7:8080/onvif/sub?Idx=3'],
    ['http://0.0.0.0/sub', 'http://198.51.100.7:8080/sub'],
    ['http://0.0.0.0:5000/sub', 'http://198.51.100.7:8080/sub'],
    ['/onvif/sub', 'http://198.51.100.7:8080/onvif/sub'],
    ['http://[fe80::1]/sub', 'http://198.51.100.7:8080/sub'],
    ['https://198.51.100.7/sub', 'http://198.51.100.7:8080/sub'],
    ['http://198.51.100.7:9999/sub', 'http://198.51.100.7:8080/sub'],
    ['\n http://192.168.1.64\n/sub ', 'http://198.51.100.7:8080/sub'],
    ['', 'http://198.51.100.7:8080/onvif/device_service'],
    ['urn:uuid:1', 'http://198.51.100.7:8080/onvif/device_service'],
    ['http://', 'http://198.51.100.7:8080/onvif/device_service'],
  ])('%j is used as %s', (reported, used) => {
    expect(repairAddress(reported, base).href).toBe(used);
  });

  it('keeps the brackets of an IPv6 camera', () => {
    expect(repairAddress('http://10.0.0.1/x', new URL('http://[2001:db8::7]:81/d')).href).toBe(
      'http://[2001:db8::7]:81/x',
    );
  });

  it('is used as it is where that is configured, unless it is nobody', () => {
    expect(repairAddress('http://u:p@192.168.1.64:81/x', base, 'as_reported').href).toBe('http://192.168.1.64:81/x');
    expect(repairAddress('http://0.0.0.0/x', base, 'as_reported').href).toBe('http://198.51.100.7:8080/x');
  });

  it('of a picture is also tried on the reported port', () => {
    const tries = (text: string) => pictureAddresses(text, base, 'repaired').map((url) => url.href);
    expect(tries('http://198.51.100.7/p.jpg')).toEqual(['http://198.51.100.7/p.jpg', 'http://198.51.100.7:8080/p.jpg']);
    expect(tries('http://10.0.0.1:82/p.jpg')).toEqual([
      'http://198.51.100.7:8080/p.jpg',
      'http://198.51.100.7:82/p.jpg',
    ]);
    expect(tries('http://10.0.0.1:8080/p.jpg')).toEqual(['http://198.51.100.7:8080/p.jpg']);
  });
});

describe('an address of a camera as it is shown', () => {
  it.each([
    ['rtsp://10.0.0.9:554/live/1?channel=2&subtype=0', 'rtsp://10.0.0.9:554/live/1'],
    ['rtsp://[fe80::1]:554/live', 'rtsp://[fe80::1]:554/live'],
    ['rtsp://u:p@10.0.0.9/live', 'rtsp://10.0.0.9/live'],
    ['rtsp://u:s/e@cr?et@10.0.0.9/live', 'rtsp://10.0.0.9/live'],
    ['rtsp://10.0.0.9/live?u=u&p=s/e_cret&x=1', 'rtsp://10.0.0.9/live'],
    ['rtsp://10.0.0.9?pw=secret', 'rtsp://10.0.0.9'],
    ['rtsp://10.0.0.9/live#secret', 'rtsp://10.0.0.9/live'],
    ['rtsp://10.0.0.9/user=u_password=s_ec/ret_channel=1_stream=0.sdp', 'rtsp://10.0.0.9/user...'],
    ['rtsp://10.0.0.9/live;pwd:secret', 'rtsp://10.0.0.9/live...'],
    ['rtsp://10.0.0.9/admin:secret/ch1', 'rtsp://10.0.0.9/admin...'],
    ['rtsp://10.0.0.9/pa%73sword%3Dsecret/1', 'rtsp://10.0.0.9/pa%73sword...'],
    ['secret', '...'],
  ])('has no part of a password: %s', (address, shown) => {
    expect(shownAddress(address)).toBe(shown);
  });
});
