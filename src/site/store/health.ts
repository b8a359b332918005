import type { Health } from '#lib/health.ts';
import { isoTime } from '#site/model/index.ts';
import { type FileName, fileNames } from './lanes.ts';
import type { RequestQueue } from './queue.ts';
import type { StoreThread } from './thread.ts';

/** It begins anew every 1,000 pages, unless they cannot be moved into the file. No other program can hold it. */
const mostWalBytes = 32 * 1024 ** 2;

/** What was seen of the disk; wall clock milliseconds. */
export interface StoreEvidence {
  /** Without those that hold nothing but silent events (safety 4). */
  lastCommit: { at: number } | undefined;
  /** Cleared by the next good transaction of the same file. */
  lastError: { file: FileName; code: string; at: number } | undefined;
}

export function storeHealth(of: {
  evidence: StoreEvidence;
  started: boolean;
  thread: Pick<StoreThread, 'files' | 'refusal' | 'running' | 'lastDeath'>;
  queue: Pick<RequestQueue, 'count' | 'bytes'>;
}): Health {
  const { evidence, thread, queue } = of;
  const facts = {
    queued: queue.count,
    queuedBytes: queue.bytes,
    lastCommit: evidence.lastCommit === undefined ? null : isoTime(evidence.lastCommit.at),
    lastError: evidence.lastError?.code ?? null,
    lastDeath: thread.lastDeath ?? null,
    running: thread.running,
    siteOpen: thread.files?.site.open ?? false,
    bulkOpen: thread.files?.bulk.open ?? false,
    mending: thread.files?.site.mending === true || thread.files?.bulk.mending === true,
    checking: thread.files?.site.checking === true || thread.files?.bulk.checking === true,
  };
  const down = !of.started ? 'The store is not running.' : whyDown(thread);
  if (down !== undefined) return { state: 'down', reason: down, facts };
  const degraded = whyDegraded(evidence, thread);
  return degraded === undefined ? { state: 'ok', facts } : { state: 'degraded', reason: degraded, facts };
}

function whyDown(thread: Pick<StoreThread, 'files' | 'refusal' | 'running' | 'lastDeath'>): string | undefined {
  if (thread.refusal !== undefined) return thread.refusal.message;
  if (!thread.running) return `The store thread ended (${thread.lastDeath ?? 'unknown'}) and is being started again.`;
  const site = thread.files?.site;
  if (site?.open === false) return `site.db cannot be used: ${site.reason ?? 'unknown'}. Check the disk.`;
  return undefined;
}

function whyDegraded({ lastError }: StoreEvidence, { files }: Pick<StoreThread, 'files'>): string | undefined {
  if (lastError !== undefined) {
    return `The last write to ${lastError.file}.db failed (${lastError.code}). Check free space and the disk.`;
  }
  if (files?.bulk.open === false) {
    return `bulk.db cannot be used: ${files.bulk.reason ?? 'unknown'}. Alarms are stored; activity is not.`;
  }
  const log = fileNames.find((name) => (files?.[name].walBytes ?? 0) > mostWalBytes);
  if (log !== undefined) {
    return `The write-ahead log of ${log}.db is larger than 32 MiB: its pages cannot be moved into the file. Check free space and the disk.`;
  }
  const damage = [files?.site.damage, files?.bulk.damage].filter((text) => text !== undefined);
  return damage.length === 0 ? undefined : `${damage.join('; ')}. The disk or card may be failing.`;
}
