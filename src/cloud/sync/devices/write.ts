import type { BulkOutcome, CloudClient } from '#cloud/client/index.ts';
import type { NvrCreate } from '#cloud/contract/index.ts';
import { isCode, SitewardError } from '#errors.ts';
import type { Failure, Holds, Task } from './holds.ts';
import type { KnownBook } from './known.ts';
import type { KnownNvr } from './plan.ts';
import { toldOf } from './plan.ts';
import type { Job, Work } from './work.ts';

/** What the reconciliation asks of the cloud. There is no deletion among it. */
export type DeviceCalls = Pick<
  CloudClient['manage'],
  'listDevices' | 'getDevice' | 'createDevices' | 'updateDevices' | 'createNvr' | 'updateNvr' | 'addNvrDevices'
>;

export interface Site {
  readonly dealerId: string;
  readonly siteId: string;
}

/** What was done, by external id, over the rounds of one reconciliation. */
export interface Tally {
  readonly created: Set<string>;
  readonly updated: Set<string>;
  readonly nvrsCreated: Set<string>;
  readonly nvrsUpdated: Set<string>;
  /** By recorder. */
  readonly attached: Map<string, Set<string>>;
  /** What was taken, by key and content: asked again in the same reconciliation it was in vain. */
  readonly taken: Set<string>;
}

export const newTally = (): Tally => ({
  ...{ created: new Set(), updated: new Set(), nvrsCreated: new Set(), nvrsUpdated: new Set() },
  ...{ attached: new Map(), taken: new Set() },
});

export const hasWritten = ({ created, updated, nvrsCreated, nvrsUpdated, attached }: Tally): boolean =>
  [created, updated, nvrsCreated, nvrsUpdated, attached].some(({ size }) => size > 0);

export const takenAs = ({ key, hash }: Task): string => `${key} ${hash}`;

export interface Writing {
  readonly manage: DeviceCalls;
  readonly place: Site;
  readonly known: KnownBook;
  readonly holds: Holds;
  /** The id of a recorder in the cloud as the configuration states it. */
  readonly stated: (externalId: string) => string | undefined;
  readonly tally: Tally;
  readonly wall: () => number;
  readonly signal: AbortSignal;
}

/** Of one request; the client's own chunks are as large, so that what becomes of a request is told of these items alone. */
const chunkItems = 50;
/** Until an operation that is not offered to us is tried again: perhaps it is by then. */
const probeMs = 900_000;

/**
 * Writes all of it: devices, their changes, recorders. What fails alone is held; rejects with what says nothing of any item
 * (`cloud_unreachable`, `cloud_unauthorized`, `cloud_outcome_unknown`, `cloud_bad_answer`, `cloud_not_found`).
 */
export async function write(work: Work, to: Writing): Promise<void> {
  const { manage, place: params, known, tally, signal } = to;
  await inChunks(work.create, to, {
    send: (items) => manage.createDevices({ params, items, signal }),
    done({ external_device_id: id }, res) {
      tally.created.add(id);
      const { device_id } = res;
      if (typeof device_id === 'string' || typeof device_id === 'number')
        known.device(id, { id: String(device_id), as: id });
    },
    forbidden: 'ask the platform to create the device; siteward finds it then by its external id',
  });
  await inChunks(work.update, to, {
    send: (items) => manage.updateDevices({ params, items, signal }),
    done: (_, __, { external_id }) => void tally.updated.add(external_id),
  });
  for (const job of work.nvrs.create) await createNvr(job, to);
  for (const job of work.nvrs.update) await updateNvr(job, to);
  for (const { external_nvr_id: id, nvrId, devices } of work.nvrs.attach) {
    await inChunks(devices, to, {
      send: (items) => manage.addNvrDevices({ params: { ...params, nvrId }, items, signal }),
      done(deviceId, __, { external_id }) {
        const { anew: _, ...nvr } = known.nvrs.get(id) ?? nothingTold;
        known.nvr(id, { ...nvr, attached: [...nvr.attached, deviceId] });
        tally.attached.set(id, (tally.attached.get(id) ?? new Set()).add(external_id));
      },
      gone: (tasks, failure) => nvrGone({ id, nvrId, tasks, failure }, to),
    });
  }
}

interface Sending<Item> {
  readonly send: (items: readonly Item[]) => Promise<BulkOutcome<Item>>;
  readonly done: (item: Item, res: Readonly<Record<string, unknown>>, task: Task) => void;
  /** What to do where the service does not offer the operation to us. */
  readonly forbidden?: string;
  /** What the items are given to is not there. */
  readonly gone?: (tasks: readonly Task[], failure: Failure) => void;
}

async function inChunks<Item>(jobs: readonly Job<Item>[], to: Writing, how: Sending<Item>): Promise<void> {
  for (let start = 0; start < jobs.length; start += chunkItems)
    await once(jobs.slice(start, start + chunkItems), to, how);
}

async function once<Item>(jobs: readonly Job<Item>[], to: Writing, how: Sending<Item>): Promise<void> {
  const { holds, tally } = to;
  const taskOf = new Map(jobs.map(({ item, task }) => [item, task]));
  try {
    const outcome = await how.send(jobs.map(({ item }) => item));
    const done = outcome.succeeded((failed) => {
      for (const { input, ...failure } of failed) {
        const task = taskOf.get(input);
        if (task !== undefined) holds.failed(task, failure);
      }
    });
    for (const { input, res } of done) {
      const task = taskOf.get(input);
      if (task === undefined) continue;
      tally.taken.add(takenAs(task));
      how.done(input, res, task);
    }
  } catch (error) {
    const failure = failureOf(error);
    const tasks = jobs.map(({ task }) => task);
    // One item may be why all are refused: each alone.
    if (isCode(error, 'cloud_refused') && jobs.length > 1) for (const job of jobs) await once([job], to, how);
    else if (isCode(error, 'cloud_refused')) for (const task of tasks) holds.failed(task, failure);
    else if (isCode(error, 'cloud_forbidden')) {
      const message = how.forbidden === undefined ? failure.message : `${failure.message}; ${how.forbidden}`;
      for (const task of tasks) holds.failed(task, { status: 403, message, isForGood: false, retryAfterMs: probeMs });
    } else if (isCode(error, 'cloud_not_found') && how.gone !== undefined) how.gone(tasks, failure);
    else throw error;
  }
}

export const nothingTold: KnownNvr = { told: {}, changedAt: 0, attached: [] };

/** Registers a recorder once: before the request it is noted that it was asked for, and after it what became of that. */
async function createNvr({ item, task }: Job<NvrCreate>, to: Writing): Promise<void> {
  const { manage, place: params, known, holds, tally, signal } = to;
  const { external_nvr_id: id } = item;
  const before = known.nvrs.get(id);
  const fresh: KnownNvr = {
    ...nothingTold,
    ...(before?.anew === true && { anew: true }),
  };
  known.nvr(id, { ...fresh, asked: true });
  // Not known after a restart it would be registered twice.
  await known.keep();
  let made: string;
  try {
    made = (await manage.createNvr({ params, body: item, signal })).value.nvr_id;
  } catch (error) {
    if (signal.aborted) throw error;
    if (isCode(error, 'cloud_outcome_unknown')) return;
    // A refusal after a lost reply is perhaps the word that it is there.
    if (before?.doubtful === true && isCode(error, 'cloud_refused'))
      return known.nvr(id, { ...fresh, asked: true, refusal: failureOf(error).message.slice(0, 500) });
    known.nvr(id, before);
    return holdOrThrow(task, error, holds);
  }
  known.nvr(id, { ...fresh, id: made, told: toldOf(item) });
  tally.nvrsCreated.add(id);
  // Nothing shows the id again.
  await known.keep();
}

async function updateNvr({ item, nvrId, task }: Work['nvrs']['update'][number], to: Writing): Promise<void> {
  const { manage, place, known, holds, tally, wall, signal } = to;
  const { external_id: id } = task;
  try {
    await manage.updateNvr({ params: { ...place, nvrId }, body: item, signal });
  } catch (error) {
    if (isCode(error, 'cloud_not_found')) nvrGone({ id, nvrId, tasks: [task], failure: failureOf(error) }, to);
    else holdOrThrow(task, error, holds);
    return;
  }
  const { anew: _, ...nvr } = known.nvrs.get(id) ?? nothingTold;
  known.nvr(id, { ...nvr, id: nvrId, told: { ...nvr.told, ...item }, changedAt: wall() });
  tally.nvrsUpdated.add(id);
}

/** The recorder is not there any more: it is registered anew, once. */
function nvrGone(
  { id, nvrId, tasks, failure }: { id: string; nvrId: string; tasks: readonly Task[]; failure: Failure },
  { known, holds, stated }: Writing,
): void {
  const nvr = known.nvrs.get(id);
  if (nvr?.id !== nvrId) return;
  if (stated(id) === nvrId) {
    const message = `the cloud has no recorder ${nvrId.slice(0, 64)}, which cloud_nvr_id names: correct it, or take it out to have the recorder registered`;
    for (const task of tasks) holds.failed(task, { ...failure, message, isForGood: true });
    return;
  }
  if (nvr.anew === true) for (const task of tasks) holds.failed(task, { ...failure, isForGood: true });
  else known.nvr(id, { ...nothingTold, anew: true });
}

function holdOrThrow(task: Task, error: unknown, holds: Holds): void {
  const isOfAll = ['cloud_unauthorized', 'cloud_unreachable', 'stopped'].some((code) => isCode(error, code as never));
  if (!(error instanceof SitewardError) || isOfAll) throw error;
  holds.failed(task, failureOf(error));
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof SitewardError)) return { message: String(error) };
  const { status, retry_after_ms: retryAfterMs } = error.facts;
  return {
    message: error.message,
    ...(typeof status === 'number' && { status }),
    ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
  };
}
