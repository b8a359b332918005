import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import { createLog } from '#lib/log.ts';
import { followLevels } from '#lib/log-levels.ts';
import { redactor } from '#lib/secret.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function rig() {
  const lines: string[] = [];
  const onEnd = vi.fn();
  const clock = manualClock();
  const levels = followLevels({ configured: 'info', clock, onEnd });
  const log = createLog({
    level: 'info',
    redactor: redactor(),
    destination: { write: (line) => void lines.push(JSON.parse(line).msg) },
    onChild: levels.follow,
  });
  levels.follow(log);
  const cameras = log.child({ part: 'cameras' });
  const session = cameras.child({ camera: 'yard' });
  const mqtt = log.child({ part: 'mqtt' });
  /** Which of them let a debug line through. */
  const speaking = () => {
    lines.length = 0;
    log.debug('root');
    cameras.debug('cameras');
    session.debug('session');
    mqtt.debug('mqtt');
    return [...lines];
  };
  return { levels, log, speaking, onEnd, lines };
}

test('another level of the configuration reaches the loggers that were made before', () => {
  const { levels, speaking } = rig();
  expect(speaking()).toEqual([]);
  levels.configure('debug');
  expect(speaking()).toEqual(['root', 'cameras', 'session', 'mqtt']);
  levels.configure('info');
  expect(speaking()).toEqual([]);
});

test('a wish for one part reaches it, what hangs below it and what is made later, and ends by itself', () => {
  const { levels, log, speaking, onEnd, lines } = rig();
  levels.wish({ parts: { cameras: 'debug' } }, 60_000);
  expect(speaking()).toEqual(['cameras', 'session']);
  log.child({ part: 'cameras' }).debug('later');
  expect(lines).toContain('later');
  expect(levels.shown()).toMatchObject({
    configured: 'info',
    parts: [
      { name: 'cameras', level: 'debug' },
      { name: 'mqtt', level: 'info' },
    ],
  });
  vi.advanceTimersByTime(60_001);
  expect(speaking()).toEqual([]);
  expect(levels.shown().leftMs).toBeUndefined();
  expect(onEnd).toHaveBeenCalledOnce();
});

test('a wish never makes the log say less than configured', () => {
  const { levels, log, lines } = rig();
  levels.wish({ level: 'error' }, 60_000);
  log.info('still said');
  expect(lines).toEqual(['still said']);
});

test('a wish takes the place of the one before, an empty one ends it, and a reload leaves it', () => {
  const { levels, speaking, onEnd } = rig();
  levels.wish({ parts: { cameras: 'debug' } }, 60_000);
  levels.wish({ parts: { mqtt: 'debug' } }, 120_000);
  expect(speaking()).toEqual(['mqtt']);
  levels.configure('warn');
  expect(speaking()).toEqual(['mqtt']);
  vi.advanceTimersByTime(60_001);
  expect(speaking()).toEqual(['mqtt']);
  levels.wish({}, 1);
  expect(speaking()).toEqual([]);
  vi.advanceTimersByTime(200_000);
  expect(onEnd).not.toHaveBeenCalled();
});
