import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SitewardError } from '#errors.ts';
import { fakeAudio } from '#lan/mqtt/audio.fake.ts';
import { createAudioFeed } from '#lan/mqtt/audio-feed.ts';
import { audioMessages } from '#lan/mqtt/schemas.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { playbackShown } from '#site/model/index.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function feeding() {
  const clock = manualClock();
  const sound = fakeAudio(clock.wall);
  let hasSpeakers = true;
  let changes = 0;
  const make = () =>
    createAudioFeed({
      audio: sound.port,
      hasSpeakers: () => hasSpeakers,
      onChanged: () => {
        changes += 1;
      },
      onMessages: () => undefined,
      clock,
    });
  const feed = make();
  sound.onChanged = feed.playback;
  return {
    ...{ clock, sound, feed, make },
    without: () => {
      hasSpeakers = false;
    },
    changes: () => changes,
    pass(ms: number) {
      clock.advance(ms);
      vi.advanceTimersByTime(ms);
    },
    ids: (of = feed) =>
      of.topics().flatMap(([topic]) => (topic.startsWith('audio/playback/') ? topic.split('/')[2] : [])),
    state: (of = feed) => new Map(of.topics()).get('audio/state'),
  };
}

describe('what is heard on a site, as topics', () => {
  it('is the list of messages, a word, and each playback until a minute after its end', () => {
    const { feed, sound, pass, ids, state, changes } = feeding();
    feed.review();
    const messages = new Map(feed.topics()).get('audio/messages') ?? '';
    expect(audioMessages.parse(JSON.parse(messages)).map(({ key }) => key)).toEqual([
      'alarm.siren',
      'announcement.leave',
    ]);
    sound.set('playback-1', 'queued');
    expect([ids(), state()]).toEqual([['playback-1'], 'idle']);
    sound.set('playback-1', 'playing');
    expect(state()).toBe('playing');
    sound.set('playback-1', 'completed');
    expect([ids(), state()]).toEqual([['playback-1'], 'idle']);
    const shown = new Map(feed.topics()).get('audio/playback/playback-1') ?? '';
    expect(playbackShown.parse(JSON.parse(shown))).toMatchObject({ status: 'completed', seq: 2 });
    pass(59_900);
    expect(ids()).toEqual(['playback-1']);
    const before = changes();
    pass(200);
    expect(ids()).toEqual([]);
    expect(changes()).toBeGreaterThan(before);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('does not grow with what has ended, nor forget what sounds for it', () => {
    const { sound, pass, ids, state } = feeding();
    sound.set('the-siren', 'playing');
    for (let n = 0; n < 500; n += 1) sound.set(`playback-${n}`, 'completed');
    expect(ids()).toHaveLength(65);
    expect([ids()[0], ids().at(-1), state()]).toEqual(['the-siren', 'playback-499', 'playing']);
    pass(60_000);
    expect(ids()).toEqual(['the-siren']);
  });

  it('takes no older news for newer, in whatever order they come', () => {
    const { feed, sound, ids } = feeding();
    const begun = sound.set('playback-1', 'playing');
    sound.set('playback-1', 'completed');
    feed.playback(begun);
    expect(JSON.parse(new Map(feed.topics()).get('audio/playback/playback-1') ?? '').status).toBe('completed');
    expect(ids()).toEqual(['playback-1']);
  });

  it('after a restart has what still plays, and what ended within the last minute for the rest of it', () => {
    const { sound, make, pass, ids } = feeding();
    sound.set('long-ago', 'completed');
    pass(30_000);
    sound.set('just-now', 'failed');
    sound.set('still-there', 'playing');
    pass(40_000);
    const next = make();
    next.review();
    expect(ids(next)).toEqual(['just-now', 'still-there']);
    pass(19_900);
    expect(ids(next)).toEqual(['just-now', 'still-there']);
    pass(200);
    expect(ids(next)).toEqual(['still-there']);
  });

  it('shows nothing again of what has ended where the clock was set back', () => {
    const { sound, clock, make, pass, ids } = feeding();
    sound.set('playback-1', 'completed');
    pass(300_000);
    clock.step(-3_600_000);
    const next = make();
    next.review();
    expect(ids(next)).toEqual([]);
  });

  it('shows nothing twice where the clock was set back by less than it was shown', () => {
    const { feed, sound, clock, pass, ids } = feeding();
    feed.review();
    sound.set('playback-1', 'completed');
    pass(65_000);
    expect(ids()).toEqual([]);
    clock.step(-40_000);
    feed.review();
    expect(ids()).toEqual([]);
  });

  it('learns an end that was not told', () => {
    const { feed, sound, ids } = feeding();
    feed.review();
    sound.set('playback-1', 'playing');
    sound.onChanged = () => undefined;
    sound.set('playback-1', 'completed');
    feed.review();
    expect(JSON.parse(new Map(feed.topics()).get('audio/playback/playback-1') ?? '').status).toBe('completed');
    expect(ids()).toEqual(['playback-1']);
  });

  it('puts no id into a topic that is none of its levels', () => {
    const { sound, ids, state } = feeding();
    for (const id of ['a/b', '+', '#', '', 'x'.repeat(65)]) sound.set(id, 'playing');
    expect([ids(), state()]).toEqual([[], 'idle']);
  });

  it('forgets what nobody will tell the end of', () => {
    const { feed, sound, ids } = feeding();
    sound.set('playback-1', 'queued');
    sound.forget('playback-1');
    feed.review();
    expect(ids()).toEqual([]);
  });

  it('keeps the messages it knew while they are read anew, and fits them into one packet', () => {
    const { feed, sound } = feeding();
    const list = () => new Map(feed.topics()).get('audio/messages') ?? '';
    expect(list()).toBe('');
    feed.review();
    const before = list();
    sound.port.messages = () => {
      throw new SitewardError('stopped', 'try again');
    };
    feed.review();
    expect(list()).toBe(before);
    const [one] = sound.messages;
    if (one === undefined) throw new Error('the fake has two');
    sound.port.messages = () =>
      Array.from({ length: 1_000 }, (_, n) => ({ ...one, key: `m${n}`, name: 'Ü'.repeat(64) }));
    feed.review();
    expect(Buffer.byteLength(list())).toBeLessThan(60_001);
    expect(audioMessages.parse(JSON.parse(list())).length).toBeGreaterThan(100);
  });

  it('is nothing where there are no speakers, and ends with a stop', () => {
    const { feed, sound, without } = feeding();
    sound.set('playback-1', 'completed');
    feed.stop();
    expect(vi.getTimerCount()).toBe(0);
    sound.set('playback-2', 'completed');
    expect(vi.getTimerCount()).toBe(0);
    without();
    expect(feed.topics()).toEqual([]);
  });
});
