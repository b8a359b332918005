import { expect, it } from 'vitest';
import type { Played, Sound, SpeakerDriver } from '#devices/audio/driver.ts';
import { SpeakerError } from '#devices/audio/driver.ts';
import { createRuns, type Report } from '#devices/audio/runs.ts';
import type { Speaker } from '#devices/audio/speakers.ts';
import { SitewardError } from '#errors.ts';
import { systemClock } from '#lib/clock.ts';
import { quiet } from '../../cloud/support.ts';
import { until } from '../../lan/mqtt/harness.ts';
import { speakerOf } from './speaker-of.ts';

const format = { encoding: 's16le', rate: 8_000, channels: 1 } as const;

/** Runs over a driver that does what the test says, and a cache that has every message or none. */
function rig({ gone = false, siren }: { gone?: boolean; siren?: string } = {}) {
  const reports: Report[] = [];
  const plays: { readonly sound: Sound; readonly signal: AbortSignal; readonly begin: () => void }[] = [];
  const ends: PromiseWithResolvers<Played>[] = [];
  let drivers = 1;
  const released = Promise.withResolvers<void>();
  /** What comes of each order to be silent; the last one of all others. */
  const orders: (() => Promise<void>)[] = [() => released.promise];
  const ordered: AbortSignal[] = [];
  const driver: SpeakerDriver = {
    stopBudgetMs: 300,
    release(signal) {
      ordered.push(signal);
      return (orders.length > 1 ? orders.shift() : orders[0])?.() ?? Promise.resolve();
    },
    probe: async () => ({ detail: '', format, exclusive: true }),
    play(sound, { signal, onFirstSample }) {
      plays.push({ sound, signal, begin: onFirstSample });
      const end = Promise.withResolvers<Played>();
      ends.push(end);
      return end.promise;
    },
  };
  const speaker: Speaker = {
    options: speakerOf({ id: 'gate', driver: 'null', lead: '100ms', tail: '50ms' }),
    ...{ lane: 'speaker gate', format, driver },
    renew: () => {
      drivers += 1;
    },
  };
  const failed: string[] = [];
  const soundsOn: boolean[] = [];
  const runs = createRuns({
    speaker: (id) => (id === 'gate' ? speaker : undefined),
    cache: {
      get: async ({ sha256 }) => {
        if (gone && sha256 !== 'the siren') throw new SitewardError('audio_gone', 'it is gone');
        return new Int16Array(800);
      },
      pin: async () => true,
      unpin: () => undefined,
      bound: () => undefined,
      forget: () => undefined,
      stats: { bytes: 0, pinnedBytes: 0, messages: 0, hits: 0, misses: 0 },
    },
    siren: () => siren,
    report: (report) => void reports.push(report),
    onFailed: ({ options }) => void failed.push(options.id),
    onSoundsOn: (_, isSo) => void (soundsOn.at(-1) !== isSo && soundsOn.push(isSo)),
    clock: systemClock(),
    log: quiet,
  });
  const message = { id: 'm', key: 'm', name: 'M', sha256: 'a'.repeat(64) };
  const prepare = (run: number, speaker = 'gate', urgent = true) =>
    runs.prepare({ kind: 'prepare', run, speaker, message, volume: 50, repeat: 2, gapMs: 500, urgent });
  const start = (run: number) => runs.start({ kind: 'start', run, speaker: 'gate', durable: true });
  const told = (kind: Report['kind']) => until(() => reports.find((one) => one.kind === kind), kind);
  const begun = async (run: number) => {
    prepare(run);
    await until(() => reports.some((one) => one.kind === 'prepared' && one.run === run), 'prepared');
    start(run);
    await until(() => plays.length === run, 'the order to play');
    plays[run - 1]?.begin();
  };
  /** It is to stop, and its device does not take the order. */
  const soundOn = (run: number) => {
    runs.stop(run);
    ends[run - 1]?.reject(new SpeakerError('timeout', 'it does not answer to the stop', { soundsOn: true }));
  };
  return {
    ...{
      runs,
      reports,
      plays,
      ends,
      failed,
      soundsOn,
      orders,
      ordered,
      prepare,
      start,
      begun,
      soundOn,
      told,
      released,
    },
    drivers: () => drivers,
  };
}
const refuse = () => Promise.reject(new SpeakerError('device_error', 'the device answered 500'));

it('a message is made ready with its repeats, its gap and the silence of its speaker', async () => {
  const on = rig();
  on.prepare(1);
  // 100 ms of it twice with 500 ms between, 100 ms before and 50 ms after.
  expect(await on.told('prepared')).toEqual({ kind: 'prepared', run: 1, lengthMs: 850 });
  on.start(1);
  on.plays[0]?.begin();
  on.plays[0]?.begin();
  on.ends[0]?.resolve({ samples: 6_800, delivered: 'heard' });
  await on.told('ended');
  expect(on.reports.slice(1)).toEqual([
    { kind: 'first_sample', run: 1 },
    { kind: 'ended', run: 1, playedMs: 850, delivered: 'heard' },
  ]);
});

it('an alarm whose message cannot be read is the siren, and nothing else is', async () => {
  const on = rig({ gone: true, siren: 'the siren' });
  on.prepare(1, 'gate', false);
  expect(await on.told('unprepared')).toEqual({ kind: 'unprepared', run: 1, reason: 'message_gone' });
  on.prepare(2);
  expect(await on.told('prepared')).toMatchObject({ run: 2 });
  const none = rig({ gone: true, siren: 'gone too' });
  none.prepare(1);
  expect(await none.told('unprepared')).toMatchObject({ reason: 'message_gone' });
});

it('what does not stop is given up: its late word counts no more, and another driver takes its place', async () => {
  const on = rig();
  on.prepare(1);
  await on.told('prepared');
  on.start(1);
  on.plays[0]?.begin();
  on.runs.stop(1);
  expect(on.plays[0]?.signal.aborted).toBe(true);
  on.runs.kill(1);
  expect(on.drivers()).toBe(2);
  on.ends[0]?.resolve({ samples: 6_800, delivered: 'heard' });
  await on.runs.idle();
  expect(on.reports.map(({ kind }) => kind)).toEqual(['prepared', 'first_sample']);
});

it('what was told to stop is silent when its driver says so, whatever that calls it', async () => {
  const on = rig();
  on.prepare(1);
  await on.told('prepared');
  on.start(1);
  on.runs.stop(1);
  on.ends[0]?.reject(new SpeakerError('connection_lost', 'it is gone'));
  expect(await on.told('silent')).toEqual({ kind: 'silent', run: 1, playedMs: 0 });
  expect(on.failed).toEqual([]);
});

it('a device that is busy is asked again with the same sound', async () => {
  const on = rig();
  on.prepare(1);
  await on.told('prepared');
  on.start(1);
  on.ends[0]?.reject(new SpeakerError('busy', 'somebody talks'));
  expect(await on.told('failed')).toMatchObject({ reason: 'busy' });
  on.start(1);
  expect(on.plays[1]?.sound).toBe(on.plays[0]?.sound);
  on.ends[1]?.reject(new Error('rtsp://user:password@192.0.2.1 is away'));
  await until(() => on.reports.filter(({ kind }) => kind === 'failed').length === 2, 'the failure');
  expect(on.reports.at(-1)).toMatchObject({ reason: 'device_error' });
  expect(on.failed).toEqual(['gate', 'gate']);
});

it('a message that is gone, and a speaker that is, say so', async () => {
  const on = rig({ gone: true });
  on.prepare(1);
  await on.told('unprepared');
  on.prepare(2, 'nobody');
  expect(on.reports).toEqual([
    { kind: 'unprepared', run: 1, reason: 'message_gone' },
    { kind: 'unprepared', run: 2, reason: 'not_found' },
  ]);
});

it('what is dropped while it is made ready says nothing any more', async () => {
  const on = rig();
  on.prepare(1);
  on.runs.drop(1);
  await on.runs.idle();
  expect(on.reports).toEqual([]);
});

it('what was left on a speaker is ended before it plays, and one that does not answer plays all the same', async () => {
  for (const answers of [true, false]) {
    const on = rig();
    on.runs.release('gate');
    on.prepare(1);
    await on.told('prepared');
    on.start(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(on.plays).toEqual([]);
    if (answers) on.released.resolve();
    else on.released.reject(new SpeakerError('timeout', 'it does not answer'));
    await until(() => on.plays.length === 1, 'the sound');
  }
});

it('a stop that was not taken is ordered again until it is, and until then the speaker may sound on', async () => {
  const on = rig();
  on.orders.splice(0, 1, refuse, async () => undefined);
  await on.begun(1);
  on.soundOn(1);
  expect(await on.told('silent')).toMatchObject({ run: 1, soundsOn: true });
  expect(on.soundsOn).toEqual([true]);
  await on.runs.idle();
  expect(on.ordered).toHaveLength(2);
  expect(on.soundsOn).toEqual([true, false]);
});

it('no order to be silent ends the sound that took its place, and one that did not begin took none', async () => {
  const on = rig();
  await on.begun(1);
  on.soundOn(1);
  await until(() => on.ordered.length === 1, 'the order');
  await on.begun(2);
  expect(on.ordered[0]?.aborted).toBe(true);
  on.ends[1]?.resolve({ samples: 1_300, delivered: 'accepted' });
  await until(() => on.soundsOn.at(-1) === false, 'another sound was heard to its end');
  await on.runs.idle();
  expect(on.ordered).toHaveLength(1);

  await on.begun(3);
  on.soundOn(3);
  await until(() => on.ordered.length === 2, 'the order');
  on.orders.splice(0, 1, async () => undefined);
  on.prepare(4);
  await until(() => on.reports.at(-1)?.kind === 'prepared', 'the next');
  on.start(4);
  await until(() => on.plays.length === 4, 'it is to play');
  on.ends[3]?.reject(new SpeakerError('refused', 'not now'));
  await until(() => on.soundsOn.at(-1) === false, 'it is ordered again');
  expect(on.ordered).toHaveLength(3);
});

it('one that was given up, and says late that it may sound on, ends no sound after it', async () => {
  const on = rig();
  await on.begun(1);
  on.runs.stop(1);
  on.runs.kill(1);
  await on.begun(2);
  on.soundOn(1);
  on.ends[1]?.resolve({ samples: 1_300, delivered: 'accepted' });
  await on.runs.idle();
  expect(on.ordered).toEqual([]);
});

it('what was left on a speaker, and does not take the order, is ordered again, until siteward ends', async () => {
  const on = rig();
  on.orders.splice(0, 1, refuse);
  on.runs.release('gate');
  await until(() => on.ordered.length === 3, 'it is ordered again');
  expect(on.soundsOn).toEqual([true]);
  on.runs.end();
  await on.runs.idle();
  expect(on.ordered.every(({ aborted }) => aborted)).toBe(true);
});
