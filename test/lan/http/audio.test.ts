import { pino } from 'pino';
import { expect, test } from 'vitest';
import { type Identify, identifyLocal, lanApp } from '#lan/http/app.ts';
import { audioHandlers } from '#lan/http/audio-handlers.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import type { AudioPort, PlaybackShown } from '#site/model/index.ts';

/** The control socket's app over a site with one speaker; `asked` is what it was to end. */
function app(replaced: Partial<AudioPort> = {}, identify: Identify = identifyLocal) {
  const asked: Parameters<AudioPort['cancel']>[] = [];
  const audio: AudioPort = {
    ...fakeLanPort().audio,
    speakers: () => [{ device_id: 'gate', name: 'Gate', driver: 'null', enabled: true, up: null }],
    cancel: async (...wish) => {
      asked.push(wish);
      return [];
    },
    ...replaced,
  };
  const served = lanApp(fakeLanPort(0, { audio }), { log: pino({ level: 'silent' }), identify });
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

test('over the network an alarm ends with the code of somebody who may disarm, or for the one that asked for it', async () => {
  const playback = (playback_id: string, category: PlaybackShown['category'], requested_by: string) =>
    ({ playback_id, category, requested_by }) as PlaybackShown;
  const playbacks = () => [
    playback('fire', 'alarm', 'rule:fire'),
    playback('mine', 'alarm', 'key:k1'),
    playback('chime', 'greeting', 'rule:door'),
  ];
  const key = { kind: 'key', id: 'k1', scopes: ['audio:play'], role: 'owner' } as const;
  const { asked, cancel } = app({ playbacks }, () => ({ caller: key, from: { address: '192.0.2.7' } }));
  for (const wish of [{ playback: 'fire' }, { all: true, alarms: true }, { speaker: 'gate', alarms: true }])
    for (const code of [{}, { code: '1111' }])
      expect(await cancel({ ...wish, ...code })).toMatchObject({ status: 409, code: 'code_refused' });
  expect(asked).toEqual([]);
  for (const wish of [{ playback: 'mine' }, { playback: 'chime' }, { all: true }, { playback: 'fire', code: '2580' }])
    expect(await cancel(wish)).toMatchObject({ status: 200 });
  expect(asked.map(([target, alarms]) => [target, alarms])).toEqual([
    [{ playback: 'mine' }, false],
    [{ playback: 'chime' }, false],
    ['all', false],
    [{ playback: 'fire' }, false],
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

test('a removal is answered once it is done', async () => {
  const removed: string[] = [];
  const remove = async (key: string) => {
    await new Promise((resolve) => setImmediate(resolve));
    removed.push(key);
  };
  const handlers = audioHandlers({ ...fakeLanPort().audio, remove }, fakeLanPort().mayEndAlarms);
  const call = {
    params: { key: 'gate' },
    identity: { caller: { kind: 'local' }, from: 'local' },
    signal: new AbortController().signal,
  };
  const answer = await handlers.removeMessage(call as Parameters<typeof handlers.removeMessage>[0]);
  expect([answer.body, removed]).toEqual([{ removed: 'gate' }, ['gate']]);
});
