import onvif from 'onvif';
import { afterEach, describe, expect, it } from 'vitest';
import { createDevice } from '#devices/onvif/device.ts';
import { createReads } from '#devices/onvif/reads.ts';
import { systemClock } from '#lib/clock.ts';
import { type CameraModel, cameraModel, type Reply, soap, startCamera } from './scripted-camera.ts';

const opened: { stop(): Promise<void> | void }[] = [];
const uncaught: unknown[] = [];
const note = (error: unknown) => uncaught.push(error);
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop();
  expect(uncaught.splice(0)).toEqual([]);
});

async function reads(before: CameraModel['before']) {
  const model = cameraModel(before === undefined ? {} : { before });
  const server = await startCamera(model.script);
  const device = createDevice({ url: server.url, clock: systemClock(), authHoldMs: 1000 });
  process.on('uncaughtException', note);
  process.on('unhandledRejection', note);
  opened.push(
    { stop: () => server.close() },
    { stop: () => device.close() },
    {
      stop: () => {
        process.off('uncaughtException', note);
        process.off('unhandledRejection', note);
      },
    },
  );
  return { server, device, reads: createReads(device) };
}

const forever = new AbortController().signal;
const on =
  (operation: string, reply: Reply): CameraModel['before'] =>
  (request) =>
    request.operation === operation ? reply : undefined;

describe('the one-shot reads through the onvif package', () => {
  it('rest on one inner function of the package, which is still there', () => {
    expect(typeof Reflect.get(onvif.Cam.prototype, '_requestPart2')).toBe('function');
    expect(typeof Reflect.get(onvif.Cam.prototype, '_request')).toBe('function');
  });

  it('keep long serial numbers and versions as the text they are', async () => {
    const { reads: read } = await reads(undefined);
    expect(await read.deviceInformation(forever)).toEqual({
      manufacturer: 'Example',
      model: '007',
      firmware: '5.50',
      serial: '00012345678901234567890',
    });
  });

  it('find services, profiles and addresses, over the address that answered', async () => {
    const { server, reads: read } = await reads(undefined);
    expect((await read.services(forever))?.href).toBe(`http://127.0.0.1:${server.port}/onvif/events`);
    expect(await read.profiles(forever)).toEqual([
      { token: 'main', name: 'Main' },
      { token: 'sub', name: 'Sub' },
    ]);
    expect(await read.snapshotAddress('main', forever)).toBe('http://10.0.0.9/picture.jpg');
    expect(await read.streamAddress('main', forever)).toBe('rtsp://u:p@10.0.0.9/live');
    expect(server.seen.find((one) => one.operation === 'GetProfiles')?.path).toBe('/onvif/media');
  });

  it('are not held up by an answer full of half namespaces, nor by an address without end', async () => {
    const { reads: read } = await reads((request) => {
      const half = 'xmlns'.repeat(200_000);
      if (request.operation === 'GetDeviceInformation') {
        return { body: soap(`<tds:GetDeviceInformationResponse>${half}</tds:GetDeviceInformationResponse>`) };
      }
      if (request.operation !== 'GetStreamUri') return undefined;
      const address = `rtsp://h/${'use'.repeat(300_000)}`;
      return {
        body: soap(
          `<trt:GetStreamUriResponse><trt:MediaUri><tt:Uri>${address}</tt:Uri></trt:MediaUri></trt:GetStreamUriResponse>`,
        ),
      };
    });
    expect((await read.deviceInformation(forever)).model).toBe('');
    await expect(read.streamAddress('main', forever)).rejects.toMatchObject({ code: 'camera_bad_answer' });
  });

  it('list all profiles of a recorder with 128 channels, and are not held up by more than that', async () => {
    const item = (n: number) => `<tt:Item${n} Name="n">1</tt:Item${n}>`;
    const items = Array.from({ length: 114 }, (_, n) => item(n)).join('');
    const profile = (n: number) =>
      `<trt:Profiles token="P${n}"><tt:Name>n</tt:Name><tt:VideoSourceConfiguration><tt:SourceToken>V${Math.floor(n / 3)}</tt:SourceToken></tt:VideoSourceConfiguration>${items}</trt:Profiles>`;
    const answer = (count: number) => ({
      body: soap(
        `<trt:GetProfilesResponse>${Array.from({ length: count }, (_, n) => profile(n)).join('')}</trt:GetProfilesResponse>`,
      ),
    });
    const recorder = await reads(on('GetProfiles', answer(384)));
    const found = await recorder.reads.profiles(forever);
    expect(found).toHaveLength(384);
    expect(new Set(found.map(({ source }) => source)).size).toBe(128);
    const hostile = await reads(on('GetProfiles', answer(460)));
    await expect(hostile.reads.profiles(forever)).rejects.toMatchObject({ code: 'camera_bad_answer' });
    // What is asked for all the time has the smaller bound.
    const other = await reads(on('GetDeviceInformation', answer(384)));
    await expect(other.reads.deviceInformation(forever)).rejects.toMatchObject({ code: 'camera_bad_answer' });
  });

  it('read the texts of a device by the charset its HTTP header names', async () => {
    const text = soap(
      '<tds:GetDeviceInformationResponse><tds:Manufacturer>Example</tds:Manufacturer><tds:Model>XX</tds:Model></tds:GetDeviceInformationResponse>',
    );
    const body = Buffer.from(text.replace('encoding="UTF-8"', ''));
    body.set([0xd6, 0xd0], body.indexOf('XX'));
    const headers = { 'content-type': 'application/soap+xml; Charset="gb2312"; action="x"' };
    const { reads: read } = await reads(on('GetDeviceInformation', { headers, body }));
    expect((await read.deviceInformation(forever)).model).toBe('中');
  });

  it('ask for the capabilities where GetServices is not known', async () => {
    const answer = soap(
      '<tds:GetCapabilitiesResponse><tds:Capabilities><tt:Device><tt:XAddr>http://10.0.0.9/d</tt:XAddr></tt:Device><tt:Events><tt:XAddr>http://10.0.0.9/old/events?a=1</tt:XAddr></tt:Events><tt:Media><tt:XAddr>http://10.0.0.9/old/media</tt:XAddr></tt:Media></tds:Capabilities></tds:GetCapabilitiesResponse>',
    );
    const { reads: read } = await reads((request) => {
      if (request.operation === 'GetServices') return { status: 500, body: '<html>' };
      return request.operation === 'GetCapabilities' ? { body: answer } : undefined;
    });
    const events = await read.services(forever);
    expect(events?.pathname).toBe('/old/events');
    expect(events?.search).toBe('?a=1');
  });

  it('fall back to the older media service where the newer one does not work', async () => {
    const names = ['http://www.onvif.org/ver10/media/wsdl', 'http://www.onvif.org/ver20/media/wsdl'];
    const services = names.map(
      (name, at) =>
        `<tds:Service><tds:Namespace>${name}</tds:Namespace><tds:XAddr>http://10.0.0.9/m${at}</tds:XAddr></tds:Service>`,
    );
    const { server, reads: read } = await reads((request) => {
      if (request.operation === 'GetServices')
        return { body: soap(`<tds:GetServicesResponse>${services.join('')}</tds:GetServicesResponse>`) };
      return request.path === '/m1' ? { status: 400, body: '' } : undefined;
    });
    await read.services(forever);
    expect((await read.profiles(forever)).length).toBe(2);
    expect(server.seen.filter((one) => one.operation === 'GetProfiles').map((one) => one.path)).toEqual(['/m1', '/m0']);
  });

  it('escape a token the camera made up', async () => {
    const { server, reads: read } = await reads(undefined);
    await read.snapshotAddress('a<b>&"', forever);
    expect(server.seen.at(-1)?.body).toContain('a&#60;b&#62;&#38;&#34;');
  });

  it.each([
    ['profiles without what the package expects', 'GetProfiles', soap('<trt:GetProfilesResponse/>')],
    ['services without a list', 'GetServices', soap('<tds:GetServicesResponse/>')],
    ['an answer to another question', 'GetDeviceInformation', soap('<tds:Other/>')],
  ])('end well when the package itself throws on %s', async (_, operation, body) => {
    const { reads: read } = await reads(on(operation, { body }));
    const call = {
      GetProfiles: read.profiles,
      GetServices: read.services,
      GetDeviceInformation: read.deviceInformation,
    }[operation];
    await call?.(forever);
    // Whatever was thrown aside would show in the turns of the loop that another call takes.
    await read.streamAddress('main', forever);
  });

  it.each<[string, Reply, string]>([
    ['a web page', { body: '<html><body>404</body></html>' }, 'camera_bad_answer'],
    ['a cut answer', { cut: '<env:Envelope' }, 'camera_unreachable'],
    ['an answer with an empty body', { body: soap('') }, 'camera_bad_answer'],
    ['a reset', { reset: true }, 'camera_unreachable'],
    [
      'a fault',
      { status: 500, body: soap('<env:Fault><faultcode>x:Y</faultcode><faultstring>why</faultstring></env:Fault>') },
      'camera_fault',
    ],
  ])('end with a typed error on %s', async (_, reply, code) => {
    const { reads: read } = await reads(on('GetDeviceInformation', reply));
    await expect(read.deviceInformation(forever)).rejects.toMatchObject({ code });
  });

  it('end when their caller leaves, and nothing of the package runs afterwards', async () => {
    const { reads: read } = await reads(on('GetDeviceInformation', { hang: true }));
    const leave = new AbortController();
    const waiting = read.deviceInformation(leave.signal);
    setTimeout(() => leave.abort(new Error('gone')), 20);
    await expect(waiting).rejects.toThrow('gone');
    expect(await read.profiles(forever)).toHaveLength(2);
  });

  it('end when their caller leaves before it is their turn, while those before and behind go on', async () => {
    const { server, reads: read } = await reads(on('GetDeviceInformation', { hang: true }));
    const [first, leave] = [new AbortController(), new AbortController()];
    const ended: string[] = [];
    const before = read.deviceInformation(first.signal).catch(() => ended.push('before'));
    const waiting = read.mac(leave.signal).catch(() => ended.push('who left'));
    const behind = read.profiles(forever).then(() => ended.push('behind'));
    leave.abort(new Error('gone'));
    await waiting;
    first.abort(new Error('gone, too'));
    await Promise.all([before, behind]);
    expect(ended).toEqual(['who left', 'before', 'behind']);
    expect(server.count('GetNetworkInterfaces')).toBe(0);
  });
});
