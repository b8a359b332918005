import { expect, test } from 'vitest';
import type { Settings } from '#config/index.ts';
import type { Streams } from '#devices/media/index.ts';
import type { CameraStatus, Cameras } from '#devices/onvif/index.ts';
import { SitewardError } from '#errors.ts';
import { identifyLocal, lanApp } from '#lan/http/app.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import { fakeSite } from '#lan/mqtt/site-port.fake.ts';
import type { Controller } from '#site/controller.ts';
import type { AuditDraft, CameraPlan, SiteView, ZonePlan } from '#site/model/index.ts';
import { camerasPort } from '../../src/daemon/cameras-port.ts';
import { quiet } from '../cloud/support.ts';

const yard: CameraPlan = { id: 'yard', name: 'Yard', zone: '21', partitions: ['p1'], pictures: 'alarm' };
const own = (type: ZonePlan['type']): ZonePlan => ({
  ...{ number: '21', name: 'Yard', type, partitions: ['p1'], cameras: ['yard'], detections: [] },
  source: { kind: 'camera', id: 'yard' },
});

function viewWith(
  change: Partial<SiteView> = {},
  zone: ZonePlan = own('video_person_perimeter'),
  plan = yard,
): SiteView {
  const site = fakeSite();
  site.setPlan({ cameras: [plan], zones: [zone] });
  const view = site.view();
  return { ...view, ...change };
}

const status: CameraStatus = {
  ...{ id: 'yard', state: 'pulling', since: 0, lastEventAt: 1_800_000_000_000, lastPullAt: 1_800_000_000_000 },
  ...{ clockOffsetS: 2, model: '007', serial: '123', unknownTopics: [{}], reachable: true, warnings: [] },
} as unknown as CameraStatus;

const message = {
  ...{ number: 7, at: 1_800_000_000_000, topic: 'tns1:Motion', items: 'State=true', outcome: 'signal' },
  signals: [{ source: { kind: 'camera', id: 'yard' }, detection: 'motion', state: 'on', replay: false }],
} as const;

interface Change {
  readonly statuses?: readonly CameraStatus[];
  readonly nvrs?: Settings['nvrs'];
  readonly failure?: Error;
}

function rig(view: SiteView, { statuses = [status], nvrs = [], failure }: Change = {}) {
  const audit: AuditDraft[] = [];
  const taken: string[] = [];
  const cameras = {
    status: () => statuses,
    recent: (_: string, after: number) => ({ items: after < 7 ? [message] : [], last: 7 }),
    certificate: async () => ({ trusted: 'AA:BB', shown: undefined }),
    async trust(id: string, fingerprint: string) {
      taken.push(id, fingerprint);
    },
    async trustDevice(id: string, name: string) {
      taken.push(id, name);
    },
  } as unknown as Cameras;
  const streams = {
    async snapshot(id: string) {
      if (failure !== undefined) throw failure;
      taken.push(id);
      return { bytes: Uint8Array.of(0xff, 0xd8), mime: 'image/jpeg' };
    },
  } as unknown as Streams;
  const settings = () =>
    ({
      cameras: [{ id: 'yard', url: 'http://192.0.2.10/onvif/device_service', name: 'Yard' }],
      nvrs,
    }) as unknown as Settings;
  const house = { cameras, streams, controller: { view: () => view } as unknown as Controller };
  const port = camerasPort({ house, settings, wall: () => 0, note: async (entry) => void audit.push(entry) });
  const app = lanApp(fakeLanPort(0, { cameras: port }), { log: quiet, identify: identifyLocal });
  return {
    audit,
    taken,
    ask: async (path: string, method = 'GET', body?: object) =>
      app.request(`/api/v1/cameras${path}`, {
        method,
        ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      }),
  };
}

const partition = (state: string, stale = false) =>
  ({ partitions: [{ ...fakeSite().view().partitions[0], id: 'p1', state, stale }] }) as unknown as Partial<SiteView>;

test('a camera is shown with what is known of it', async () => {
  const links: SiteView['links'] = [{ source: { kind: 'camera', id: 'yard' }, up: true } as never];
  const answer = await rig(viewWith({ links })).ask('');
  expect(answer.status).toBe(200);
  expect(await answer.json()).toEqual({
    items: [
      expect.objectContaining({
        ...{ id: 'yard', kind: 'camera', name: 'Yard', url: 'http://192.0.2.10/onvif/device_service', zone: '21' },
        ...{ pictures: 'alarm', reachable: true, events: true, last_event: '2027-01-15T08:00:00.000Z' },
        ...{ clock_offset_s: 2, model: '007', serial: '123', troubles: [], unknown_topics: 1 },
      }),
    ],
  });
});

test('messages are given from a number on', async () => {
  const { ask } = rig(viewWith());
  expect(await (await ask('/yard/events')).json()).toEqual({
    items: [
      {
        ...{ number: 7, at: '2027-01-15T08:00:00.000Z', topic: 'tns1:Motion', items: 'State=true', outcome: 'signal' },
        signals: [{ device: 'camera yard', detection: 'motion', state: 'on', replay: false }],
      },
    ],
    last: 7,
  });
  expect(await (await ask('/yard/events?after=7')).json()).toEqual({ items: [], last: 7 });
  expect((await ask('/yard/events?after=-1')).status).toBe(400);
});

const fingerprint = Array(32).fill('AB').join(':');

test('the certificate that is named is accepted, and told', async () => {
  const { ask, taken, audit } = rig(viewWith());
  expect((await ask('/yard/trust', 'POST')).status).toBe(400);
  expect((await ask('/yard/trust', 'POST', { fingerprint: 'AA:BB' })).status).toBe(400);
  const answer = await ask('/yard/trust', 'POST', { fingerprint: fingerprint.toLowerCase() });
  expect(await answer.json()).toEqual({ trusted: 'yard', fingerprint });
  expect(taken).toEqual(['yard', fingerprint]);
  expect(audit).toMatchObject([{ action: 'certificate_trusted', target: 'camera yard', after: fingerprint }]);
  expect(await (await ask('/yard/certificate')).json()).toEqual({ trusted: 'AA:BB' });
});

test('the device that is named is accepted in place of another, and told', async () => {
  const { ask, taken, audit } = rig(viewWith());
  const device = 'Example M7 serial 2';
  expect((await ask('/yard/trust', 'POST', { device, fingerprint })).status).toBe(400);
  expect(await (await ask('/yard/trust', 'POST', { device })).json()).toEqual({ trusted: 'yard', device });
  expect(taken).toEqual(['yard', device]);
  expect(audit).toMatchObject([{ action: 'device_trusted', target: 'camera yard', after: device }]);
});

test.each(['/gone/events', '/gone/snapshot', '/gone/trust'])('%s: there is no such camera', async (path) => {
  const { ask } = rig(viewWith());
  const answer = await (path.endsWith('events') ? ask(path) : ask(path, 'POST', { fingerprint }));
  expect([answer.status, await answer.json()]).toMatchObject([404, { code: 'camera_unknown' }]);
});

test('nothing that moves with the messages of a camera is shown where they may be a silent call', async () => {
  const { ask } = rig(viewWith({}, own('panic_silent')));
  const list = JSON.stringify(await (await ask('')).json());
  expect(list).toContain('"id":"yard"');
  expect(list).not.toMatch(/last_event|"zone"/);
  expect(list).toContain('"unknown_topics":0');
  const events = await ask('/yard/events');
  expect([events.status, await events.json()]).toMatchObject([409, { code: 'camera_refused' }]);
});

/** What the setting says, what the site is like, whether a picture may be taken. */
test.each<[CameraPlan['pictures'], string, Partial<SiteView>, boolean]>([
  ['always', 'disarmed', partition('disarmed'), true],
  ['armed', 'disarmed', partition('disarmed'), false],
  ['armed', 'armed', partition('armed_night'), true],
  ['armed', 'armed, but its panel is not heard', partition('armed_night', true), false],
  ['armed', 'arming', partition('arming'), false],
  ['armed', 'unknown', partition('unknown'), false],
  ['alarm', 'disarmed', partition('disarmed'), false],
  ['alarm', 'armed', partition('armed_away'), false],
  ['alarm', 'unknown', partition('unknown'), false],
])('"pictures: %s", %s: %#', async (pictures, _, change, allowed) => {
  const { ask, taken, audit } = rig(viewWith(change, own('video_person_perimeter'), { ...yard, pictures }));
  const answer = await ask('/yard/snapshot', 'POST');
  if (allowed) {
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(Uint8Array.of(0xff, 0xd8));
    expect(taken).toEqual(['yard']);
    expect(audit).toMatchObject([{ kind: 'command', target: 'camera yard', action: 'snapshot', outcome: 'done' }]);
  } else {
    expect(await answer.json()).toMatchObject({
      code: 'camera_refused',
      detail: expect.stringContaining(`pictures: ${pictures}`),
    });
    expect([answer.status, taken]).toEqual([409, []]);
    expect(audit).toMatchObject([{ kind: 'refusal', outcome: 'refused', reason: 'camera_refused' }]);
  }
});

test('a picture that did not come is noted as that', async () => {
  const failure = new SitewardError('camera_auth', 'the password was refused');
  const { ask, audit } = rig(viewWith({}, own('video_person_perimeter'), { ...yard, pictures: 'always' }), { failure });
  expect((await ask('/yard/snapshot', 'POST')).status).not.toBe(200);
  expect(audit).toMatchObject([{ kind: 'command', action: 'snapshot', outcome: 'failed', reason: 'camera_auth' }]);
});

test('a channel of a recorder that refuses the password says so, not that it is not reached', async () => {
  const channels = [{ id: 'gate', state: 'unknown' }];
  const recorder = { ...status, id: 'rec', kind: 'nvr', state: 'auth_failed', authenticated: false, channels };
  const nvrs = [{ id: 'rec', url: 'http://192.0.2.11/onvif/device_service', channels: [{ id: 'gate' }] }];
  const links: SiteView['links'] = [{ source: { kind: 'nvr', id: 'rec' }, up: false } as never];
  const { ask } = rig(viewWith({ links }), {
    statuses: [recorder as unknown as CameraStatus],
    nvrs: nvrs as unknown as Settings['nvrs'],
  });
  const { items } = (await (await ask('')).json()) as { items: readonly { readonly id: string }[] };
  expect(items.find(({ id }) => id === 'gate')).toMatchObject({ reachable: true, authenticated: false, events: false });
});
