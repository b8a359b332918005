import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#lib/clock.ts';
import { Secret } from '#lib/secret.ts';
import type { Signal } from '#site/model/index.ts';
import { detections, type Harness, harness, links, memoryPort, until } from './harness.ts';
import {
  type CameraModel,
  cameraModel,
  checkToken,
  fault,
  motion,
  type ScriptedCamera,
  startCamera,
} from './scripted-camera.ts';

const opened: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop();
});

async function camera(change: Partial<CameraModel> = {}, port = 0) {
  const model = cameraModel(change);
  const server = await startCamera(model.script, port);
  opened.push({ stop: () => server.close() });
  return { model, server };
}

async function run(...args: Parameters<typeof harness>): Promise<Harness> {
  const made = harness(...args);
  await made.cameras.start(new AbortController().signal);
  opened.push(made.cameras);
  return made;
}

const yard = (server: ScriptedCamera, more = {}) => ({ id: 'yard', url: server.url, ...more });
/** Time enough for anything that would come at once: another camera was asked ten times. */
async function morePulls(server: ScriptedCamera) {
  const from = server.count('PullMessages');
  await until(() => server.count('PullMessages') >= from + 10, 'ten pulls of another camera');
}
const state = (made: Harness) => made.cameras.status()[0]?.state;
const signed = { username: 'Jörg <&>', password: new Secret('pässwörd') };

describe('a camera session', () => {
  it('tells that the camera is there and what it sees, and ends its pull point when stopped', async () => {
    const { model, server } = await camera();
    model.queue.push(motion(false, 'Initialized'), motion(true), motion(true), motion(false));
    const made = await run([yard(server)]);
    await until(() => detections(made.signals).length >= 3, 'three signals');
    expect(links(made.signals)).toEqual([true]);
    expect(detections(made.signals).map(({ active, replay }) => ({ active, replay }))).toEqual([
      { active: false, replay: true },
      { active: true, replay: false },
      { active: false, replay: false },
    ]);
    expect(made.cameras.health().state).toBe('ok');
    expect(made.cameras.status()[0]).toMatchObject({
      model: '007',
      serial: '00012345678901234567890',
      state: 'pulling',
    });
    await made.cameras.stop();
    expect(model.live.size).toBe(0);
    expect(made.memory.has('onvif/subscription/yard')).toBe(false);
    expect(state(made)).toBe('stopped');
  });

  it('sends full WS-Addressing on event calls and asks at the address that answered, not the one reported', async () => {
    const { server } = await camera();
    await run([yard(server)]);
    await until(() => server.count('PullMessages') > 0, 'a pull');
    const create = server.seen.find((one) => one.operation === 'CreatePullPointSubscription');
    expect(create?.path).toBe('/onvif/events');
    const pull = server.seen.find((one) => one.operation === 'PullMessages');
    expect(pull?.path).toMatch(/^\/onvif\/sub\?Idx=\d+$/);
    expect(pull?.body).toMatch(/To[^>]*>http:\/\/10\.0\.0\.9\/onvif\/sub\?Idx=\d+</);
    expect(pull?.body).toContain('PullPointSubscription/PullMessagesRequest<');
    expect(pull?.body).toMatch(/MessageID[^>]*>urn:uuid:/);
    expect(pull?.headers['content-type']).toContain('action="http://www.onvif.org/ver10/events/wsdl/');
  });

  it('signs with the time of the camera, in UTF-8 and with the user name escaped', async () => {
    const wrong: (string | undefined)[] = [];
    const { server } = await camera({
      clockOffsetMs: 3_600_000 + 123_000,
      before: (request) => {
        if (request.operation === 'GetSystemDateAndTime') return undefined;
        const result = checkToken(request.body, signed.username, 'pässwörd', Date.now() + 3_600_000 + 123_000);
        if (result !== undefined && result !== 'no token') wrong.push(result);
        return result === undefined ? undefined : fault('NotAuthorized', 'Sender not Authorized');
      },
    });
    const made = await run([yard(server, signed)]);
    await until(() => links(made.signals).includes(true), 'the link');
    expect(wrong).toEqual([]);
    expect(made.cameras.status()[0]?.clockOffsetS).toBeGreaterThan(3700);
  });

  it('tries once more when the pause after a wrong password is over, and comes up when it was corrected at the camera', async () => {
    let password = 'other';
    let tries = 0;
    const { server } = await camera({
      before: (request) => {
        if (request.operation === 'GetSystemDateAndTime') return undefined;
        const result = checkToken(request.body, signed.username, password, Date.now());
        if (result === 'wrong password') tries += 1;
        return result === undefined ? undefined : fault('NotAuthorized', '');
      },
    });
    const made = await run([yard(server, signed)], { timing: { authHoldMs: 300 } });
    await until(() => tries >= 3, 'the try after the pause');
    expect(tries).toBe(3);
    password = 'pässwörd';
    await until(() => links(made.signals).includes(true), 'the link');
  });
});

describe('a camera that fails', () => {
  it('is found again after a reboot: away, told as such, back, subscribed', async () => {
    const first = await camera();
    const made = await run([yard(first.server)]);
    await until(() => links(made.signals).includes(true), 'the link');
    await first.server.close();
    await until(() => links(made.signals).at(-1) === false, 'the link down');
    expect(made.signals.at(-1)).toMatchObject({ kind: 'link', reason: expect.stringContaining('No connection') });
    const again = await camera({}, first.server.port);
    await until(() => links(made.signals).at(-1) === true, 'the link up');
    // Only the first word of a session says that what an earlier one told counts no longer.
    const up = made.signals.filter((signal) => signal.kind === 'link' && signal.up);
    expect(up).toEqual([expect.objectContaining({ anew: true }), expect.not.objectContaining({ anew: true })]);
    // The pull point of before the reboot was ended as far as the camera knew it.
    expect(again.server.seen.some((one) => one.operation === 'Unsubscribe' && one.path.endsWith('Idx=1'))).toBe(true);
  });

  it('may leave rubbish in the memory', async () => {
    const { server } = await camera();
    const made = await run([yard(server)], { memory: new Map([['onvif/subscription/yard', '{"url":7']]) });
    await until(() => links(made.signals).includes(true), 'the link');
  });

  it('renews at half of the granted time, and is subscribed to anew when it refuses', async () => {
    const { model, server } = await camera({
      before: (request, self) => {
        if (request.operation === 'Renew') return fault('ActionNotSupported', '');
        if (request.operation !== 'CreatePullPointSubscription') return undefined;
        model.made += 1;
        model.live.add(model.made);
        const now = Date.now();
        const times = `<c>${''}</c>`;
        return {
          body: `<e:Envelope xmlns:e="x"><e:Body><e:CreatePullPointSubscriptionResponse>${times}<SubscriptionReference><Address>http://127.0.0.1:${self.port}/onvif/sub?Idx=${model.made}</Address></SubscriptionReference><CurrentTime>${new Date(now).toISOString()}</CurrentTime><TerminationTime>${new Date(now + 1500).toISOString()}</TerminationTime></e:CreatePullPointSubscriptionResponse></e:Body></e:Envelope>`,
        };
      },
    });
    const made = await run([yard(server)]);
    await until(() => model.made >= 2 && links(made.signals).includes(true), 'a second pull point');
    expect(server.count('Renew')).toBeGreaterThanOrEqual(2);
    expect(server.count('Unsubscribe')).toBeGreaterThanOrEqual(1);
    expect(links(made.signals)).toEqual([true]);
  });

  it('asks how things stand when an answer was cut: what was in it comes no more', async () => {
    let pulls = 0;
    const { model, server } = await camera({
      queue: [motion(false, 'Initialized')],
      before: async (request) => {
        if (request.operation === 'SetSynchronizationPoint' && pulls > 1) model.queue.push(motion(true, 'Initialized'));
        if (request.operation !== 'PullMessages') return undefined;
        pulls += 1;
        if (pulls !== 2) return undefined;
        await new Promise((resolve) => setTimeout(resolve, 50));
        return { cut: '<env:Envelope' };
      },
    });
    const made = await run([yard(server)]);
    await until(() => detections(made.signals).length >= 2, 'somebody who came with the lost answer');
    expect(detections(made.signals)[1]).toMatchObject({ active: true, replay: false });
    expect(model.made).toBe(1);
  });

  it('holds no pull beyond the end of a pull point that cannot be renewed', async () => {
    const clock = systemClock();
    const { model, server } = await camera({
      grantedMs: 60_000,
      before: ({ operation }) => (operation === 'Renew' ? fault('ActionNotSupported', '') : undefined),
    });
    // A lease of a minute is over in 0.6 s.
    await run([yard(server)], { clock: { ...clock, monotonic: () => clock.monotonic() * 100 } });
    const asked = () =>
      server.seen
        .filter(({ operation }) => operation === 'PullMessages')
        .map(({ body }) => Number(/Timeout>PT([\d.]+)S</.exec(body)?.[1]));
    await until(() => asked().some((seconds) => seconds > 1 && seconds < 20), 'a shorter pull before the end');
    await until(() => model.made > 1, 'the next pull point');
  });

  it('forgets no pull point after its time to stop: a new session may have remembered its own by then', async () => {
    const waits = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const { server } = await camera({
      before: async ({ operation }) => {
        if (operation === 'GetSystemDateAndTime') return { hang: true };
        if (operation === 'Unsubscribe') await waits(1200);
        return undefined;
      },
    });
    const key = 'onvif/subscription/yard';
    const url = `${server.url}/onvif/sub?Idx=1`;
    const memory = new Map([[key, JSON.stringify({ url, to: url, parameters: [] })]]);
    const port = memoryPort(memory);
    const get = async (one: string) => {
      if (one === key) await waits(900);
      return port.get(one);
    };
    const made = await run([yard(server)], { port: { ...port, get } });
    await until(() => server.count('GetSystemDateAndTime') > 0, 'the first call');
    await made.cameras.stop();
    expect(server.count('Unsubscribe')).toBe(1);
    expect(memory.has(key)).toBe(true);
  });

  it('does not disturb another one by hanging', async () => {
    const slow = await camera({ before: () => ({ hang: true }) });
    const good = await camera();
    const made = await run([
      { id: 'slow', url: slow.server.url },
      { id: 'good', url: good.server.url },
    ]);
    good.model.queue.push(motion(true));
    await until(() => detections(made.signals).length === 1, 'a detection');
    expect(detections(made.signals)[0]?.source).toEqual({ kind: 'camera', id: 'good' });
    expect(made.cameras.health()).toMatchObject({ state: 'degraded', facts: { cameras: 2, up: 1 } });
    await made.cameras.stop();
    expect(made.cameras.status().map((one) => one.state)).toEqual(['stopped', 'stopped']);
  });

  it('is not pulled further while its signals were not taken', async () => {
    const { model, server } = await camera();
    const good = await camera();
    const taken: Signal[] = [];
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    await run([yard(server), { id: 'good', url: good.server.url }], {
      emit: async (signals) => {
        taken.push(...signals);
        if (signals.some((signal) => signal.kind === 'detection')) await gate;
      },
    });
    model.queue.push(motion(true), motion(false));
    await until(() => detections(taken).length === 1, 'the first detection');
    const pulls = server.count('PullMessages');
    await morePulls(good.server);
    expect(server.count('PullMessages')).toBe(pulls);
    release();
    await until(() => detections(taken).length === 2, 'the second detection');
  });

  it('waits after a failure of the receiver, too', async () => {
    const { server } = await camera();
    const good = await camera();
    const made = await run([yard(server), { id: 'good', url: good.server.url }], {
      timing: { retryBaseMs: 60_000, retryCapMs: 60_000 },
      emit: async (signals) => {
        if (signals.some((signal) => signal.source.id === 'yard')) throw new Error('full');
      },
    });
    await until(() => state(made) === 'backoff', 'the wait');
    const asked = server.seen.length;
    await morePulls(good.server);
    expect(server.seen.length).toBe(asked);
  });
});
