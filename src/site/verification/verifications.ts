import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { describe, SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { never, sleep, withDeadline } from '#lib/wait.ts';
import {
  type AuditDraft,
  type ClockQuality,
  type Command,
  type CommandResult,
  isPending,
  type Stamp,
  type VerificationDocument,
  type VerificationRefusal,
  type VerificationsPort,
  verificationStates,
} from '#site/model/index.ts';
import type { Store } from '#site/store/index.ts';
import { createAnswers } from './answers.ts';
import { bookOf } from './record.ts';
import type { Step } from './rules.ts';
import * as rules from './rules.ts';
import type { AboutEvent, Book, Contacts, Fate, Outgoing, Verification } from './types.ts';
import { auditCap, createWriter } from './writer.ts';

export interface VerificationsOptions {
  readonly store: Pick<Store, 'commit' | 'verifications' | 'recovery' | 'events'>;
  /** The core's gate for a command: its age, its code, its client. */
  readonly submit: (command: Command, reply: (result: CommandResult) => void) => void;
  readonly checkCode: (code: string | undefined) => Promise<Pick<Command, 'code' | 'actor' | 'role'>>;
  readonly contacts: Contacts;
  /** Why answers cannot reach the service as this site is configured; undefined where they can. */
  readonly unsendable: string | undefined;
  /** Something that operators see has changed, or there is something to be sent. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly quality: () => ClockQuality;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** Alarm verifications of the site: asked, shown, answered, sent. */
export interface Verifications extends Part, VerificationsPort {
  /** For the sender: the next answer of each verification. */
  outgoing(): readonly Outgoing[];
  settle(sent: Outgoing, told: { readonly fate: Fate; readonly reason?: string }): void;
}

const askDeadlineMs = 5000;
const commandAfterMs = 500;
/** Waits between the looks for records that a salvage has brought back; together a quarter of an hour. */
const looksMs = [2000, 10_000, 60_000, 240_000, 600_000] as const;
/** A deadline that only a clock in doubt calls past ends nothing, and is looked at again. */
const shortestMs = 250;
/** Events that are looked through for the one a request names. */
const eventsSearched = 500;

export function createVerifications(options: VerificationsOptions): Verifications {
  const { store, clock, log } = options;
  const stopping = new AbortController();
  const writer = createWriter({ store, log, metrics: options.metrics });
  let book: Book | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Verifications with an answer that is not on disk yet. */
  const held = new Map<symbol, string>();
  let unread: string | undefined;
  let loading: Promise<void> | undefined;
  const asked = new Counter({
    name: 'siteward_verifications_asked_total',
    help: 'Requests to verify an alarm, by what became of them at the door',
    labelNames: ['result'],
    registers: [options.metrics],
  });
  countStates(options.metrics, () => list());

  const stamp = (): Stamp => ({
    mono: clock.monotonic(),
    wall: clock.wall(),
    boot: clock.bootId,
    clock: options.quality(),
  });

  function current(): Book {
    if (book !== undefined) return book;
    throw new SitewardError('store_unavailable', `the verifications were not read yet: ${unread ?? 'try again'}`);
  }

  /** State advances at the decision; the record follows. */
  function take<R>(step: Step<R>, at: Stamp): Promise<void> {
    book = step.book;
    if (step.changed.length === 0 && step.audit.length === 0) return Promise.resolve();
    const records = new Map<string, Verification | undefined>(step.changed.map((id) => [id, step.book.get(id)]));
    const durable = writer.write(
      records,
      step.audit.map((entry) => auditRecord(entry, at)),
    );
    arm();
    answers.changed();
    options.onChange();
    return durable;
  }

  /**
   * An answer leaves when it is on disk, or after half a second without a disk: one that left and was then forgotten
   * could be turned round by the next.
   */
  function takeAnswer<R>(step: Step<R>, at: Stamp): Promise<void> {
    const [id] = step.changed;
    if (id === undefined) return take(step, at);
    const hold = Symbol(id);
    held.set(hold, id);
    const durable = take(step, at);
    const free = () => {
      if (held.delete(hold)) options.onChange();
    };
    void durable.then(free);
    void sleep(commandAfterMs, stopping.signal).then(free, () => undefined);
    return durable;
  }

  const auditRecord = (entry: AuditDraft, at: Stamp) => ({
    ...entry,
    ...{ at_wall: at.wall, at_mono: at.mono, clock: at.clock, epoch: store.recovery().epoch },
  });

  /** Deadlines run on the monotonic clock; a long one is looked at every minute, since the wall clock may be set. */
  function arm(): void {
    clearTimeout(timer);
    const waitMs = rules.nextMs(current(), stamp());
    if (waitMs === undefined || stopping.signal.aborted) return;
    timer = setTimeout(elapse, Math.min(60_000, Math.max(shortestMs, Math.ceil(waitMs) + 1)));
    timer.unref();
  }

  function elapse(): void {
    const at = stamp();
    void take(rules.elapse(current(), at), at);
    arm();
  }

  async function load(): Promise<boolean> {
    try {
      const found = bookOf(await store.verifications());
      book = found.book;
      unread = undefined;
      if (found.broken.length > 0) log.error({ ids: found.broken }, 'verifications that cannot be read are left out');
      elapse();
      options.onChange();
      return true;
    } catch (error) {
      unread = describe(error);
      return false;
    }
  }

  /** A damaged file gives its records back bit by bit after the start: what nobody knows yet is taken then. */
  async function keepLooking(): Promise<void> {
    for (const waitMs of looksMs) {
      await sleep(waitMs, stopping.signal);
      const rows = await store.verifications().catch(() => []);
      const fresh = [...bookOf(rows).book].filter(([id]) => !current().has(id));
      if (fresh.length === 0) continue;
      book = new Map([...current(), ...fresh]);
      log.warn({ count: fresh.length }, 'verifications were brought back from a damaged file');
      elapse();
      options.onChange();
    }
  }

  async function keepLoading(): Promise<void> {
    const waits = backoff({ baseMs: 500, capMs: 30_000 });
    while (!stopping.signal.aborted) {
      await sleep(waits.next(), stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted || (await load())) return;
    }
  }

  /** Tied to the event where it is one of ours. A store that cannot say whether anybody may see it takes no request (safety 4). */
  async function about(id: string | undefined): Promise<AboutEvent | undefined> {
    if (id === undefined) return undefined;
    const find = async (withSilent: boolean) => {
      const records = await store.events({ limit: eventsSearched, class: 'alarm', withSilent });
      return records.find((record) => record.event.event_id === id)?.event;
    };
    const event = await find(false);
    if (event === undefined) return { id, ...((await find(true)) !== undefined && { silent: true as const }) };
    const incident = event.data.incident_id;
    return {
      id,
      kind: event.kind,
      ...(incident === undefined ? {} : { incident }),
      ...(event.partition === undefined ? {} : { partition: event.partition }),
      ...(event.zone === undefined ? {} : { zone: event.zone }),
    };
  }

  const list = (): VerificationDocument[] =>
    [...(book?.values() ?? [])]
      .reverse()
      .filter((one) => !rules.isSilent(one))
      .map(rules.shown);

  const answers = createAnswers({ ...options, stamp, current, take: takeAnswer, stopping: stopping.signal });

  return {
    name: 'verifications',
    async start(signal) {
      signal.throwIfAborted();
      const loaded = (await load()) ? Promise.resolve() : keepLoading();
      // Ends with the looks, or early when the part stops.
      loading = loaded.then(keepLooking).catch(() => undefined);
    },
    async stop() {
      stopping.abort(new SitewardError('stopped', 'the verifications are stopping'));
      clearTimeout(timer);
      await loading;
      await writer.stop();
    },
    health(): Health {
      if (unread !== undefined) return { state: 'degraded', reason: `the verifications cannot be read: ${unread}` };
      const failing = writer.failing();
      if (failing !== undefined) return { state: 'degraded', reason: `verifications are not on disk: ${failing}` };
      return ok({ open: list().filter(isPending).length });
    },
    async ask(request, from) {
      let isSilent = false;
      const refuse = (refusal: VerificationRefusal): VerificationRefusal => {
        if (!isSilent) asked.inc({ result: refusal.code });
        return refusal;
      };
      if (options.unsendable !== undefined) return refuse({ outcome: 'refused', code: 'NOT_CONFIGURED' });
      current();
      if (writer.waiting >= auditCap) return refuse({ outcome: 'refused', code: 'BUSY' });
      const event = await about(request.event_id);
      isSilent = event?.silent === true;
      const at = stamp();
      const step = rules.ask(current(), request, { about: event, from, at });
      const { result } = step;
      if (typeof result === 'object') return refuse(result);
      // A repeat is answered when the first one is on disk, which may not be so yet.
      const durable = result === 'done' ? take(step, at) : writer.settled();
      await onDisk(durable);
      if (!isSilent) asked.inc({ result });
      const found = current().get(request.verification_id.toLowerCase());
      if (found === undefined) throw new SitewardError('store_failed', 'the verification has given way to newer ones');
      return { outcome: result, document: rules.shown(found) };
    },
    answer: answers.give,
    list,
    outgoing() {
      if (book === undefined) return [];
      const waiting = new Set(held.values());
      return rules.outgoing(book, stamp()).filter(({ verificationId }) => !waiting.has(verificationId));
    },
    settle(sent, told) {
      const at = stamp();
      void take(rules.settle(current(), sent, told, at), at);
    },
  };
}

function onDisk(durable: Promise<void>): Promise<void> {
  return withDeadline(askDeadlineMs, never(), () => durable, 'the write').catch((cause: unknown) => {
    throw new SitewardError('store_failed', 'the request is not on disk yet; make it again', { cause });
  });
}

function countStates(metrics: Registry, list: () => readonly VerificationDocument[]): void {
  new Gauge({
    name: 'siteward_verifications',
    help: 'Alarm verifications that are kept, by state',
    labelNames: ['state'],
    registers: [metrics],
    collect() {
      const counts = Map.groupBy(list(), ({ state }) => state);
      for (const state of verificationStates) this.set({ state }, counts.get(state)?.length ?? 0);
    },
  });
}
