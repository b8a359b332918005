import { readFileSync, writeSync } from 'node:fs';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '#lib/clock.ts';
import { createController } from '#site/controller.ts';
import type { CommandResult } from '#site/model/index.ts';
import { openStore } from '#site/store/index.ts';
import type { StoryInput } from './store-story.ts';
import { plan, type Said } from './store-story.ts';

/**
 * The real controller on the real store, told a story: the file of its inputs, and the first of them that had no answer
 * in an earlier life. Says which have one now; ended by `SITEWARD_CRASH_AT`, or at the end of the story.
 */
const [dir = '', story = '', from = '0'] = process.argv.slice(2);
const inputs = JSON.parse(readFileSync(story, 'utf8')) as readonly StoryInput[];
const say = (said: Said): void => void writeSync(1, `${JSON.stringify(said)}\n`);
const clock = systemClock();
const log = pino({ level: 'silent' });
const store = openStore({ dir, clock, log, metrics: new Registry() });
const signal = new AbortController().signal;
await store.start(signal);
const shown = new Set<string>();
const controller = createController({
  plan,
  bridgeId: '3a0e2f5c-8f57-4c0e-9b0a-2d6b2f1f6a11',
  store,
  ports: {
    sound: { hush: () => undefined, decided: () => undefined },
    publish: {
      state: () => undefined,
      event: (event) => {
        if (shown.has(event.event_id)) say({ what: 'twice', id: event.event_id });
        shown.add(event.event_id);
        say({ what: 'event', id: event.event_id, text: `${event.kind} ${event.zone ?? event.partition}` });
      },
    },
    panels: { send: () => undefined },
    capture: { capture: () => undefined },
    delivery: { wake: () => undefined, direct: () => undefined },
    encode: (event) => JSON.stringify({ event_id: event.event_id }),
  },
  clock,
  quality: () => 'synced',
  log,
  metrics: new Registry(),
});
await controller.start(signal);

/** Resolves when whoever gave the input has an answer. */
function taken(input: StoryInput): Promise<void> {
  if (input.kind === 'signal') return controller.signals([input.signal]);
  return new Promise((resolve) => {
    controller.submit({ ...input.command, issuedAt: clock.wall() }, ({ final }: CommandResult) => {
      if (final) resolve();
    });
  });
}

/** So many are under way at once, as when several people and detectors meet. */
const atOnce = 3;
for (let first = Number(from); first < inputs.length; first += atOnce) {
  const group = inputs.slice(first, first + atOnce);
  await Promise.all(
    group.map(async (input, place) => {
      await taken(input);
      say({ what: 'taken', index: first + place });
    }),
  );
}
await controller.stop();
const { partitions } = controller.view();
say({ what: 'end', words: Object.fromEntries(partitions.map(({ id, state }) => [id, state])) });
await store.stop();
