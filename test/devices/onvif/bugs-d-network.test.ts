import { afterEach, describe, expect, it } from 'vitest';
import { Secret } from '#lib/secret.ts';
import { digestServer } from './digest-server.ts';
import { links, morePulls, rig, until } from './harness.ts';
import { type CameraModel, type Reply, type Seen, soap, tinyJpeg } from './scripted-camera.ts';

/**
 * Numbered cases of ../shared/notes/onvif-bugs.md, section D: media and network. Rows 60 and 62 belong to discovery
 * (test/devices/onvif/discovery), 64 and 66 to recorders, 68 to subscriptions (bugs-b).
 */

const site = rig(afterEach);
const login = { username: 'u', password: new Secret('pass') };
const forever = new AbortController().signal;
const pictured =
  (reply: (request: Seen) => Reply | undefined): NonNullable<CameraModel['before']> =>
  (request) =>
    request.operation === '' ? reply(request) : undefined;

async function yard(change: Partial<CameraModel>) {
  const one = await site.yard(change, login);
  await one.linked();
  return { ...one, take: () => one.made.cameras.snapshot('yard', forever) };
}

describe('section D, media and network', () => {
  it.each([
    ['MD5', 'Digest realm="pictures", nonce="NONCE", qop="auth"'],
    ['MD5 beside Basic', 'Basic realm="pictures", Digest realm="pictures", nonce="NONCE", qop="auth"'],
  ])('bug 54: a picture behind HTTP digest (%s) comes, though SOAP wants none', async (_, text) => {
    const digest = digestServer({ challenge: text.replaceAll('"pictures"', '"cam"') });
    const { take } = await yard({ before: pictured((request) => digest.answer(request)) });
    expect(Buffer.from((await take()).bytes)).toEqual(Buffer.from(tinyJpeg()));
    await take();
    expect(digest.refusals).toEqual([]);
  });

  it('bug 54: a picture at a port of its own, reported with an inner address, is found there', async () => {
    const other = await site.camera();
    const uri = `http://127.0.0.1:${other.server.port}/picture.jpg`;
    const { take } = await yard({
      before: (request) => {
        if (request.operation === '') return { status: 404 };
        if (request.operation !== 'GetSnapshotUri') return undefined;
        return {
          body: soap(
            `<trt:GetSnapshotUriResponse><trt:MediaUri><tt:Uri>${uri}</tt:Uri></trt:MediaUri></trt:GetSnapshotUriResponse>`,
          ),
        };
      },
    });
    await take();
    expect(other.server.seen.map(({ path }) => path)).toEqual(['/picture.jpg']);
  });

  it.each<[string, Reply]>([
    ['accepts and sends headers only', { hang: true }],
    ['accepts and closes', { reset: true }],
    ['sends half of what it promised', { cut: 'half' }],
    ['sends a body cut after 99 bytes', { body: tinyJpeg().subarray(0, 30) }],
  ])('bug 56: a picture service that %s holds up neither set-up nor events', async (_, reply) => {
    const { take, server, signals } = await yard({ before: pictured(() => reply) });
    const taking = take().then(
      () => 'a picture',
      (error) => error.code,
    );
    await morePulls(server);
    expect(links(signals)).toEqual([true]);
    expect(['camera_unreachable', 'deadline', 'picture_invalid', 'camera_bad_answer']).toContain(await taking);
  });

  it('bug 58: services named at a link-local address are asked at the host that answered', async () => {
    const service = (name: string) =>
      `<tds:Service><tds:Namespace>http://www.onvif.org/ver10/${name}/wsdl</tds:Namespace><tds:XAddr>http://169.254.1.2/onvif/${name}</tds:XAddr></tds:Service>`;
    const one = await site.yard({
      before: (request) =>
        request.operation === 'GetServices'
          ? { body: soap(`<tds:GetServicesResponse>${service('media')}${service('events')}</tds:GetServicesResponse>`) }
          : undefined,
    });
    await one.linked();
    await until(() => one.status()?.profiles === 2, 'the profiles');
  });

  const nothing = soap('<tds:GetServicesResponse/>');
  const noEvents = soap('<tds:GetCapabilitiesResponse><tds:Capabilities/></tds:GetCapabilitiesResponse>');
  it.each(['/onvif/device_service', '/onvif/event_service', '/onvif/Events', '/onvif/eventing_service'])(
    'events are found at %s though the camera names no event service, and found at once after a restart',
    async (path) => {
      const before = (request: Seen): Reply | undefined => {
        if (request.operation === 'GetServices') return { body: nothing };
        if (request.operation === 'GetCapabilities') return { body: noEvents };
        if (request.operation !== 'CreatePullPointSubscription' || request.path === path) return undefined;
        return { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>404</html>' };
      };
      const memory = new Map<string, string>();
      const one = await site.yard({ before }, {}, { memory });
      await one.linked();
      await one.made.cameras.stop();
      one.server.seen.length = 0;
      const again = await site.run([{ id: 'yard', url: one.server.url }], { memory });
      await until(() => links(again.signals).includes(true), 'the link');
      expect(one.server.count('CreatePullPointSubscription')).toBe(1);
    },
  );

  it('events are found where the camera names a wrong event service', async () => {
    const one = await site.yard({
      before: ({ operation, path }) =>
        operation === 'CreatePullPointSubscription' && path === '/onvif/events' ? { status: 404 } : undefined,
    });
    await one.linked();
    expect(one.server.seen.find(({ operation }) => operation === 'PullMessages')).toBeDefined();
  });

  it('what worked once is tried first again after a failure of the camera, not the next way', async () => {
    let broken = 0;
    const one = await site.yard({
      before: ({ operation }) => {
        if (operation !== 'CreatePullPointSubscription' || broken === 0) return undefined;
        broken -= 1;
        return { status: 503 };
      },
    });
    await one.linked();
    for (let rounds = 0; rounds < 2; rounds += 1) {
      broken = 2;
      one.model.live.clear();
      await until(() => broken === 0, 'two failures');
      await one.linked();
      await until(() => one.state() === 'pulling', 'events');
    }
    const last = one.server.seen.filter(({ operation }) => operation === 'CreatePullPointSubscription').at(-1);
    expect(last?.path).toBe('/onvif/events');
    expect(last?.body).toContain('MessageID');
  });
});
