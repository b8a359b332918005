import { expect, onTestFinished, test } from 'vitest';
import type { Settings } from '#config/index.ts';
import type { CameraEntry, InspectBody } from '#lan/http/index.ts';
import { systemClock } from '#lib/clock.ts';
import { never } from '#lib/wait.ts';
import { startCamera as simulate } from '#sandbox/cameras/index.ts';
import type { AuditDraft } from '#site/model/index.ts';
import { findCamerasPort } from '../../src/daemon/find-cameras-port.ts';
import {
  cameraModel,
  fault,
  type Reply,
  type Script,
  type Seen,
  soap,
  startCamera,
} from '../devices/onvif/scripted-camera.ts';

const password = 'a-password-that-nobody-keeps';
const by = { source: 'lan', client: 'account:ines', address: '192.0.2.7' } as const;

function started(known: Partial<CameraEntry>[] = [], configured: { id: string; url: string }[] = []) {
  const notes: AuditDraft[] = [];
  const settings = {
    http: { listen: '127.0.0.1:8443' },
    mqtt: { broker: 'embedded', listen: '127.0.0.1:1883' },
    ...{ cameras: configured, nvrs: [] },
  } as unknown as Settings;
  const port = findCamerasPort({
    settings: () => settings,
    cameras: () => known as CameraEntry[],
    note: async (entry) => void notes.push(entry),
    clock: systemClock(),
  });
  const inspect = (body: InspectBody, signal = never()) => port.inspect(body, by, signal);
  const discover = (addresses: string[], signal = never()) => port.discover({ seconds: 2, addresses }, signal);
  return { notes, inspect, discover };
}

async function scripted(script: Script) {
  const camera = await startCamera(script);
  onTestFinished(() => camera.close());
  return camera;
}

/** Lets nobody in. */
const refuses = ({ operation }: Seen): Reply | undefined =>
  operation === 'GetSystemDateAndTime' ? undefined : fault('NotAuthorized', 'Sender not authorized');

const information = (serial: string): Reply => ({
  body: soap(
    `<tds:GetDeviceInformationResponse><tds:Manufacturer>Example</tds:Manufacturer><tds:Model>007</tds:Model><tds:SerialNumber>${serial}</tds:SerialNumber></tds:GetDeviceInformationResponse>`,
  ),
});

async function simulated(id = 'yard') {
  const camera = await simulate({ id, password });
  onTestFinished(() => camera.close());
  return camera;
}

test('a device is asked what it is, and recognised by its serial number', async () => {
  const camera = await simulated();
  const { inspect, notes } = started();
  const told = await inspect({ url: camera.url, username: 'siteward', password });
  expect(told).toMatchObject({
    ...{ manufacturer: 'Siteward', model: 'Simulated camera', authenticated: true, events: true },
    ...{ tls_fingerprint: null, same_as: null, clock_offset_s: expect.any(Number) },
  });
  const identity = { model: told.model, serial: told.serial };
  const known = started([{ id: 'gate', url: 'http://192.0.2.10/', identity }]);
  expect(await known.inspect({ url: camera.url, username: 'siteward', password })).toMatchObject({ same_as: 'gate' });
  expect(notes).toMatchObject([
    { client_id: by.address, actor_ref: by.client, action: 'camera_inspect', outcome: 'done' },
  ]);
  expect(notes[0]?.target).toBe(`address ${new URL(camera.url).host}`);
  expect(JSON.stringify(notes)).not.toContain(password);
});

test('a wrong password is tried twice at most, and told nowhere', async () => {
  const camera = await scripted(cameraModel({ before: refuses }).script);
  const { inspect, notes } = started();
  const wrong = inspect({ url: camera.url, username: 'siteward', password: 'wrong-and-told-nowhere' });
  const error: unknown = await wrong.catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'camera_auth', message: expect.stringContaining('lock the account') });
  expect(camera.seen.filter(({ body }) => body.includes('UsernameToken'))).toHaveLength(2);
  expect(`${String(error)} ${JSON.stringify(notes)}`).not.toContain('wrong-and-told-nowhere');
  expect(notes).toMatchObject([{ outcome: 'failed', reason: 'camera_auth' }]);
  await expect(inspect({ url: camera.url })).rejects.toMatchObject({ message: 'it wants user and password' });
});

test('a camera whose password the daemon rests from is not asked with another one', async () => {
  const camera = await scripted(cameraModel().script);
  const held = { id: 'yard', url: camera.url, login_held_s: 600 };
  const { inspect } = started([held]);
  const about = { url: camera.url, username: 'siteward', password };
  await expect(inspect(about)).rejects.toMatchObject({ code: 'camera_auth', facts: { retryAfterMs: 600_000 } });
  expect(camera.seen).toEqual([]);
});

test.each<[string, Reply, string]>([
  [
    'a page',
    { headers: { 'content-type': 'text/html' }, body: '<html>other-server-words</html>' },
    'camera_bad_answer',
  ],
  ['a refusal', fault('Receiver', 'other-server-words', 500), 'camera_fault'],
  ['an answer without end', { endless: new Uint8Array(65_536).fill(0x41) }, 'camera_bad_answer'],
  ['a cut answer', { cut: 'other-server-words' }, 'camera_unreachable'],
])('of %s of another server nothing is repeated', async (_, reply, code) => {
  const camera = await scripted(() => reply);
  const { inspect } = started();
  const error: unknown = await inspect({ url: camera.url }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code });
  expect((error as Error).message).not.toContain('other-server-words');
});

test('no redirect is followed', async () => {
  const other = await scripted(cameraModel().script);
  const camera = await scripted(() => ({ status: 307, headers: { location: other.url } }));
  const { inspect } = started();
  await expect(inspect({ url: camera.url })).rejects.toMatchObject({ code: 'camera_bad_answer' });
  expect(camera.seen.length).toBeGreaterThan(0);
  expect(other.seen).toEqual([]);
});

test('a name is asked at the address that was looked at', async () => {
  const camera = await scripted(cameraModel().script);
  const { inspect } = started();
  await inspect({ url: camera.url.replace('127.0.0.1', 'localhost') });
  const hosts = new Set(camera.seen.map(({ headers }) => headers.host));
  expect([...hosts]).toEqual([new URL(camera.url).host]);
});

test.each(['http://198.51.100.7/', 'http://127.0.0.1:8443/', 'http://localhost:1883/', 'http://u:p@10.0.0.1/'])(
  '%s is refused before anything is asked',
  async (url) => {
    const { inspect } = started();
    await expect(inspect({ url })).rejects.toMatchObject({ code: 'request_invalid', facts: { field: 'url' } });
  },
);

test('an address that is not asked is in the audit log as a refusal', async () => {
  const { inspect, notes } = started();
  await inspect({ url: 'http://198.51.100.7/' }).catch(() => undefined);
  expect(notes).toMatchObject([{ kind: 'refusal', target: 'address 198.51.100.7:80', outcome: 'refused' }]);
});

test('one device is asked at a time, until its client hangs up', async () => {
  const silent = await scripted(() => ({ hang: true }));
  const camera = await scripted(cameraModel().script);
  const { inspect } = started();
  const gone = new AbortController();
  const first = inspect({ url: silent.url }, gone.signal);
  await expect(inspect({ url: camera.url })).rejects.toMatchObject({ code: 'queue_full' });
  gone.abort(new Error('the client has gone'));
  await expect(first).rejects.toThrow('the client has gone');
  expect(await inspect({ url: camera.url })).toMatchObject({ manufacturer: 'Example' });
});

test('one search is made at a time, until its client hangs up', async () => {
  const camera = await scripted(cameraModel().script);
  const { discover } = started();
  const gone = new AbortController();
  const first = discover([`127.0.0.1:${camera.port}`], gone.signal);
  await expect(discover(['127.0.0.1'])).rejects.toMatchObject({ code: 'queue_full' });
  gone.abort(new Error('the client has gone'));
  await expect(first).rejects.toThrow('the client has gone');
  expect(await discover([`127.0.0.1:${camera.port}`])).toHaveLength(1);
});

test('what is found is told with what of it is configured, and what has moved', async () => {
  const tells = ({ operation }: Seen) => (operation === 'GetDeviceInformation' ? information('SN-0815') : undefined);
  const locked = await scripted(cameraModel({ before: refuses }).script);
  const open = await scripted(cameraModel({ before: tells }).script);
  const identity = { model: '007', serial: 'SN-0815' };
  const { discover } = started(
    [{ id: 'gate', url: 'http://192.0.2.10/', identity, reachable: false }],
    [{ id: 'yard', url: locked.url }],
  );
  const found = await discover([`127.0.0.1:${locked.port}`, open.url]);
  const at = (url: string) => found.find((one) => one.url === url);
  expect(at(locked.url)).toMatchObject({ configured: 'yard', moved_from: null, password_needed: true, answers: true });
  expect(at(open.url)).toMatchObject({ configured: null, moved_from: 'gate', password_needed: false, model: '007' });
});

test.each<[string, string[], string]>([
  ['no address', ['10.0.0.1', 'not an address'], 'addresses.1'],
  ['a network that is too large', ['10.0.0.0/23'], 'addresses.0'],
  ['too many in all', ['10.0.0.0/25', '10.0.1.0/24'], 'addresses.1'],
  ['an address in the Internet', ['198.51.100.7'], 'addresses.0'],
  ['siteward itself', ['127.0.0.1:8443'], 'addresses.0'],
])('%s is refused by the name of its field', async (_, addresses, field) => {
  const { discover } = started();
  await expect(discover(addresses)).rejects.toMatchObject({ code: 'request_invalid', facts: { field } });
});
