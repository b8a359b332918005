import type { Logger } from 'pino';
import { Gauge, type Registry } from 'prom-client';
import { z } from 'zod';
import type { CloudClient } from '#cloud/client/index.ts';
import { isCode } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { sleep, unlessAborted } from '#lib/wait.ts';
import { bridgeTrouble } from '#site/model/index.ts';
import type { Memory } from '#site/store/index.ts';
import type { SyncPort } from './arming-sync.ts';
import type { Place } from './requests.ts';

/** The site as one read of it tells. */
export type CloudSite = Awaited<ReturnType<CloudClient['manage']['getSite']>>['value'];

const lost = ['deleted', 'withdrawn'] as const;
/** `deleted`: the cloud does not know the site (404). `withdrawn`: it lets this client no more at it (403). */
export type Lost = (typeof lost)[number];

export interface StandingShown {
  readonly state: 'unknown' | 'ok' | Lost;
  /** Since when it is lost; wall clock, milliseconds. */
  readonly since?: number;
}

/** What every part that works at the site in the cloud asks before it does. */
export interface StandingPort {
  /** False while the site is deleted or the access withdrawn: then nothing is asked of the cloud but the site itself. */
  isOpen(): boolean;
  /** For a part that was answered 404 or 403: asks for the site itself, and resolves with `isOpen` after that. Never rejects. */
  judge(): Promise<boolean>;
}

export interface SiteStanding extends StandingPort {
  shown(): StandingShown;
  /** What was known before the start. Never rejects. */
  load(): Promise<void>;
  /** Reads the site and judges by it alone. Rejects with what the read says, or the reason of the signal. */
  read(signal: AbortSignal): Promise<CloudSite>;
  stop(): void;
}

export interface SiteStandingOptions {
  readonly manage: Pick<CloudClient['manage'], 'getSite'>;
  readonly place: Place;
  readonly site: Pick<SyncPort, 'signals'>;
  readonly memory: Memory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  /** The site was lost, or is back. */
  readonly onChanged?: (isOpen: boolean) => void;
  /** For tests. */
  readonly confirmMs?: number;
  readonly calmMs?: number;
}

/** One answer may be somebody else's, or of the moment: it counts when the next one says the same. */
const confirmMs = 3_000;
/** Parts that are refused at the same time are answered by one read. */
const calmMs = 10_000;
const key = 'site-standing';
const kept = z.strictObject({ state: z.enum(lost), since: z.number() });

/** What is told, and what to do. Events go on, and so does everything on the spot. */
export const lostText: Readonly<Record<Lost, string>> = {
  deleted:
    'the cloud does not know this site: it was deleted there, or site.id and site.dealer_id name another one. ' +
    'The site is protected here as before and its events are still sent; nothing else is asked of the cloud',
  withdrawn:
    'the cloud gives no access to this site any more: check cloud.partner, and whether the dealer is still connected. ' +
    'The site is protected here as before and its events are still sent; nothing else is asked of the cloud',
};

/**
 * The one judgement whether this site is still ours in the cloud. Only the read of the site itself decides: a 404 of one feature may
 * mean that the feature is missing. What is lost is never wiped here, and it comes back by itself.
 */
export function createSiteStanding(options: SiteStandingOptions): SiteStanding {
  const { manage, place, memory, clock, log } = options;
  const stopping = new AbortController();
  let standing: StandingShown = { state: 'unknown' };
  let reading: Promise<CloudSite> | undefined;
  let judging: Promise<void> | undefined;
  let readMono = Number.NEGATIVE_INFINITY;
  let told: string | undefined;

  new Gauge({
    name: 'siteward_cloud_site_lost',
    help: 'Whether the site is deleted in the cloud or access to it withdrawn',
    registers: [options.metrics],
    collect() {
      this.set(isOpen() ? 0 : 1);
    },
  });

  const isOpen = () => standing.state === 'ok' || standing.state === 'unknown';

  const calmLeft = () => Math.max(0, readMono + (options.calmMs ?? calmMs) - clock.monotonic());

  async function anew(): Promise<void> {
    await sleep(calmLeft(), stopping.signal);
    reading ??= ask();
    await reading;
  }

  async function ask(): Promise<CloudSite> {
    try {
      return await judged();
    } finally {
      readMono = clock.monotonic();
      reading = undefined;
    }
  }

  async function judged(): Promise<CloudSite> {
    const once = () => manage.getSite({ params: place, signal: stopping.signal });
    try {
      const value = await once().catch(async (error: unknown) => {
        const first = lostBy(error);
        if (first === undefined || first === standing.state) throw error;
        await sleep(options.confirmMs ?? confirmMs, stopping.signal);
        return once();
      });
      return found(value.value);
    } catch (error) {
      const now = stopping.signal.aborted ? undefined : lostBy(error);
      if (now !== undefined) become(now);
      throw error;
    }
  }

  function found(value: CloudSite): CloudSite {
    become('ok');
    return value;
  }

  function become(state: 'ok' | Lost): void {
    const wasOpen = isOpen();
    if (state !== standing.state) {
      standing = state === 'ok' ? { state } : { state, since: standing.since ?? clock.wall() };
      keep();
    }
    tell(state);
    if (wasOpen === isOpen()) return;
    if (state === 'ok') log.info('the site is there again in the cloud; the work at it goes on');
    else log.error({ standing: state }, lostText[state]);
    options.onChanged?.(isOpen());
  }

  function keep(): void {
    const { state, since } = standing;
    const written =
      since === undefined
        ? memory.delete(key)
        : memory.set(key, JSON.stringify({ state, since } as z.input<typeof kept>));
    // After a restart the first read tells it again.
    void written.catch(() => undefined);
  }

  /** One trouble, whatever the reason becomes; told at the first read too, so that one from before the start ends. */
  function tell(state: 'ok' | Lost): void {
    if (told === state) return;
    told = state;
    const trouble =
      state === 'ok'
        ? bridgeTrouble('site_gone', false, 'the cloud knows the site and gives access to it')
        : { ...bridgeTrouble('site_gone', true, lostText[state]), urgent: true };
    void options.site.signals([trouble]).catch(() => {
      // Only a controller that is ending refuses: its successor is to be told.
      told = undefined;
    });
  }

  return {
    isOpen,
    shown: () => standing,
    async load() {
      const text = await memory.get(key).catch(() => undefined);
      if (text === undefined) return;
      try {
        standing = kept.parse(JSON.parse(text));
      } catch {
        log.warn('what was known of the standing of the site cannot be read; the cloud is asked');
      }
    },
    async read(signal) {
      signal.throwIfAborted();
      reading ??= ask();
      return unlessAborted(reading, signal);
    },
    async judge() {
      if (!isOpen() && calmLeft() > 0) return false;
      // A read from before the refusal says nothing of it: where one has just been, the next one waits.
      judging ??= anew().finally(() => {
        judging = undefined;
      });
      await judging.catch(() => undefined);
      return isOpen();
    },
    stop: () => stopping.abort(new Error('the standing of the site is no more asked for')),
  };
}

function lostBy(error: unknown): Lost | undefined {
  if (isCode(error, 'cloud_not_found')) return 'deleted';
  return isCode(error, 'cloud_forbidden') ? 'withdrawn' : undefined;
}
