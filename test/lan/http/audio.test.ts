import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { controlApp } from '#lan/http/app.ts';
import { audioHandlers } from '#lan/http/audio-handlers.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import type { AudioPort, CancelWish } from '#site/model/index.ts';

/** The control socket's app over a site with one speaker; `asked` is what it was to end. */
function app(replaced: Partial<AudioPort> = {}) {
  const asked: [CancelWish, boolean, string][] = [];
  const audio: AudioPort = {
    ...fakeLanPort().audio,
    speakers: () => [{ device_id: 'gate', name: 'Gate', driver: 'null', enabled: true, up: null }],
    cancel: async (...wish) => {
      asked.push(wish);
      return [];
    },
    ...replaced,
  };
  const served = controlApp(fakeLanPort(0, { audio }), pino({ level: 'silent' }));
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await served.request(path, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: answer.status, ...((await answer.json()) as object) };
  };
  return { asked, cancel: (body: object) => post('/api/v1/audio/cancel', body) };
}

test('a cancel names one thing, and ends alarms only where that is said', async () => {
  const { asked, cancel } = app();
  for (const body of [{ playback: 'p-1' }, { speaker: 'gate', alarms: true }, { category: 'greeting' }, { all: true }])
    expect(await cancel(body)).toEqual({ status: 200, items: [] });
  expect(asked).toEqual([
    [{ playback: 'p-1' }, false, 'local'],
    [{ speaker: 'gate' }, true, 'local'],
    [{ category: 'greeting' }, false, 'local'],
    ['all', false, 'local'],
  ]);
});

test.each([
  [{}, 400, 'body'],
  [{ alarms: true }, 400, 'body'],
  [{ all: true, speaker: 'gate' }, 400, 'body'],
  [{ all: false }, 400, 'all'],
  [{ category: 'music' }, 400, 'category'],
  [{ speaker: 'cellar' }, 404, 'speaker'],
])('a cancel of %j ends nothing, and the field is named', async (body, status, field) => {
  const { asked, cancel } = app();
  expect(await cancel(body)).toMatchObject({ status, errors: [{ field }] });
  expect(asked).toEqual([]);
});

test('a removal waits for the import before it', async () => {
  const removed: string[] = [];
  const remove = async (key: string) => {
    await sleep(50);
    removed.push(key);
  };
  const json = (body: unknown) => ({ status: 200, body });
  const handlers = audioHandlers({ ...fakeLanPort().audio, remove }, { deadlineMs: 1, json });
  const call = { params: { key: 'gate' }, signal: new AbortController().signal };
  const answer = await handlers.removeMessage(call as Parameters<typeof handlers.removeMessage>[0]);
  expect([answer.body, removed]).toEqual([{ removed: 'gate' }, ['gate']]);
});
