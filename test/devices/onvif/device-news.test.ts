import { afterEach, describe, expect, it } from 'vitest';
import { deviceNews } from '#devices/onvif/device-news.ts';
import { Secret } from '#lib/secret.ts';
import type { Signal } from '#site/model/index.ts';
import { detections, harness, links, until } from './harness.ts';
import { cameraModel, fault, notification, soap, startCamera } from './scripted-camera.ts';

const opened: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop();
});

const troubles = (signals: readonly Signal[]) =>
  signals.flatMap((signal) => (signal.kind === 'trouble' ? [`${signal.trouble}${signal.active ? '+' : '-'}`] : []));

const yard = { kind: 'camera', id: 'yard' } as const;

describe('the clock of a camera', () => {
  const told = (...offsets: (number | undefined)[]) => {
    const news = deviceNews(yard, () => 0);
    return offsets.map((offsetS) => troubles(news.clockRead({ offsetS, unset: false }))[0]);
  };

  it('is a trouble beyond 30 s, and none any more from 20 s on; between them it stays what it was', () => {
    expect(told(0, 30, 31, 25, 21, 20, 25, -31, -20)).toEqual([
      ...['clock-', 'clock-', 'clock+', 'clock+', 'clock+', 'clock-', 'clock-', 'clock+', 'clock-'],
    ]);
    expect(told(undefined, 25)).toEqual([undefined, undefined]);
  });

  it.each([
    [40, false, 'the clock of the device is 40 s ahead: give it a time server'],
    [-7200, false, 'the clock of the device is 7200 s behind, as if it told local time: give it a time server'],
    [-900_000_000, true, 'the device does not know the time: give it a time server'],
  ])('%d s off is told in words', (offsetS, unset, detail) => {
    const signals = deviceNews(yard, () => 0).clockRead({ offsetS, unset });
    expect(signals).toMatchObject([{ trouble: 'clock', active: true, detail }]);
  });

  it('is looked at soon again while it is wrong, and its end is told', async () => {
    const model = cameraModel({ clockOffsetMs: 3_600_000 });
    const server = await startCamera(model.script);
    const made = harness([{ id: 'yard', url: server.url }], { timing: { clockOffEveryMs: 50 } });
    await made.cameras.start(new AbortController().signal);
    opened.push({ stop: () => server.close() }, made.cameras);
    await until(() => troubles(made.signals).includes('clock+'), 'the trouble');
    model.clockOffsetMs = 0;
    await until(() => troubles(made.signals).at(-1) === 'clock-', 'its end');
  });
});

describe('a refused password', () => {
  it('is a trouble of its own that is reported at once, and ends when the camera lets siteward in', async () => {
    const model = cameraModel();
    let shut = true;
    model.before = ({ operation }) =>
      shut && operation === 'CreatePullPointSubscription' ? fault('NotAuthorized') : undefined;
    const server = await startCamera(model.script);
    const camera = { id: 'yard', url: server.url, username: 'u', password: new Secret('wrong') };
    const made = harness([camera], { timing: { authHoldMs: 100 } });
    await made.cameras.start(new AbortController().signal);
    opened.push({ stop: () => server.close() }, made.cameras);
    await until(() => troubles(made.signals).includes('auth_failed+'), 'the trouble');
    expect(made.signals.find(({ kind }) => kind === 'trouble')).toMatchObject({ urgent: true, source: yard });
    await until(() => server.count('CreatePullPointSubscription') > 6, 'more tries');
    expect(troubles(made.signals).filter((one) => one === 'auth_failed+')).toHaveLength(1);
    shut = false;
    await until(() => links(made.signals).includes(true), 'the link');
    await until(() => troubles(made.signals).includes('auth_failed-'), 'the end');
  });
});

describe('a camera that has started anew', () => {
  const reboots = (signals: readonly Signal[]) => detections(signals).filter(({ item }) => item === 'reboot').length;

  async function restarted(lastReboot?: string) {
    const boot = (Status: string) =>
      notification({ topic: 'tns1:Monitoring/OperatingTime/LastReboot', operation: 'Initialized', data: { Status } });
    const model = cameraModel();
    if (lastReboot !== undefined) model.queue.push(boot('2026-01-01T00:00:00Z'));
    const server = await startCamera(model.script);
    const made = harness([{ id: 'yard', url: server.url }]);
    await made.cameras.start(new AbortController().signal);
    opened.push(made.cameras);
    await until(() => links(made.signals).includes(true) && model.queue.length === 0, 'the link');
    await server.close();
    await until(() => links(made.signals).at(-1) === false, 'the loss');
    model.live.clear();
    if (lastReboot !== undefined) model.queue.push(boot(lastReboot));
    const again = await startCamera(model.script, server.port);
    opened.push({ stop: () => again.close() });
    await until(() => again.count('PullMessages') > 4, 'pulls');
    return made;
  }

  it('is told once, by us where it says nothing', async () => {
    const made = await restarted();
    expect(reboots(made.signals)).toBe(1);
    expect(made.cameras.status()[0]?.rebootSeenAt).toBeGreaterThan(0);
  });

  it('is told once, by itself where it says so', async () => {
    const made = await restarted('2026-01-02T00:00:00Z');
    expect(reboots(made.signals)).toBe(1);
  });
});

describe('what a camera tells when it is asked how things stand', () => {
  it('is no news, also where a silent one was asked long after the subscription', async () => {
    const crossed = (operation: string) =>
      notification({ topic: 'tns1:RuleEngine/LineDetector/Crossed', operation, data: { ObjectId: '7' } });
    const model = cameraModel();
    model.before = ({ operation }) => {
      if (operation !== 'SetSynchronizationPoint') return undefined;
      model.queue.push(crossed('Initialized'));
      return { body: soap('<tev:SetSynchronizationPointResponse/>') };
    };
    const server = await startCamera(model.script);
    const timing = { presentMs: 300, greetMs: 300, silentMs: 800 };
    const made = harness([{ id: 'yard', url: server.url }], { timing });
    await made.cameras.start(new AbortController().signal);
    opened.push({ stop: () => server.close() }, made.cameras);
    await until(() => detections(made.signals).length >= 3, 'the answers');
    expect(server.count('CreatePullPointSubscription')).toBe(1);
    expect(detections(made.signals).every(({ pulse, replay }) => pulse && replay)).toBe(true);
  });
});
