import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { detections, links, morePulls, rig, until } from './harness.ts';
import { motion, notification, type Reply, soap } from './scripted-camera.ts';

/** Numbered cases of ../shared/notes/onvif-bugs.md, section C: messages and XML. */

const site = rig(afterEach);
const captures = join(dirname(fileURLToPath(import.meta.url)), '../../../../shared/data/onvif-captures');
const absent = !existsSync(captures);
const pulled = (messages: string) => soap(`<tev:PullMessagesResponse>${messages}</tev:PullMessagesResponse>`);

/** A session whose first pulls are answered with these, one each. */
async function pulling(...replies: Reply[]) {
  const one = await site.yard({
    before: (request) => (request.operation === 'PullMessages' ? replies.shift() : undefined),
  });
  return { ...one, seen: () => detections(one.signals).map(({ detection, active }) => `${detection} ${active}`) };
}

describe('section C, messages and XML', () => {
  it('bug 41: prefixes that were never declared do not matter', async () => {
    const body = pulled(motion(true)).replace(/ xmlns:(tt|wsnt|tev)="[^"]*"/g, '');
    expect(body).not.toContain('xmlns:tt');
    const one = await pulling({ body });
    await until(() => one.seen().length === 1, 'a detection');
    expect(links(one.signals)).toEqual([true]);
  });

  it.skipIf(absent)('bug 41: the profiles recorded without a declaration are read (../shared)', async () => {
    const body = readFileSync(join(captures, 'misc/scrypted-profiles-media2.xml'));
    const one = await site.yard({
      before: (request) => (request.operation === 'GetProfiles' ? { body } : undefined),
    });
    await until(() => (one.status()?.profiles ?? 0) > 0, 'the profiles');
  });

  it('bug 41: document types and entities are refused, and the session goes on', async () => {
    const entity = '<!DOCTYPE a [<!ENTITY x "tns1:RuleEngine/CellMotionDetector/Motion">]>';
    const one = await pulling({ body: pulled(motion(true)).replace('?>', `?>${entity}`) });
    await until(() => one.model.made === 2, 'a new pull point');
    one.model.queue.push(motion(true));
    await until(() => one.seen().length === 1, 'the good detection');
  });

  it('bug 43: the content type names the action of each call', async () => {
    const one = await site.yard({
      before: ({ headers, operation }) =>
        operation !== '' && !String(headers['content-type']).includes('action="http') ? { status: 200 } : undefined,
    });
    await one.linked();
    for (const { headers, operation } of one.server.seen) {
      if (operation === '') continue;
      expect(headers['content-type']).toMatch(/^application\/soap\+xml; charset=utf-8; action="http[^"]+"$/);
    }
  });

  it.each([
    ['1', '0'],
    ['true', 'false'],
    ['TRUE', 'FALSE'],
    ['active', 'inactive'],
  ])('bug 45: State "%s" is on and "%s" is off', async (on, off) => {
    const message = (value: string) =>
      notification({
        topic: 'tns1:VideoSource/MotionAlarm',
        operation: 'Changed',
        source: { Source: '0' },
        data: { State: value },
      });
    const one = await pulling({ body: pulled(message(on)) }, { body: pulled(message(off)) });
    await until(() => one.seen().length === 2, 'two signals');
    expect(one.seen()).toEqual(['motion true', 'motion false']);
  });

  const empty =
    '<wsnt:NotificationMessage><wsnt:Topic Dialect="x"></wsnt:Topic><wsnt:Message></wsnt:Message></wsnt:NotificationMessage>';
  it.each([
    ['an empty topic and message', empty],
    ['no topic', '<wsnt:NotificationMessage><wsnt:Message/></wsnt:NotificationMessage>'],
    ['nothing at all', '<wsnt:NotificationMessage/>'],
  ])('bug 47: an event with %s is skipped and counted, and the others of its pull are taken', async (_, odd) => {
    const one = await pulling({ body: pulled(odd + motion(true) + odd) });
    await until(() => one.seen().length === 1, 'the good one');
    expect(await one.counted('outcome="empty"')).toBe(2);
    expect(links(one.signals)).toEqual([true]);
  });

  it('bug 49: a flood is bounded per second, told once as event_flood, not pulled faster, and leaves the right state', async () => {
    const flood = Array.from({ length: 500 }, (_, at) => motion(at % 2 === 0)).join('');
    let floods = 3;
    const one = await site.yard({
      before: (request) => {
        if (request.operation !== 'PullMessages' || floods === 0) return undefined;
        floods -= 1;
        return { body: pulled(flood) };
      },
    });
    await until(() => floods === 0, 'three floods');
    await morePulls(one.server);
    expect(detections(one.signals).length).toBeLessThanOrEqual(3 * 60 + 60);
    expect(await one.counted('outcome="flood"')).toBeGreaterThan(500);
    expect(await one.counted('code="event_flood"')).toBe(1);
    expect(one.status()?.warnings).toEqual([{ code: 'event_flood', text: expect.any(String) }]);
    const levels = () => detections(one.signals).filter(({ pulse }) => !pulse);
    await until(() => levels().at(-1)?.active === false, 'the state the flood ended in');
    expect(links(one.signals)).toEqual([true]);
  });

  it('bug 49: the next pull after a flood waits as if nothing had come', async () => {
    const flood = Array.from({ length: 500 }, (_, at) => motion(at % 2 === 0)).join('');
    const good = await site.yard();
    const one = await site.yard(
      { queue: [flood, flood, flood] },
      {},
      { timing: { emptyPullMs: 60_000, fullPullMs: 1 } },
    );
    await until(() => one.status()?.warnings.length === 1, 'the warning');
    await morePulls(good.server);
    expect(one.server.count('PullMessages')).toBe(1);
  });

  it.each([
    ['', 'text/html', '<html><body>404</body></html>'],
    [' of XHTML', 'application/soap+xml', '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>'],
    [' that is no page', 'text/plain', 'OK'],
  ])('bug 51: HTTP 200 with a web page%s is told as not ONVIF', async (_, type, body) => {
    const one = await site.yard({ before: () => ({ headers: { 'content-type': type }, body }) });
    await until(() => one.signals.length > 0, 'a signal');
    expect(one.signals[0]).toMatchObject({ kind: 'link', up: false, reason: expect.stringContaining('not ONVIF') });
  });

  const named = (encoding: string) =>
    pulled(
      notification({
        topic: 'tns1:RuleEngine/CellMotionDetector/Motion',
        operation: 'Changed',
        source: { Rule: 'Tür 门' },
        data: { IsMotion: 'true' },
      }),
    ).replace('UTF-8', encoding);
  const gb = Buffer.concat(
    named('GB2312')
      .replace('ü', 'u')
      .split('门')
      .flatMap((part, at) => (at === 0 ? [Buffer.from(part)] : [Buffer.from([0xc3, 0xc5]), Buffer.from(part)])),
  );
  it.each<[string, Uint8Array, string]>([
    ['ISO-8859-1', Buffer.from(named('ISO-8859-1').replace('门', '!'), 'latin1'), 'Tür !'],
    ['GB2312', gb, 'Tur 门'],
    ['a name nobody knows', Buffer.from(named('X-CAMERA').replace('门', '!'), 'latin1'), 'Tür !'],
    ['ISO-8859-1, though it is UTF-8', Buffer.from(named('ISO-8859-1')), 'Tür 门'],
    ['UTF-8 behind a byte order mark', Buffer.from(`\uFEFF${named('UTF-8')}`), 'Tür 门'],
    ['UTF-8 before NUL bytes', Buffer.from(`${named('UTF-8')}\0\0`), 'Tür 门'],
    ['UTF-8 behind blank lines', Buffer.from(`\r\n\r\n${named('UTF-8')}`), 'Tür 门'],
  ])('bug 53: an answer in %s is read', async (_, body, rule) => {
    const one = await pulling({ body });
    await until(() => one.seen().length === 1, 'a detection');
    expect(detections(one.signals)[0]?.rule).toBe(rule);
  });
});
