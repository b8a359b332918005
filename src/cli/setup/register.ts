import { isCode, SitewardError } from '#errors.ts';
import { type DevicesSynced, devicePlan, devicesSynced } from '#lan/http/index.ts';
import { never, sleep } from '#lib/wait.ts';
import { answered, cloudPatience } from '../control.ts';
import { counted } from '../table.ts';
import { type Context, type Step, skipped } from './types.ts';

const settlesMs = 60_000;
const everyMs = 2000;
/** Where the service asked for less. */
const busyEveryMs = 10_000;

/** The devices of the site at the service; what the daemon does by itself later, too. */
export const registerStep: Step = {
  id: 'devices',
  title: 'Devices at the service',
  needs: ['cloud_site', 'cameras', 'recorders', 'zones', 'daemon'],
  later: 'siteward device plan, then siteward device sync (docs/cloud-devices.md)',
  async isDone(context) {
    const plan = await planOf(context);
    if (plan === undefined) return { isDone: false, words: 'the partner interface is not in the configuration' };
    const counts = [
      `${counted(plan.create.length, 'device')} to be created`,
      `${plan.update.length + plan.nvrs.update.length} to be changed`,
      `${plan.held.length} held`,
    ];
    const known = plan.unchanged.join(', ');
    return plan.in_step
      ? { isDone: true, words: `the service knows ${known}` }
      : {
          isDone: false,
          words: counts.join(', ') + plan.held.map(({ external_id: id, message }) => `; ${id}: ${message}`).join(''),
        };
  },
  async ask(context) {
    const plan = await planOf(context);
    if (plan === undefined) return skipped('the partner interface is not in the configuration');
    const wanted = [...plan.create, ...plan.update].map((one) => one.external_device_id);
    return {
      would: `register or change ${wanted.join(', ') || 'what is held or changed of the recorders'}`,
      run: () => sync(context),
    };
  },
};

/** Undefined without access to the partner interface. */
async function planOf(context: Context) {
  try {
    return await context.withDaemon(async ({ client }) =>
      devicePlan.parse(answered(await client.getDevicePlan(cloudPatience())).json),
    );
  } catch (error) {
    if (isCode(error, 'config_fixed')) return undefined;
    throw error;
  }
}

/** A camera that was just added is told of when it has said what it is. */
async function sync(context: Context): Promise<string> {
  const until = performance.now() + settlesMs;
  const [created, updated] = [new Set<string>(), new Set<string>()];
  let again = mayLetGo(await planOf(context));
  for (;;) {
    const body = { dry_run: false, again, register_lost: false };
    const { held, state, done, reason } = await context.withDaemon(async ({ client }) =>
      devicesSynced.parse(answered(await client.syncDevices({ body, ...cloudPatience() })).json),
    );
    // Once: what is held from here on is tried again when its wait is over.
    again = false;
    for (const id of done?.created ?? []) created.add(id);
    for (const id of done?.updated ?? []) updated.add(id);
    const first = held.find((one) => one.reason !== 'waiting') ?? held[0];
    if (first === undefined && state === 'in_step')
      return `created: ${[...created].join(', ') || 'none'}; changed: ${[...updated].join(', ') || 'none'}`;
    const isOver = (first !== undefined && first.reason !== 'waiting') || performance.now() > until;
    if (isOver && first !== undefined) throw failureOf(first, held.length);
    if (isOver) throw new SitewardError('cloud_unreachable', reason ?? `the devices are ${state}`);
    await sleep(held.some(isBusy) ? busyEveryMs : everyMs, never());
  }
}

type Held = DevicesSynced['held'][number];
const isBusy = ({ status }: Pick<Held, 'status'>): boolean => status === 429;

/**
 * Whether what is held may be tried at once: a person may have corrected what was refused. Not where that registers what is perhaps
 * there, which only a person decides who has looked (`siteward nvr sync --register-lost`), nor where too much was asked of the service.
 */
const mayLetGo = (plan: Awaited<ReturnType<typeof planOf>>): boolean =>
  plan?.held.every((one) => one.reason !== 'unknown' && !isBusy(one)) ?? false;

function failureOf({ external_id: id, reason, status, message }: Held, count: number): SitewardError {
  const text = `${counted(count, 'device')} held; ${id}: ${message}`;
  if (reason === 'waiting')
    return new SitewardError('cloud_unreachable', `${text}; siteward goes on with it by itself`, { facts: { status } });
  if (reason === 'unknown')
    return new SitewardError('cloud_outcome_unknown', `${text} ("siteward nvr sync --register-lost")`, {
      facts: { for_a_person: true },
    });
  return new SitewardError('cloud_refused', text, { facts: { status } });
}
