import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { CloudClient } from '#cloud/client/index.ts';
import { describe, isCode, SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { wakeup, withDeadline } from '#lib/wait.ts';
import {
  contactsOf,
  type MirrorContact,
  type MirrorContent,
  type MirrorSite,
  type MirrorStation,
  type ReadSite,
  siteOf,
  stationsOf,
} from './content.ts';
import type { MirrorKeeper } from './kept.ts';

export interface MirrorOptions {
  readonly manage: Pick<CloudClient['manage'], 'listContacts' | 'listMonitoringStations'>;
  readonly place: { readonly dealerId: string; readonly siteId: string };
  readonly keeper: MirrorKeeper;
  /** Undefined while nobody reads the site. */
  readonly standing: () =>
    | {
        isOpen(): boolean;
        judge(): Promise<boolean>;
        shown(): { readonly state: 'unknown' | 'ok' | 'deleted' | 'withdrawn'; readonly since?: number };
      }
    | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly random?: () => number;
  /** For tests. */
  readonly times?: Partial<MirrorTimes>;
}

/** Milliseconds. */
export interface MirrorTimes {
  readonly contactsMs: number;
  readonly stationsMs: number;
  /** After a start, and when the line is back: not all sites at the same moment. */
  readonly spreadMs: number;
  /** Between two reads of the contacts, whatever happens to the line. */
  readonly calmMs: number;
  /** The wait after the first read that failed. */
  readonly againMs: number;
}

const defaults: MirrorTimes = {
  contactsMs: 6 * 3_600_000,
  stationsMs: 24 * 3_600_000,
  spreadMs: 15_000,
  calmMs: 60_000,
  againMs: 60_000,
};
/** Older, it is shown as stale. */
const staleMs = { site: 3_600_000, stations: 2 * 86_400_000, contacts: 86_400_000 } as const;
/** The site itself is written when it is another one, and now and then for its age. */
const siteKeptEveryMs = 3_600_000;
/** Contacts behind an access that is withdrawn. */
const withdrawnMs = 86_400_000;
/** For somebody who waits. */
const lookMs = 4_000;
/** The service may ask for so long a pause. */
const askedCapMs = 15 * 60_000;

export interface Age {
  /** Wall clock, milliseconds; undefined: never. */
  readonly readAt?: number;
  readonly stale: boolean;
}

export interface Mirror extends Part {
  site(): Age & { readonly value?: MirrorSite };
  stations(): Age & { readonly items: readonly MirrorStation[]; readonly leftOut: number };
  contacts(): Age & { readonly items: readonly MirrorContact[]; readonly leftOut: number };
  /**
   * Whether the cloud has this contact. One that is not in the list is looked for once more. `unsure`: not in a list that is older
   * than a day, or there is none.
   */
  knows(contactId: string, signal: AbortSignal): Promise<Knowledge>;
  /** The same by what is kept, at once: for what must wait for nobody. */
  knowsNow(contactId: string): Knowledge;
  /** The site, as whoever reads it has read it. */
  siteRead(site: ReadSite): void;
  /** The cloud can be reached again. */
  lineUp(): void;
  /** The site was lost in the cloud, or is back, or somebody has mended something. */
  retryNow(): void;
}

type Knowledge = 'known' | 'unknown' | 'unsure';
type Listed = 'contacts' | 'stations';

/** What the site needs to know of itself in the cloud while nobody can be asked, each with its age. */
export function createMirror(options: MirrorOptions): Mirror {
  const { manage, place, keeper, clock, log, random = Math.random } = options;
  const times = { ...defaults, ...options.times };
  const stopping = new AbortController();
  const { signal } = stopping;
  const wakeups = wakeup();
  const every = { contacts: times.contactsMs, stations: times.stationsMs };
  const waits = {
    contacts: backoff({ baseMs: times.againMs, capMs: times.contactsMs, random, jitter: 'full' }),
    stations: backoff({ baseMs: times.againMs, capMs: times.stationsMs, random, jitter: 'full' }),
  };
  const due = { contacts: 0, stations: 0 };
  const failures = new Map<Listed, SitewardError>();
  /** Asked for while it was being read: a read that fails then says nothing of now. */
  const again = new Set<Listed>();
  let content: MirrorContent = { v: 1 };
  /** Since when the access is seen to be withdrawn. */
  let withdrawnMono: number | undefined;
  let contactsMono = Number.NEGATIVE_INFINITY;
  let siteWrittenAt = Number.NEGATIVE_INFINITY;
  let writing: Promise<void> = Promise.resolve();
  /** Why nothing is kept on disk. */
  let unkept: string | undefined;
  let loop: Promise<void> | undefined;
  let reading: Promise<boolean> | undefined;

  const reads = new Counter({
    name: 'siteward_cloud_mirror_reads_total',
    help: 'Reads of what is kept of the site in the cloud, by list and outcome',
    labelNames: ['what', 'outcome'],
    registers: [options.metrics],
  });
  new Gauge({
    name: 'siteward_cloud_mirror_rows',
    help: 'Rows that are kept of the site in the cloud, by list',
    labelNames: ['what'],
    registers: [options.metrics],
    collect() {
      for (const what of ['contacts', 'stations'] as const) this.set({ what }, content[what]?.items.length ?? 0);
    },
  });

  const isOpen = () => options.standing()?.isOpen() ?? true;

  async function run(): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      purge();
      if (!isOpen()) {
        await wakeups.wait(Math.min(withdrawnMs, siteKeptEveryMs), signal);
        continue;
      }
      const now = clock.monotonic();
      if (due.contacts <= now) await read('contacts');
      else if (due.stations <= now) await read('stations');
      else await wakeups.wait(Math.min(due.contacts, due.stations) - now, signal);
    }
  }

  /** Contacts of a site that is no more, or that nobody lets us see any more, are nobody's to call from here. */
  function purge(): void {
    const { contacts } = content;
    const { state, since = clock.wall() } = options.standing()?.shown() ?? { state: 'unknown' };
    withdrawnMono = state === 'withdrawn' ? (withdrawnMono ?? clock.monotonic()) : undefined;
    // The wall clock may have been ahead when it was withdrawn; without it a restart would begin the day anew.
    const passedMs = Math.max(clock.wall() - since, clock.monotonic() - (withdrawnMono ?? clock.monotonic()));
    const isOver = state === 'deleted' || (state === 'withdrawn' && passedMs >= withdrawnMs);
    if (contacts === undefined || !isOver) return;
    const { contacts: _, ...rest } = content;
    content = rest;
    log.warn({ standing: state }, 'the contacts of the site were removed here');
    write();
  }

  /** One read at a time of each list; true when it was good. */
  async function read(what: Listed): Promise<boolean> {
    if (what === 'stations') return readOnce(what);
    reading ??= readOnce(what).finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function readOnce(what: Listed): Promise<boolean> {
    again.delete(what);
    try {
      await (what === 'contacts' ? readContacts() : readStations());
    } catch (error) {
      signal.throwIfAborted();
      failed(what, error);
      return false;
    }
    if (failures.delete(what)) log.info({ what }, 'the cloud was read again');
    waits[what].reset();
    due[what] = clock.monotonic() + every[what] * (0.8 + 0.4 * random());
    reads.inc({ what, outcome: 'read' });
    write();
    return true;
  }

  async function readContacts(): Promise<void> {
    contactsMono = clock.monotonic();
    const { raw } = await manage.listContacts({ params: place, signal });
    content = { ...content, contacts: listed(contactsOf(raw)) };
  }

  async function readStations(): Promise<void> {
    const { raw } = await manage.listMonitoringStations({ params: { dealerId: place.dealerId }, signal });
    content = { ...content, stations: listed(stationsOf(raw)) };
  }

  function listed<T>(found: { readonly items: readonly T[]; readonly leftOut: number } | undefined) {
    if (found === undefined) throw new SitewardError('cloud_bad_answer', 'no row of the list can be read');
    return { readAt: clock.wall(), items: [...found.items], leftOut: found.leftOut };
  }

  function failed(what: Listed, error: unknown): void {
    reads.inc({ what, outcome: 'failed' });
    const known = error instanceof SitewardError ? error : new SitewardError('internal', describe(error));
    if (failures.get(what)?.code !== known.code)
      log.warn({ what, reason: describe(known) }, 'the cloud cannot be read; what was read last stays');
    failures.set(what, known);
    const waitMs = again.delete(what) ? times.calmMs : waits[what].next();
    due[what] = clock.monotonic() + Math.max(Math.min(Number(known.facts.retry_after_ms ?? 0), askedCapMs), waitMs);
    if (isCode(known, 'cloud_not_found') || isCode(known, 'cloud_forbidden')) void options.standing()?.judge();
  }

  /** One after the other; each the newest. The session goes on by what it knows where the disk takes nothing. */
  function write(): void {
    writing = writing
      .then(() => keeper.keep(content))
      .then(() => {
        if (unkept !== undefined) log.info('what the cloud says of the site is kept again');
        unkept = undefined;
      })
      .catch((error: unknown) => {
        const reason = describe(error);
        if (unkept !== reason) log.error({ reason }, 'what the cloud says of the site cannot be kept over a restart');
        unkept = reason;
      });
  }

  function ageOf(what: keyof typeof staleMs): Age {
    const readAt = content[what]?.readAt;
    if (readAt === undefined) return { stale: true };
    const ageMs = clock.wall() - readAt;
    // Read while the clock was ahead: nobody knows how old it is.
    return { readAt, stale: ageMs < 0 || ageMs > staleMs[what] };
  }

  const has = (id: string) => content.contacts?.items.some(({ contact_id }) => contact_id === id) === true;

  function knowsNow(id: string): Knowledge {
    if (has(id)) return 'known';
    // One that was left out of the list may be the very one.
    const isWhole = (content.contacts?.leftOut ?? 0) === 0;
    return isWhole && !ageOf('contacts').stale ? 'unknown' : 'unsure';
  }

  function sooner(what: Listed, ms: number): void {
    const at =
      what === 'contacts' ? Math.max(clock.monotonic() + ms, contactsMono + times.calmMs) : clock.monotonic() + ms;
    if (at < due[what]) due[what] = at;
    again.add(what);
    wakeups.wake();
  }

  return {
    name: 'mirror',
    async start() {
      content = (await keeper.load()) ?? { v: 1 };
      const first = clock.monotonic() + times.spreadMs * random();
      due.contacts = first;
      const { readAt } = ageOf('stations');
      const ageMs = readAt === undefined ? Number.POSITIVE_INFINITY : clock.wall() - readAt;
      due.stations = ageMs >= 0 && ageMs < times.stationsMs ? first + times.stationsMs - ageMs : first;
      loop ??= run().catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error }, 'the site is not read from the cloud any more');
      });
    },
    async stop() {
      stopping.abort(new SitewardError('stopped', 'siteward is stopping'));
      await loop;
      await writing;
    },
    site: () => ({ ...ageOf('site'), ...(content.site !== undefined && { value: content.site.value }) }),
    stations: () => ({
      ...ageOf('stations'),
      items: content.stations?.items ?? [],
      leftOut: content.stations?.leftOut ?? 0,
    }),
    contacts: () => ({
      ...ageOf('contacts'),
      items: content.contacts?.items ?? [],
      leftOut: content.contacts?.leftOut ?? 0,
    }),
    async knows(id, asking) {
      if (has(id)) return 'known';
      if (isOpen() && clock.monotonic() - contactsMono >= Math.min(times.calmMs, lookMs))
        await withDeadline(lookMs, asking, () => read('contacts'), 'reading the contacts').catch(() => undefined);
      return knowsNow(id);
    },
    knowsNow,
    siteRead(site) {
      const value = siteOf(site);
      const isNews = JSON.stringify(value) !== JSON.stringify(content.site?.value);
      content = { ...content, site: { readAt: clock.wall(), value } };
      if (!isNews && clock.monotonic() - siteWrittenAt < siteKeptEveryMs) return;
      siteWrittenAt = clock.monotonic();
      write();
    },
    lineUp: () => sooner('contacts', times.spreadMs * random()),
    retryNow() {
      purge();
      sooner('contacts', 0);
      if (content.stations === undefined || failures.has('stations')) sooner('stations', 0);
    },
    health(): Health {
      const facts = {
        contacts: content.contacts?.items.length ?? null,
        stations: content.stations?.items.length ?? null,
      };
      // That nobody answers is the trouble of the line, and a lost site has its own.
      const told = isOpen() ? [...failures].find(([, error]) => !isCode(error, 'cloud_unreachable')) : undefined;
      if (told === undefined && unkept !== undefined)
        return {
          state: 'degraded',
          reason: `the contacts and stations of the site are not kept over a restart: ${unkept}`,
          facts,
        };
      if (told === undefined) return ok(facts);
      const [what, error] = told;
      return {
        state: 'degraded',
        reason: `the ${what} of the site cannot be read from the cloud: ${describe(error)}`,
        facts,
      };
    },
  };
}
