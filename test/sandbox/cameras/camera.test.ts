import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { takePicture } from '../../../src/sandbox/cameras/picture.ts';
import { type CameraOptions, type SimCamera, startCamera } from '../../../src/sandbox/index.ts';
import { send } from '../cloud/service.ts';
import { answerDigest, challengesOf, soap, usernameToken } from './soap-client.ts';

const login = { username: 'viewer', password: 'p&ss <ö>' };
const cameras: SimCamera[] = [];
afterEach(async () => {
  for (const camera of cameras.splice(0)) await camera.close();
});

async function start(options: Partial<CameraOptions> = {}): Promise<SimCamera> {
  const camera = await startCamera({ id: 'yard', ...login, ...options });
  cameras.push(camera);
  return camera;
}

const call = (camera: SimCamera, body: string, path = 'device_service') =>
  soap(path.startsWith('http') ? path : `${camera.url}/onvif/${path}`, body, { header: usernameToken(login) });

async function subscribe(camera: SimCamera, life = 'PT60S'): Promise<string> {
  const body = `<tev:CreatePullPointSubscription><tev:InitialTerminationTime>${life}</tev:InitialTerminationTime></tev:CreatePullPointSubscription>`;
  const answer = await call(camera, body, 'event_service');
  expect(answer.status).toBe(200);
  return /<wsa:Address>(.*?)</.exec(answer.text)![1]!;
}

const pull = (camera: SimCamera, address: string, timeout = 'PT5S', limit = 50) =>
  call(
    camera,
    `<tev:PullMessages><tev:Timeout>${timeout}</tev:Timeout><tev:MessageLimit>${limit}</tev:MessageLimit></tev:PullMessages>`,
    address,
  );

/** `topic operation value` of every message. */
const messages = (xml: string): string[] =>
  [...xml.matchAll(/<wsnt:NotificationMessage>.*?<\/wsnt:NotificationMessage>/g)].map(([message]) => {
    const [topic, operation, value] = [
      /tns1:([^<]+)/,
      /PropertyOperation="(\w+)/,
      /Data><tt:SimpleItem Name="\w+" Value="(\w+)/,
    ].map((pattern) => pattern.exec(message)?.[1]);
    return `${topic} ${operation} ${value}`;
  });

describe('device and media service', () => {
  it('tells its time to everybody and its model only to who may know', async () => {
    const camera = await start({ auth: 'wsse', clockSkewMs: 3_600_000 });
    const time = await soap(camera.deviceUrl, '<tds:GetSystemDateAndTime/>');
    const ahead = new Date(Date.now() + 3_600_000).getUTCHours();
    expect(time.text).toContain(`<tt:Hour>${ahead}</tt:Hour>`);
    const refused = await soap(camera.deviceUrl, '<tds:GetDeviceInformation/>');
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('ter:NotAuthorized');
    expect(camera.counts()).toMatchObject({ GetSystemDateAndTime: 1, GetDeviceInformation: 1, refused: 1 });
  });
  it('answers the operations a client needs, with its own addresses', async () => {
    const camera = await start();
    expect((await call(camera, '<tds:GetDeviceInformation/>')).text).toContain('<tds:SerialNumber>');
    expect((await call(camera, '<tds:GetCapabilities/>')).text).toContain(`${camera.url}/onvif/event_service`);
    expect((await call(camera, '<tds:GetServices/>')).text).toContain('ver10/events/wsdl');
    expect((await call(camera, '<tds:GetScopes/>')).text).toContain('onvif://www.onvif.org/name/yard');
    expect((await call(camera, '<tds:GetHostname/>')).text).toContain('<tt:Name>yard</tt:Name>');
    expect((await call(camera, '<tds:GetNetworkInterfaces/>')).text).toMatch(/<tt:HwAddress>02(:[0-9a-f]{2}){5}</);
    expect((await call(camera, '<trt:GetProfiles/>', 'media_service')).text).toContain('token="Profile_1"');
    expect((await call(camera, '<trt:GetVideoSources/>', 'media_service')).text).toContain('VideoSource_1');
    expect((await call(camera, '<trt:GetStreamUri/>', 'media_service')).text).toContain('rtsp://127.0.0.1');
    expect((await call(camera, '<tev:GetEventProperties/>', 'event_service')).text).toContain(
      '<tns1:VideoSource><MotionAlarm wstop:topic="true">',
    );
    expect((await call(camera, '<tds:SystemReboot/>')).text).toContain('ter:ActionNotSupported');
  });
  it.each(['no xml', '<a/>', '<!DOCTYPE a [<!ENTITY x "y">]><a><Body><b>&x;</b></a>', ''])(
    'refuses %j as SOAP',
    async (body) => {
      const camera = await start();
      const answer = await send(camera.deviceUrl, { method: 'POST', body });
      expect(answer.status).toBe(400);
      expect(answer.text).toContain('ter:WellFormed');
    },
  );
  it('gives a planned answer once', async () => {
    const camera = await start();
    camera.plan('GetProfiles', { status: 503, body: 'busy', contentType: 'text/html' });
    expect(await call(camera, '<trt:GetProfiles/>', 'media_service')).toMatchObject({ status: 503, text: 'busy' });
    expect((await call(camera, '<trt:GetProfiles/>', 'media_service')).status).toBe(200);
  });
});

describe('authentication', () => {
  const ask = (camera: SimCamera, header: string) => soap(camera.deviceUrl, '<tds:GetDeviceInformation/>', { header });

  it('takes a user name token once', async () => {
    const camera = await start({ auth: 'wsse' });
    const token = usernameToken(login);
    expect((await ask(camera, token)).status).toBe(200);
    expect((await ask(camera, token)).text).toContain('ter:NotAuthorized');
  });
  it('refuses a wrong password, a wrong user and a token of another hour', async () => {
    const camera = await start({ auth: 'wsse' });
    for (const token of [
      usernameToken({ ...login, password: 'wrong' }),
      usernameToken({ ...login, username: 'other' }),
      usernameToken(login, Date.now() - 3_600_000),
    ]) {
      expect((await ask(camera, token)).status).toBe(400);
    }
  });
  it('judges a token by its own clock', async () => {
    const camera = await start({ auth: 'wsse', clockSkewMs: -3_600_000 });
    expect((await ask(camera, usernameToken(login))).status).toBe(400);
    expect((await ask(camera, usernameToken(login, Date.now() - 3_600_000))).status).toBe(200);
  });
  it('follows a changed password', async () => {
    const camera = await start();
    camera.setPassword('new');
    expect((await ask(camera, usernameToken(login))).status).toBe(401);
    expect((await ask(camera, usernameToken({ ...login, password: 'new' }))).status).toBe(200);
  });
  it.each([0, 1])('speaks HTTP digest, challenge %i', async (which) => {
    const camera = await start({ auth: 'digest' });
    expect((await ask(camera, usernameToken(login))).status).toBe(401);
    const refused = await ask(camera, '');
    const challenge = challengesOf(refused)[which]!;
    const uri = '/onvif/device_service';
    const answerWith = (nc: number, password = login.password) =>
      soap(camera.deviceUrl, '<tds:GetDeviceInformation/>', {
        headers: { authorization: answerDigest(challenge, { method: 'POST', uri, nc }, { ...login, password }) },
      });
    expect((await answerWith(1)).status).toBe(200);
    expect((await answerWith(2)).status).toBe(200);
    const again = await answerWith(2);
    expect([again.status, challengesOf(again)[0]]).toEqual([401, expect.stringContaining('stale=true')]);
    const wrong = await answerWith(3, 'wrong');
    expect([wrong.status, challengesOf(wrong)[0]]).toEqual([401, expect.not.stringContaining('stale')]);
  });
});

describe('events', () => {
  it('tells the present state first, then changes, at once', async () => {
    const camera = await start();
    camera.tamper(true);
    const address = await subscribe(camera);
    expect(messages((await pull(camera, address)).text)).toEqual([
      'VideoSource/MotionAlarm Initialized false',
      'RuleEngine/CellMotionDetector/Motion Initialized false',
      'RuleEngine/MyRuleDetector/PeopleDetect Initialized false',
      'RuleEngine/TamperDetector/Tamper Initialized true',
    ]);
    const waiting = pull(camera, address, 'PT30S');
    await expect.poll(() => camera.counts().PullMessages).toBe(2);
    camera.person(true);
    camera.person(true);
    expect(messages((await waiting).text)).toEqual(['RuleEngine/MyRuleDetector/PeopleDetect Changed true']);
  });
  it('answers an empty long poll after its time', async () => {
    const camera = await start();
    const address = await subscribe(camera);
    await pull(camera, address);
    const answer = await pull(camera, address, 'PT0.1S');
    expect([answer.status, messages(answer.text)]).toEqual([200, []]);
    expect(answer.text).toContain('<tev:TerminationTime>');
  });
  it('keeps to the message limit and tells the rest next time', async () => {
    const camera = await start();
    const address = await subscribe(camera);
    expect(messages((await pull(camera, address, 'PT1S', 3)).text)).toHaveLength(3);
    expect(messages((await pull(camera, address, 'PT1S', 3)).text)).toHaveLength(1);
  });
  it('repeats the present state at a synchronization point', async () => {
    const camera = await start();
    const address = await subscribe(camera);
    await pull(camera, address);
    camera.motion(true);
    await pull(camera, address);
    await call(camera, '<tev:SetSynchronizationPoint/>', address);
    expect(messages((await pull(camera, address)).text)).toContain('VideoSource/MotionAlarm Initialized true');
  });
  it('renews with a duration or an absolute time, and refuses nonsense', async () => {
    const camera = await start();
    const address = await subscribe(camera);
    const renew = (time: string) =>
      call(camera, `<wsnt:Renew><wsnt:TerminationTime>${time}</wsnt:TerminationTime></wsnt:Renew>`, address);
    expect((await renew('PT5M')).text).toContain('RenewResponse');
    expect((await renew(new Date(Date.now() + 60_000).toISOString())).text).toContain('RenewResponse');
    expect((await renew('tomorrow')).status).toBe(400);
    expect((await renew(new Date(Date.now() - 60_000).toISOString())).status).toBe(400);
  });
  it('has as many pull points as it is told, and gets one back by Unsubscribe or expiry', async () => {
    const camera = await start({ subscriptionLimit: 2 });
    const address = await subscribe(camera);
    await subscribe(camera, 'PT0.2S');
    const full = await call(camera, '<tev:CreatePullPointSubscription/>', 'event_service');
    expect([full.status, full.text.includes('s:Fault')]).toEqual([500, true]);
    expect((await call(camera, '<wsnt:Unsubscribe/>', address)).status).toBe(200);
    expect((await pull(camera, address)).text).toContain('ResourceUnknownFault');
    await expect.poll(() => camera.openSubscriptions).toBe(0);
  });
  it('answers with the action and message id of the request', async () => {
    const camera = await start();
    const action = 'http://www.onvif.org/ver10/events/wsdl/EventPortType/CreatePullPointSubscription';
    const answer = await soap(`${camera.url}/onvif/event_service`, '<tev:CreatePullPointSubscription/>', {
      header: `${usernameToken(login)}<wsa:Action>${action}Request</wsa:Action><wsa:MessageID>urn:uuid:1</wsa:MessageID>`,
    });
    expect(answer.text).toContain(
      `<wsa:Action>${action}Response</wsa:Action><wsa:RelatesTo>urn:uuid:1</wsa:RelatesTo>`,
    );
  });
});

describe('away and back', () => {
  const isUp = (camera: SimCamera) =>
    soap(camera.deviceUrl, '<tds:GetSystemDateAndTime/>').then(
      () => true,
      () => false,
    );

  it('is unreachable between stop and start, at the same address, with its pull points', async () => {
    const camera = await start();
    const address = await subscribe(camera);
    await camera.stop();
    expect(await isUp(camera)).toBe(false);
    await camera.start();
    expect(await isUp(camera)).toBe(true);
    expect((await pull(camera, address)).status).toBe(200);
  });
  it('loses pull points and states in a reboot and cuts a waiting poll', async () => {
    const camera = await start();
    const address = await subscribe(camera);
    camera.motion(true);
    await pull(camera, address);
    const waiting = pull(camera, address, 'PT30S').catch(() => 'cut');
    await expect.poll(() => camera.counts().PullMessages).toBe(2);
    await camera.reboot(10);
    expect(await waiting).toBe('cut');
    expect((await pull(camera, address)).text).toContain('ResourceUnknownFault');
    const again = await subscribe(camera);
    expect(messages((await pull(camera, again)).text)[0]).toBe('VideoSource/MotionAlarm Initialized false');
  });
});

describe('snapshots', () => {
  const fetchPicture = async (camera: SimCamera) => {
    const media = await call(camera, '<trt:GetSnapshotUri/>', 'media_service');
    const uri = /<tt:Uri>(.*?)</.exec(media.text)![1]!;
    const refused = await send(uri);
    expect(refused.status).toBe(401);
    const authorization = answerDigest(challengesOf(refused)[0]!, { method: 'GET', uri: new URL(uri).pathname }, login);
    return fetch(uri, { headers: { authorization } });
  };

  it('are JPEGs behind HTTP digest, no two alike', async () => {
    const camera = await start({ auth: 'wsse' });
    const pictures = [];
    for (let n = 0; n < 2; n += 1) {
      const answer = await fetchPicture(camera);
      expect(answer.headers.get('content-type')).toBe('image/jpeg');
      pictures.push(Buffer.from(await answer.arrayBuffer()));
    }
    expect(pictures[0]!.equals(pictures[1]!)).toBe(false);
    for (const picture of pictures) expect(picture.subarray(0, 3).toString('hex')).toBe('ffd8ff');
  });
  it('are the same bytes for the same scene, and padded to a wanted size', () => {
    const scene = { id: 'yard', counter: 1, timeMs: 0, person: true, motion: false, tampered: false };
    expect(takePicture(scene).equals(takePicture(scene))).toBe(true);
    expect(takePicture(scene, 200_000).length).toBeGreaterThanOrEqual(200_000);
  });

  it('decode with ffmpeg without a complaint to the colours that were painted', () => {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-jpeg-'));
    try {
      for (const [counter, minBytes] of [
        [4711, 0],
        [999_999, 100_000],
      ] as const) {
        const file = join(folder, `${counter}.jpg`);
        writeFileSync(
          file,
          takePicture({ id: 'Yard-9', counter, timeMs: 1.8e12, person: true, motion: true, tampered: false }, minBytes),
        );
        const decoded = spawnSync('ffmpeg', ['-v', 'error', '-i', file, '-f', 'rawvideo', '-pix_fmt', 'rgb24', '-']);
        expect(decoded.stderr.toString()).toBe('');
        expect(decoded.stdout.length).toBe(640 * 360 * 3);
        const at = (x: number, y: number) => [...decoded.stdout.subarray((y * 640 + x) * 3, (y * 640 + x) * 3 + 3)];
        const door = at(58 * 8 + 4, 20 * 8 + 4);
        for (const [channel, wanted] of [0x6b, 0x42, 0x26].entries()) {
          expect(Math.abs(door[channel]! - wanted)).toBeLessThan(4);
        }
        expect(Math.max(...at(2, 2))).toBeLessThan(4);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
