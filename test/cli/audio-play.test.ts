import { expect, test, vi } from 'vitest';
import type { PlaybackShown } from '#site/model/index.ts';
import { playAndWait } from '../../src/cli/audio/play.ts';
import type { Control } from '../../src/cli/control.ts';

const wish = { audio_message_id: 'siren', volume: 70, repeat: 1 };
const playback = (more: Partial<PlaybackShown>): PlaybackShown => ({
  ...{ playback_id: 'p-1', audio_message_id: 'siren', name: 'Siren', category: 'alarm', status: 'playing' },
  ...{ started_at: '2026-11-29T12:00:00.000Z', created_at: '2026-11-29T12:00:00.000Z', requested_by: 'local' },
  ...{ volume: 70, repeat: 1, seq: 1, devices: [{ device_id: 'gate', name: 'Gate', status: 'playing' }] },
  summary: { completed: 0, failed: 0, cancelled: 0, total: 1 },
  ...more,
});
const answer = (json: unknown, status = 200) => ({ kind: 'answer', status, json });

/** A daemon that answers so, and notes what it is asked to end. */
function daemon(answers: {
  play: (id: string) => PlaybackShown;
  get: () => ReturnType<typeof answer>;
}): Control & { readonly cancelled: unknown[] } {
  const cancelled: unknown[] = [];
  const client = {
    playMessage: async ({ body }: { body: { playback_id: string } }) => answer(answers.play(body.playback_id)),
    getPlayback: async () => answers.get(),
    cancelPlaybacks: async ({ body }: { body: unknown }) => {
      cancelled.push(body);
      return answer({ items: [] });
    },
  } as unknown as Control['client'];
  return { client, cancelled, [Symbol.asyncDispose]: async () => {} };
}

test('an alarm that somebody else began is not ended by Ctrl-C', async () => {
  const said = vi.spyOn(console, 'error').mockReturnValue();
  const stop = new AbortController();
  const theirs = playback({ playback_id: 'theirs-1' });
  const control = daemon({
    play: () => theirs,
    get: () => {
      stop.abort();
      return answer(theirs);
    },
  });
  expect(await playAndWait(control, wish, { signal: stop.signal, wait: true })).toMatchObject({ status: 'playing' });
  expect(control.cancelled).toEqual([]);
  expect(said.mock.calls.flat().join('\n')).toMatch(/joined to it\n.*goes on; "siteward audio stop theirs-1" ends it/);
  said.mockRestore();
});

test('what the service plays stands in no list: that is said, and nothing is waited for', async () => {
  const said = vi.spyOn(console, 'error').mockReturnValue();
  const problem = { type: 'x', title: 'No such', status: 404, code: 'audio_unknown' };
  const control = daemon({ play: (playback_id) => playback({ playback_id }), get: () => answer(problem, 404) });
  const signal = new AbortController().signal;
  expect(await playAndWait(control, wish, { signal, wait: true })).toMatchObject({ status: 'playing' });
  expect(said.mock.calls.flat()).toEqual([expect.stringContaining('go and listen')]);
  said.mockRestore();
});
