import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { type CloudClient, rowsOf } from '#cloud/client/index.ts';
import { describe, isCode, SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { wakeup } from '#lib/wait.ts';
import type { CloudMessage } from '#site/model/index.ts';
import type { Memory } from '#site/store/index.ts';
import { createCatalogueKeeper } from './audio-kept.ts';
import { listedMessages } from './audio-messages.ts';
import { type CloudPlays, createCloudPlays } from './audio-play.ts';

/**
 * What its client is made with. Whether and when something is asked again is decided here: a message that is late is worse than
 * none. The largest list that is read has some thousand messages.
 */
export const audioClient = { retry: { tries: 1 }, http: { connections: 3, answerCap: 1_000_000 } } as const;

export interface AudioCatalogueOptions {
  /** Of a client of its own, made with `audioClient`. */
  readonly manage: Pick<CloudClient['manage'], 'listAudioMessages' | 'playAudioMessage'>;
  /** Address of the interface. */
  readonly address: string;
  readonly siteId: string;
  readonly memory: Memory;
  /** The messages are others now. */
  readonly onChanged?: () => void;
  /** False while the site is lost in the cloud: then nothing is read. */
  readonly isOpen?: () => boolean;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly random?: () => number;
  /** For tests. */
  readonly everyMs?: number;
  readonly calmMs?: number;
}

/** The audio messages of the service (S-170): what it holds, and its play call. */
export interface AudioCatalogue extends Part, Pick<CloudPlays, 'find' | 'play'> {
  /** As they were read last, perhaps before the last start; undefined while nobody knows. */
  messages(): readonly CloudMessage[] | undefined;
  /** The service can be reached again. */
  lineUp(): void;
  /** Somebody has mended something. */
  retryNow(): void;
}

const everyMs = 3_600_000;
/** The whole exchange; messages wait for nobody who reads their list. */
const deadlineMs = 30_000;
/** After a start, and when the line is back: not all sites at the same moment. */
const spreadMs = 15_000;
/** Between two readings, whatever happens to the line. */
const calmMs = 60_000;

/** Where somebody must change something first; siteward then asks as often as where all is well. */
const lasting: ReadonlySet<string> = new Set([
  'cloud_unauthorized',
  'cloud_forbidden',
  'cloud_not_found',
  'cloud_refused',
]);

export function createAudioCatalogue(options: AudioCatalogueOptions): AudioCatalogue {
  const { manage, siteId, memory, clock, log, metrics, random = Math.random } = options;
  const hourMs = options.everyMs ?? everyMs;
  const restMs = options.calmMs ?? calmMs;
  const stopping = new AbortController();
  const { signal } = stopping;
  const wakeups = wakeup();
  const keeper = createCatalogueKeeper({ memory, of: `${options.address} ${siteId}`, log });
  const plays = createCloudPlays({ manage, siteId, memory, stopping: signal, clock, log, metrics });
  const waits = backoff({ baseMs: Math.min(60_000, hourMs), capMs: hourMs, random, jitter: 'full' });
  let messages: readonly CloudMessage[] | undefined;
  let failure: SitewardError | undefined;
  let readMono = Number.NEGATIVE_INFINITY;
  let dueMono = 0;
  let loop: Promise<void> | undefined;

  const reads = new Counter({
    name: 'siteward_audio_catalogue_reads_total',
    help: 'Readings of the audio messages of the service, by outcome',
    labelNames: ['outcome'],
    registers: [metrics],
  });
  new Gauge({
    name: 'siteward_audio_catalogue_messages',
    help: 'Audio messages of the service that are known',
    registers: [metrics],
    collect() {
      this.set(messages?.length ?? 0);
    },
  });

  async function run(): Promise<void> {
    await plays.load();
    messages = await keeper.load();
    if (messages !== undefined) options.onChanged?.();
    for (;;) {
      const waitMs = dueMono - clock.monotonic();
      if (waitMs > 0) await wakeups.wait(waitMs, signal);
      else {
        signal.throwIfAborted();
        const pauseMs = await read();
        readMono = clock.monotonic();
        dueMono = readMono + pauseMs;
      }
    }
  }

  function sooner(ms: number): void {
    const at = Math.max(clock.monotonic() + ms, readMono + restMs);
    if (at >= dueMono) return;
    dueMono = at;
    wakeups.wake();
  }

  /** Resolves with the time until the next one, milliseconds. */
  async function read(): Promise<number> {
    if (options.isOpen?.() === false) return hourMs;
    try {
      take(await asked());
    } catch (error) {
      signal.throwIfAborted();
      return failed(error);
    }
    waits.reset();
    // The session goes on by what it knows; only a restart would know less.
    await keeper.keep(messages ?? []).catch((error: unknown) => {
      if (!signal.aborted) log.warn({ err: error }, 'the audio messages of the service cannot be kept');
    });
    return hourMs * (0.8 + 0.4 * random());
  }

  async function asked(): Promise<ReturnType<typeof listedMessages>> {
    const { value, raw } = await manage.listAudioMessages({ params: { site_id: siteId }, signal, deadlineMs });
    const rows = value.data?.audio_messages;
    const found = listedMessages(rows ?? []);
    if (rows === undefined || (found.messages.length === 0 && rowsOf(raw).length > 0))
      throw new SitewardError('cloud_bad_answer', 'listAudioMessages: no message of the answer can be read');
    return found;
  }

  function take({ messages: found, leftOut }: ReturnType<typeof listedMessages>): void {
    const isNews = JSON.stringify(messages) !== JSON.stringify(found);
    const isMended = failure !== undefined;
    messages = found;
    if (isNews) options.onChanged?.();
    failure = undefined;
    reads.inc({ outcome: 'read' });
    const facts = { messages: found.length, ...(leftOut > 0 && { left_out: leftOut }) };
    log[isNews || isMended ? 'info' : 'debug'](facts, 'the audio messages of the service were read');
  }

  function failed(error: unknown): number {
    reads.inc({ outcome: 'failed' });
    const known = error instanceof SitewardError ? error : new SitewardError('internal', describe(error));
    if (failure?.code !== known.code)
      log.warn({ reason: describe(known) }, 'the audio messages of the service cannot be read; those read last stay');
    failure = known;
    const askedMs = Math.min(Number(known.facts.retry_after_ms ?? 0), hourMs);
    return lasting.has(known.code) ? hourMs * (0.8 + 0.4 * random()) : Math.max(askedMs, waits.next());
  }

  return {
    name: 'audio-catalogue',
    async start() {
      dueMono = clock.monotonic() + Math.min(spreadMs, restMs) * random();
      loop ??= run().catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error }, 'the audio messages of the service are not read any more');
      });
    },
    async stop() {
      stopping.abort(new SitewardError('stopped', 'siteward is stopping'));
      await loop;
    },
    messages: () => messages,
    find: plays.find,
    play: plays.play,
    lineUp: () => sooner(Math.min(spreadMs, restMs) * random()),
    retryNow: () => sooner(0),
    health(): Health {
      const facts = { cloud_messages: messages?.length ?? null };
      // That nobody answers is the trouble of the line.
      if (failure === undefined || isCode(failure, 'cloud_unreachable')) return ok(facts);
      return {
        state: 'degraded',
        reason: `the audio messages of the service cannot be read: ${describe(failure)}`,
        facts,
      };
    },
  };
}
