import type { DeviceCreate, DeviceUpdate } from '#cloud/contract/index.ts';
import { SitewardError } from '#errors.ts';
import { type BulkDone, type BulkFailed, type BulkOutcome, bulkOutcome, matchBulk } from './bulk.ts';
import type { Calls } from './calls.ts';
import type { InterfaceWatch } from './interface-watch.ts';
import { doOnce, type OnceOptions } from './once.ts';
import { rowsOf } from './reading.ts';
import { traced } from './traced.ts';
import { numericId } from './values.ts';

type SiteRef = { readonly dealerId: string; readonly siteId: string };
type Device = Awaited<ReturnType<Calls['listDevices']>>['value'][number];

export interface DeviceContext {
  readonly calls: Calls;
  readonly watch: InterfaceWatch;
  readonly once: Omit<OnceOptions, 'signal'>;
}

interface BulkInput<P, In> {
  readonly params: P;
  readonly items: readonly In[];
  readonly signal: AbortSignal;
}

/** Items of one request; a long list goes as several. */
const chunkItems = 50;

interface Plan<In> {
  readonly operation: string;
  readonly items: readonly In[];
  readonly signal: AbortSignal;
  readonly keyOf: (item: In) => string;
  readonly keys: readonly string[];
  readonly send: (items: readonly In[]) => Promise<{ readonly raw: unknown }>;
  /** Of items whose reply was lost: those that were done anyway, by their key; the rest is sent again. */
  readonly look?: (items: readonly In[]) => Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>>;
}

/**
 * Sends the items in chunks and matches what became of each. No items, no request (S-124). Throws what the first chunk
 * throws; once it is known what became of some items, the outcome tells that, and the rest has failed.
 */
async function bulk<In>({ watch, once }: DeviceContext, plan: Plan<In>): Promise<BulkOutcome<In>> {
  const done: BulkDone<In>[] = [];
  const failed: BulkFailed<In>[] = [];
  const note = (path: string, what: Parameters<InterfaceWatch['note']>[0]['what']) =>
    watch.note({ operation: plan.operation, path, what });
  for (let start = 0; start < plan.items.length; start += chunkItems) {
    let open = plan.items.slice(start, start + chunkItems);
    const settle = async () => {
      const there = (await plan.look?.(open)) ?? new Map<string, Readonly<Record<string, unknown>>>();
      for (const input of open) {
        const res = there.get(plan.keyOf(input));
        if (res !== undefined) done.push({ input, res });
      }
      open = open.filter((input) => !there.has(plan.keyOf(input)));
      return open.length === 0 ? 'all done' : undefined;
    };
    const act = async () => {
      const { raw } = await plan.send(open);
      // A 2xx without a body says that the call was taken, not what became of the items (S-193).
      if (raw === undefined && plan.look !== undefined) await settle();
      const matched = matchBulk(raw, keyed(open, plan.keyOf), { keys: plan.keys, note });
      done.push(...matched.done);
      failed.push(...matched.failed);
    };
    try {
      if (plan.look === undefined) await act();
      else await doOnce<unknown>({ act, find: settle }, { ...once, signal: plan.signal });
    } catch (error) {
      if (!(error instanceof SitewardError) || done.length + failed.length === 0) throw error;
      failed.push(...cutShort(error, open, plan.items.slice(start + chunkItems)));
      break;
    }
  }
  return bulkOutcome(done, failed);
}

/** Items a failed request was about, and those after them, which nobody has seen. */
function cutShort<In>({ message, facts }: SitewardError, open: readonly In[], unsent: readonly In[]): BulkFailed<In>[] {
  const status = typeof facts.status === 'number' ? { status: facts.status } : {};
  return [
    ...open.map((input) => ({ input, ...status, message })),
    ...unsent.map((input) => ({ input, message: `not sent, because of the items before: ${message}` })),
  ];
}

const keyed = <In>(items: readonly In[], keyOf: (item: In) => string) =>
  items.map((input) => ({ input, key: keyOf(input) }));

/** Creates devices; each is created once, also when a reply is lost (S-196). */
export function createDevices(context: DeviceContext, input: BulkInput<SiteRef, DeviceCreate>) {
  const { params, items, signal } = input;
  const trace = traced();
  return bulk(context, {
    operation: 'createDevices',
    items,
    signal,
    keyOf: (item) => item.external_device_id,
    keys: ['external_device_id'],
    send: (chunk) => context.calls.createDevices({ params, body: [...chunk], signal, ...trace }),
    look: async () => devicesBy(context, { params, signal, ...trace }, (device) => device.external_device_id),
  });
}

/** Changes devices. A repeat does no harm, so nothing is looked for. */
export function updateDevices(context: DeviceContext, input: BulkInput<SiteRef, DeviceUpdate>) {
  const { params, items, signal } = input;
  const trace = traced();
  return bulk(context, {
    operation: 'updateDevices',
    items,
    signal,
    keyOf: (item) => String(item.device_id),
    keys: ['device_id'],
    send: (chunk) => context.calls.updateDevices({ params, body: [...chunk], signal, ...trace }),
  });
}

/** Deletes devices for good, by their ids. After a lost reply those that are gone count as deleted. */
export function deleteDevices(context: DeviceContext, input: BulkInput<SiteRef, string>) {
  const { params, items, signal } = input;
  const trace = traced();
  return bulk(context, {
    operation: 'deleteDevices',
    items,
    signal,
    keyOf: (id) => id,
    keys: ['device_id'],
    send: (chunk) =>
      context.calls.deleteDevices({ params, body: { deviceIds: chunk.map(numericId) }, signal, ...trace }),
    async look(open) {
      const there = await devicesBy(context, { params, signal, ...trace }, (device) => device.device_id);
      return new Map(open.filter((id) => !there.has(id)).map((id) => [id, { device_id: id }]));
    },
  });
}

/** Associates devices with a recorder. Nothing shows the association, so a lost reply is `cloud_outcome_unknown`. */
export function addNvrDevices(context: DeviceContext, input: BulkInput<SiteRef & { readonly nvrId: string }, string>) {
  const { params, items, signal } = input;
  const trace = traced();
  return bulk(context, {
    operation: 'addNvrDevices',
    items,
    signal,
    keyOf: (id) => id,
    keys: ['device_id'],
    send: (chunk) =>
      context.calls.addNvrDevices({ params, body: { deviceIds: chunk.map(numericId) }, signal, ...trace }),
  });
}

async function devicesBy(
  { calls }: DeviceContext,
  at: { readonly params: SiteRef; readonly signal: AbortSignal } & ReturnType<typeof traced>,
  keyOf: (device: Device) => string | undefined,
): Promise<Map<string, Readonly<Record<string, unknown>>>> {
  const { value, raw } = await calls.listDevices(at);
  // A row that cannot be read may be the very device that is looked for: then the list proves nothing.
  if (rowsOf(raw).length > value.length) {
    throw new SitewardError('cloud_outcome_unknown', 'listDevices: some devices of the list cannot be read', {
      facts: { operation: 'listDevices' },
    });
  }
  return new Map(
    value.flatMap((device) => (keyOf(device) === undefined ? [] : [[keyOf(device) ?? '', { ...device }]])),
  );
}
