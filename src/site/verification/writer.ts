import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { describe } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import { sleep } from '#lib/wait.ts';
import type { AuditRecord } from '#site/model/index.ts';
import type { Commit, Store, VerificationRow } from '#site/store/index.ts';
import { rowOf } from './record.ts';
import type { Verification } from './types.ts';

/** Audit entries that wait for a disk that takes no writes; above it no new request is taken. */
export const auditCap = 500;

/** Writes records in order, one transaction at a time; what comes meanwhile goes together with the next. */
export interface Writer {
  /** Resolves when it is on disk; never rejects. A failed commit means unknown: the same one is made again until it is known. */
  write(records: ReadonlyMap<string, Verification | undefined>, audit: readonly AuditRecord[]): Promise<void>;
  /** Resolves when everything so far is on disk; never rejects. */
  settled(): Promise<void>;
  /** Why the disk does not take it; undefined while it does. */
  failing(): string | undefined;
  readonly waiting: number;
  /** Ends the tries; resolves when the last one has ended. */
  stop(): Promise<void>;
}

export interface WriterOptions {
  readonly store: Pick<Store, 'commit'>;
  readonly log: Logger;
  readonly metrics: Registry;
}

export function createWriter({ store, log, metrics }: WriterOptions): Writer {
  const stopping = new AbortController();
  let rows = new Map<string, VerificationRow>();
  let audit: AuditRecord[] = [];
  /** Entries that found no room. What only the auditor sees is counted apart, and takes no room from the others (safety 4). */
  const omitted = { all: 0, auditor: 0 };
  const lost = new Counter({
    name: 'siteward_verification_audit_omitted_total',
    help: 'Audit entries about verifications that were only counted, since the disk took none',
    registers: [metrics],
  });
  let waiters: (() => void)[] = [];
  let running: Promise<void> | undefined;
  let reason: string | undefined;

  async function run(): Promise<void> {
    while (rows.size > 0 || audit.length > 0) {
      const commit: Commit = { rows: [], arming: [], inputs: [], audit, verifications: [...rows.values()] };
      const done = waiters;
      rows = new Map();
      audit = [];
      waiters = [];
      if (!(await made(commit))) return;
      for (const wake of done) wake();
    }
  }

  async function made(commit: Commit): Promise<boolean> {
    const waits = backoff({ baseMs: 250, capMs: 10_000 });
    for (;;) {
      try {
        await store.commit(commit);
        reason = undefined;
        return true;
      } catch (error) {
        if (reason === undefined)
          log.error({ reason: describe(error) }, 'a verification could not be written; it is tried again');
        reason = describe(error);
        await sleep(waits.next(), stopping.signal).catch(() => undefined);
        if (stopping.signal.aborted) return false;
      }
    }
  }

  const waiting = (eyes: keyof typeof omitted): number => audit.filter((entry) => eyesOf(entry) === eyes).length;

  /** Beyond the cap an entry is counted only; the next that finds room tells how many were. */
  function keep(entry: AuditRecord): void {
    const eyes = eyesOf(entry);
    if (waiting(eyes) >= 2 * auditCap) {
      omitted[eyes] += 1;
      if (eyes === 'auditor') return;
      lost.inc();
      if (omitted.all === 1) log.error('audit entries about verifications find no room and are only counted');
      return;
    }
    const left = (entry.omitted ?? 0) + omitted[eyes];
    omitted[eyes] = 0;
    audit.push(left === 0 ? entry : { ...entry, omitted: left });
  }

  return {
    write(records, told) {
      for (const [id, one] of records) rows.set(id, rowOf(id, one));
      for (const entry of told) keep(entry);
      const durable = new Promise<void>((resolve) => waiters.push(resolve));
      running ??= run().finally(() => {
        running = undefined;
      });
      return durable;
    },
    settled: () => running ?? Promise.resolve(),
    failing: () => reason,
    get waiting() {
      return waiting('all');
    },
    async stop() {
      const ending = running;
      // What is on its way may still arrive; only the waits between the tries end.
      stopping.abort();
      await ending;
    },
  };
}

const eyesOf = ({ visibility }: AuditRecord): 'all' | 'auditor' => visibility ?? 'all';
