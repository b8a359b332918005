import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pino from 'pino';
import { Registry } from 'prom-client';
import { createCloudClient } from '#cloud/client/index.ts';
import { encodeEvent } from '#cloud/contract/index.ts';
import { createDelivery, mediaFilesOf } from '#cloud/delivery/index.ts';
import { holdsAllRows } from '#daemon/all-rows.ts';
import { createMedia } from '#devices/media/index.ts';
import { isCode } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { Secret } from '#lib/secret.ts';
import { nameUuid } from '#lib/uuid.ts';
import { never, withDeadline } from '#lib/wait.ts';
import { watchClock } from '#site/clock-quality.ts';
import { commitQueue } from '#site/commit-queue.ts';
import { numberEvents } from '#site/events.ts';
import type { EventDraft, Lane } from '#site/model/index.ts';
import { openStore } from '#site/store/index.ts';
import { answerQuestion } from './box-answers.ts';
import { type BoxOptions, type Command, cameraOf, pictureOf, tokenOf } from './box-protocol.ts';
import { reporting, say } from './box-report.ts';

/**
 * The outbox as the daemon builds it, without panels, cameras and LAN: the real store, commit queue, pictures and
 * delivery. Commands come as lines of JSON, what happens leaves as lines of JSON, in the order in which it happens.
 */
const options = JSON.parse(process.argv[2] ?? '') as BoxOptions;
const bridge = '7d0d6a8e-3b3f-4a56-9c39-1f3f6e0f5a10';
const offsets = { mono: options.monoOffsetMs, wall: options.wallOffsetMs, error: options.wallErrorMs };
const clock: Clock = {
  monotonic: () => Number(process.hrtime.bigint() / 1000n) / 1000 + offsets.mono,
  wall: () => Date.now() + offsets.wall + offsets.error,
  bootId: options.boot,
};
/** No time that the cloud told before this moment counts: its clock and the box's were not moved by the same skip. */
let deafUntil = Number.NEGATIVE_INFINITY;
const log = pino({ level: process.env.SITEWARD_MODEL_LOG ?? 'silent' }, pino.destination({ fd: 2, sync: true }));
const metrics = new Registry();
const identity = { locationId: 'model', recorderId: 'sw-model', cameraIds: {}, version: '1.0' };

const store = openStore({
  dir: options.dir,
  clock,
  log,
  metrics,
  limits: options.limits,
  onForgotten: (files) => media.forget(files),
});
await store.start(new AbortController().signal);
const found = store.recovery();
const idSpace = nameUuid(bridge, found.storeId);
let { nextSeq, hidden } = found;

// Nobody but the cloud tells this box the time.
const quality = watchClock({
  ...{ clock, log },
  isSynchronised: () => false,
  onTrusted: (moment) => delivery.clockTrusted(moment),
  onStep: () => delivery.clockStepped(),
});

const cloud = createCloudClient({
  baseUrl: options.cloudUrl,
  authUrl: options.cloudUrl,
  clientId: options.clientId,
  keys: { current: { pem: new Secret(readFileSync(options.keyFile, 'utf8')) } },
  ...{ clock, log },
  http: {
    onDate({ offsetMs, roundTripMs }) {
      if (clock.monotonic() - roundTripMs > deafUntil) quality.compare(offsetMs, roundTripMs);
    },
  },
});
const media = createMedia({
  dir: join(options.dir, 'spool'),
  ...{ budgetBytes: 4_000_000, keepMs: 0, clips: { short_mp4: 10_000, event_mp4: 30_000 } },
  pictures: { snapshot: async (camera) => ({ bytes: pictureOf(tokenOf(camera)), mime: 'image/jpeg' }) },
  table: {
    update: (outcomes) => store.updateMedia(outcomes),
    list: (states, limit) => store.media(states, limit),
    isWhole: () => holdsAllRows(store.health(), commits.waitingRows),
    uploadedAt: async () => undefined,
  },
  onReady: () => delivery.wake(),
  ...{ clock, log, metrics },
});
const delivery = createDelivery({
  ...reporting({ store, cloud, clock }),
  files: mediaFilesOf(media),
  allowLoopbackHttp: true,
  uploadResume: 'off',
  onLink: () => undefined,
  ...{ clock, log, metrics },
});
const commits = commitQueue({
  ...{ store, log, metrics },
  direct: (rows) => delivery.direct(rows),
  written: (rows) => delivery.written(rows),
  wasAccepted: (seq) => delivery.wasAccepted(seq),
});
/** The daemon gives each part so long (`slots.ts`). */
const stopDeadlineMs = 2_000;

process.once('SIGTERM', async () => {
  const parts = [() => delivery.stop(), () => cloud.close(), () => media.stop(), () => commits.stop()];
  for (const stop of [...parts, () => store.stop()])
    await withDeadline(stopDeadlineMs, never(), stop).catch(() => undefined);
  say({ what: 'stopped' });
  process.exit(0);
});

await media.start(new AbortController().signal);
await delivery.start(new AbortController().signal);
const { epoch, storeId, lost } = found;
// On a full disk a file may not be open yet; then there is no connection to ask.
const synchronous = await answerQuestion({ store, what: 'synchronous', commits }).catch(() => ({}));
say({ what: 'life', boot: clock.bootId, mono: clock.monotonic(), epoch, storeId, nextSeq, lost, synchronous });

const classOf: Readonly<Record<Lane, EventDraft['class']>> = {
  alarm: 'alarm',
  arming: 'arming',
  trouble: 'trouble',
  activity: 'camera',
};

function put(command: Extract<Command, { do: 'put' }>): void {
  const { token, lane, key, silent } = command;
  const draft: EventDraft = {
    class: classOf[lane],
    kind: 'model',
    status: 'active',
    lane,
    partition: key,
    zone: `t${token}`,
    source: 'panel:model',
    signalToStation: true,
    toCloud: true,
    media: command.media ? [{ index: 0, kind: 'snapshot', camera: cameraOf(token), offsetMs: 0 }] : [],
    ...(silent && { silent: true }),
  };
  const at = { mono: clock.monotonic(), wall: clock.wall(), boot: clock.bootId, clock: quality.current() };
  const encode = (event: Parameters<typeof encodeEvent>[0]) => encodeEvent(event, draft, identity);
  const effects = [{ kind: 'event', ref: 1, event: draft } as const];
  const [numbered] = numberEvents({ effects, at, epoch, idSpace, firstSeq: nextSeq, hidden, encode, log });
  if (numbered === undefined) throw new Error('the event got no number');
  nextSeq += 1;
  if (silent) hidden += 1;
  const { seq, eventId } = numbered.row;
  const number = numbered.event.seq;
  const trueWall = at.wall - offsets.error;
  say({ what: 'numbered', token, seq, number, eventId, lane, key, silent, media: command.media, ...at, trueWall });
  const added = commits.add({
    commit: { rows: [numbered.row], arming: [], state: [JSON.stringify({ seq })], inputs: [`{"token":${token}}`] },
    publish(isDurable) {
      say({ what: 'shown', token, durable: isDurable(lane) });
      delivery.wake();
    },
  });
  const durable = added.durableIn(lane);
  durable.then(
    () => say({ what: 'acked', token }),
    (error: unknown) => say({ what: 'refused', token, code: isCode(error, 'stopped') ? 'stopped' : String(error) }),
  );
  if (command.media)
    media.capture({ seq, lane, items: draft.media, committed: durable, ...(silent && { silent: true }) });
}

/** What waits for a moment of either clock looks again. */
function passed(): void {
  delivery.wake();
}

async function obey(command: Command): Promise<void> {
  switch (command.do) {
    case 'put':
      return put(command);
    case 'skip':
      offsets.mono += command.ms;
      offsets.wall += command.ms;
      deafUntil = clock.monotonic();
      return passed();
    case 'clock':
      offsets.error = command.ms;
      return passed();
    case 'linkUp':
      return delivery.linkUp();
    case 'retryNow':
      return delivery.retryNow();
    case 'ask': {
      const { nth, what, seqs = [] } = command;
      if (what === 'deaf') deafUntil = Number.POSITIVE_INFINITY;
      try {
        const value = await answerQuestion({ store, what, seqs, commits });
        say({ what: 'answer', nth, value: value ?? null });
      } catch (error) {
        say({ what: 'answer', nth, error: String(error) });
      }
      if (what === 'retryParked') delivery.wake();
    }
  }
}

createInterface({ input: process.stdin }).on('line', (line) => void obey(JSON.parse(line) as Command));
