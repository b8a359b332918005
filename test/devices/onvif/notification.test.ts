import { afterEach, describe, expect, it } from 'vitest';
import { readNotifications } from '#devices/onvif/notification.ts';
import { descend, parseXml, type XmlElement } from '#lib/xml.ts';
import { rig, until } from './harness.ts';
import { soap } from './scripted-camera.ts';

const message = (topic: string, data: string) =>
  `<NotificationMessage><Topic>${topic}</Topic><Message><Data>${data}</Data></Message></NotificationMessage>`;

const site = rig(afterEach);

describe('notifications', () => {
  it('are not looked for within one another, however deep a camera nests them', () => {
    const inner = message('inner', '<ElementItem Name="x"><b>word</b></ElementItem>');
    const read = readNotifications(
      parseXml(`<a>${message('outer', `<ElementItem>${inner}</ElementItem>`)}${message('next', '')}</a>`),
    );
    expect(read.map(({ topic }) => topic)).toEqual(['outer', 'next']);
  });

  it('are not read further than what is taken of them', () => {
    const one = parseXml(`<a>${message('t', '<ElementItem Name="x"/>')}</a>`);
    const item = descend(one, 'NotificationMessage', 'Message', 'Data', 'ElementItem') as XmlElement & {
      children: XmlElement[];
    };
    let looks = 0;
    const leaf = (): XmlElement => ({
      ...item,
      get text() {
        looks += 1;
        return 'word';
      },
      children: [],
    });
    item.children.push(...Array.from({ length: 1000 }, leaf));
    expect(readNotifications(one)[0]?.elementWords).toHaveLength(32);
    expect(looks).toBeLessThan(40);
  });

  it('beyond a thousand in one answer are not taken, and the states they told are asked for', async () => {
    const one = await site.yard();
    await one.linked();
    const asked = one.server.count('SetSynchronizationPoint');
    const many = message('Device/Trigger/x', '<SimpleItem Name="State" Value="true"/>').repeat(1500);
    let isSent = false;
    one.model.before = (request) => {
      if (request.operation !== 'PullMessages' || isSent) return undefined;
      isSent = true;
      return { body: soap(`<tev:PullMessagesResponse>${many}</tev:PullMessagesResponse>`) };
    };
    await until(() => one.server.count('SetSynchronizationPoint') > asked, 'the question how things stand');
    expect(await one.counted('siteward_camera_messages_total')).toBe(1000);
    expect(one.status()?.reachable).toBe(true);
  });

  it('name no more of their parts than can be shown', () => {
    const [one] = readNotifications(parseXml(message('t', '<ElementItem Name="x"/>'.repeat(1000))));
    expect(one?.elements).toHaveLength(32);
  });
});
