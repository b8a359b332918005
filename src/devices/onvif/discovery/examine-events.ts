import { isCode, SitewardError } from '#errors.ts';
import { never } from '#lib/wait.ts';
import { type PullPoint, pullPoint, type Style, type Subscription } from '../subscription.ts';
import { ownRows } from '../topic-options.ts';
import { topicFinder } from '../topics.ts';
import { createWays } from '../ways.ts';
import { subscriptionAdvice } from './advice.ts';
import { eventTopics } from './event-topics.ts';
import type { Examination } from './examine.ts';
import { failed } from './step.ts';

/** As the session would: held short enough for a person who waits, long enough to see whether it is held at all. */
const pullMs = 3000;
const maxTries = 4;
const shownTopics = 12;

/** The topics it says it has; then a subscription, one held pull, and its end. Throws only the signal's reason. */
export async function examineEvents(examination: Examination, service: URL): Promise<void> {
  await tellTopics(examination, service);
  const { camera, mode, tell, signal } = examination;
  const points = pullPoint(camera, mode);
  let held: Held;
  try {
    held = await subscribed(points, examination, service);
  } catch (error) {
    signal.throwIfAborted();
    const full = error instanceof SitewardError && error.facts.full === true;
    tell(failed('events', error, subscriptionAdvice(full)));
    return;
  }
  try {
    await tellPull(points, held, examination);
  } finally {
    // Also after Ctrl-C: a forgotten one takes one of the camera's few slots. It ends within 2 s.
    const ended = await points.unsubscribe(held.subscription, held.style, never()).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (ended === undefined) tell({ name: 'unsubscribe', result: 'ok', text: 'the subscription is ended again' });
    else
      tell({
        name: 'unsubscribe',
        result: 'warning',
        text: 'it did not take the end of the subscription, which ends by itself within three minutes',
      });
  }
}

async function tellTopics({ camera, device, tell, signal }: Examination, service: URL): Promise<void> {
  let topics: readonly string[];
  try {
    topics = await eventTopics(camera, service, signal);
  } catch {
    signal.throwIfAborted();
    topics = [];
  }
  if (topics.length === 0) {
    tell({
      name: 'topics',
      result: 'warning',
      text: 'it does not tell which events it has; many that tell none send some all the same',
      facts: { topics: [] },
    });
    return;
  }
  const findTopic = topicFinder(ownRows(device.topics));
  const rows = topics.map((topic) => ({ topic, row: findTopic(topic) }));
  const used = rows.flatMap(({ topic, row }) => (row !== undefined && row.kind !== 'ignored' ? [topic] : []));
  const ignored = rows.flatMap(({ topic, row }) => (row?.kind === 'ignored' ? [topic] : []));
  const unknown = rows.flatMap(({ topic, row }) => (row === undefined ? [topic] : []));
  tell({
    name: 'topics',
    result: used.length > 0 ? 'ok' : 'warning',
    text: `${topics.length} topics: siteward uses ${used.length}, leaves ${ignored.length} aside and does not know ${unknown.length}`,
    more: [...listed('uses', used), ...listed('does not know', unknown)],
    facts: { used, ignored, unknown },
    ...(used.length === 0 && {
      advice: ['Switch motion detection or rules on in the camera; one it does not know can be mapped with topics:.'],
    }),
  });
}

const listed = (what: string, topics: readonly string[]): readonly string[] => {
  if (topics.length === 0) return [];
  const more = topics.length > shownTopics ? ` and ${topics.length - shownTopics} more` : '';
  return [`${what}: ${topics.slice(0, shownTopics).join(', ')}${more}`];
};

interface Held {
  readonly subscription: Subscription;
  readonly style: Style;
}

/** In the ways the session would try, at most four. Throws what the last one threw. */
async function subscribed(points: PullPoint, { camera, signal }: Examination, service: URL): Promise<Held> {
  const ways = createWays(camera.base);
  ways.begin(service);
  for (let tries = 1; ; tries += 1) {
    const { url, style } = ways.current;
    try {
      return { subscription: await points.create(url, style, signal), style };
    } catch (error) {
      const full = error instanceof SitewardError && error.facts.full === true;
      const other = isCode(error, 'camera_fault') || isCode(error, 'camera_bad_answer');
      if (full || !other || tries >= maxTries) throw error;
      ways.refused();
    }
  }
}

async function tellPull(points: PullPoint, held: Held, { device, tell, clock, signal }: Examination): Promise<void> {
  const began = clock.monotonic();
  try {
    const { messages } = await points.pull(held.subscription, held.style, pullMs, signal);
    if (device.discreet === true)
      return tell({ name: 'events', result: 'ok', text: 'events can arrive: its request for them was answered' });
    const heldMs = Math.round(clock.monotonic() - began);
    const topics = [...new Set(messages.map(({ topic }) => topic || '(none)'))];
    const hasty = messages.length === 0 && heldMs < pullMs / 3;
    tell({
      name: 'events',
      result: 'ok',
      text:
        messages.length > 0
          ? `events arrive: ${messages.length} message${messages.length === 1 ? '' : 's'}`
          : hasty
            ? 'events can arrive; it answers at once instead of holding the request, so siteward asks once a second'
            : 'events can arrive; none came while the request was held',
      more: listed('seen', topics),
      facts: { messages: messages.length, held_ms: heldMs, seen: topics },
    });
  } catch (error) {
    signal.throwIfAborted();
    tell(failed('events', error, subscriptionAdvice(false)));
  }
}
