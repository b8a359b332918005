import { afterEach, describe, expect, it } from 'vitest';
import { createDevice } from '#devices/onvif/device.ts';
import { pullPoint, type Style } from '#devices/onvif/subscription.ts';
import { systemClock } from '#lib/clock.ts';
import { harness, links, until } from './harness.ts';
import { type CameraModel, cameraModel, type Reply, soap, startCamera } from './scripted-camera.ts';

const opened: { stop(): Promise<void> | void }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop();
});

const forever = new AbortController().signal;
const style: Style = { addressing: true, time: 'duration' };

async function points(before: NonNullable<CameraModel['before']>) {
  const server = await startCamera(cameraModel({ before }).script);
  const device = createDevice({ url: server.url, clock: systemClock(), authHoldMs: 1000 });
  opened.push({ stop: () => server.close() }, { stop: () => device.close() });
  return { server, base: device.base, made: pullPoint(device, 'repaired') };
}

const created = (reference: string, times: string): Reply => ({
  body: soap(
    `<tev:CreatePullPointSubscriptionResponse><tev:SubscriptionReference>${reference}</tev:SubscriptionReference>${times}</tev:CreatePullPointSubscriptionResponse>`,
  ),
});

describe('a pull point', () => {
  it('without an address is asked at the address of the service', async () => {
    const { made, base, server } = await points(() => created('<wsa5:Address></wsa5:Address>', ''));
    const subscription = await made.create(base, style, forever);
    expect(subscription).toMatchObject({ url: server.url, to: server.url });
  });

  it('gets its reference parameters back as headers with each request', async () => {
    const parameters =
      '<wsa5:ReferenceParameters><v:SubscriptionId xmlns:v="http://www.axis.com/2009/event">7 &amp; 8</v:SubscriptionId><x:Undeclared>9</x:Undeclared></wsa5:ReferenceParameters>';
    const { made, base, server } = await points((request) =>
      request.operation === 'CreatePullPointSubscription'
        ? created(`<wsa5:Address>http://10.0.0.9/s</wsa5:Address>${parameters}`, '')
        : { body: soap('<tev:PullMessagesResponse/>') },
    );
    const subscription = await made.create(base, style, forever);
    expect(await made.pull(subscription, style, 1000, forever)).toEqual({ messages: [], isPart: false });
    expect(server.seen.at(-1)?.body).toMatch(
      /<p:SubscriptionId xmlns:p="http:\/\/www.axis.com\/2009\/event" [^>]*IsReferenceParameter="true">7 &#38; 8</,
    );
    // XML binds no prefix to no namespace.
    expect(server.seen.at(-1)?.body).toMatch(/<Undeclared [^>]*IsReferenceParameter="true">9<\/Undeclared>/);
  });

  it('that answers a pull with something else is an error', async () => {
    const { made, base } = await points(() => ({ body: soap('<tev:Other/>') }));
    const subscription = { url: base.href, to: base.href, parameters: [], grantedMs: 1 };
    await expect(made.pull(subscription, style, 1000, forever)).rejects.toMatchObject({ code: 'camera_bad_answer' });
  });

  it('that is not ended by an answer stays remembered, and stopping takes no longer than its bound', async () => {
    const server = await startCamera(
      cameraModel({ before: (request) => (request.operation === 'Unsubscribe' ? { hang: true } : undefined) }).script,
    );
    opened.push({ stop: () => server.close() });
    const one = harness([{ id: 'yard', url: server.url }]);
    await one.cameras.start(forever);
    await until(() => links(one.signals).includes(true), 'the link');
    await one.cameras.stop();
    expect(one.memory.get('onvif/subscription/yard')).toContain('Idx=1');
    expect(server.count('Unsubscribe')).toBe(1);
  });

  it('is made although the memory fails', async () => {
    const server = await startCamera(cameraModel().script);
    opened.push({ stop: () => server.close() });
    const memory = new Map<string, string>();
    memory.get = () => {
      throw new Error('broken');
    };
    const one = harness([{ id: 'yard', url: server.url }], { memory });
    opened.push(one.cameras);
    await one.cameras.start(forever);
    await until(() => links(one.signals).includes(true), 'the link');
  });

  it('is asked for shorter pulls by a camera that cuts long ones, without the link going down', async () => {
    let cuts = 2;
    const server = await startCamera(
      cameraModel({
        before: async (request) => {
          if (request.operation !== 'PullMessages' || !/PT20S/.test(request.body) || cuts === 0) return undefined;
          cuts -= 1;
          await new Promise((resolve) => setTimeout(resolve, 50));
          return { reset: true };
        },
      }).script,
    );
    opened.push({ stop: () => server.close() });
    const one = harness([{ id: 'yard', url: server.url }]);
    opened.push(one.cameras);
    await one.cameras.start(forever);
    await until(() => server.seen.some((request) => /PT4S/.test(request.body)), 'a shorter pull');
    expect(links(one.signals)).toEqual([true]);
    expect(server.count('CreatePullPointSubscription')).toBe(1);
  });
});
