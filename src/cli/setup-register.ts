import { isCode, SitewardError } from '#errors.ts';
import { devicePlan, devicesSynced } from '#lan/http/index.ts';
import { never, sleep } from '#lib/wait.ts';
import { answered, cloudPatience } from './control.ts';
import { type Context, type Step, skipped } from './setup-types.ts';
import { counted } from './table.ts';

const settlesMs = 60_000;
const everyMs = 2000;

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
  for (;;) {
    const { held, state, done, reason } = await context.withDaemon(async ({ client }) =>
      devicesSynced.parse(
        answered(await client.syncDevices({ body: { dry_run: false, again: true }, ...cloudPatience() })).json,
      ),
    );
    for (const id of done?.created ?? []) created.add(id);
    for (const id of done?.updated ?? []) updated.add(id);
    const [first] = held;
    if (first === undefined && state === 'in_step')
      return `created: ${[...created].join(', ') || 'none'}; changed: ${[...updated].join(', ') || 'none'}`;
    const isOver = held.some((one) => one.reason !== 'waiting') || performance.now() > until;
    if (isOver && first !== undefined)
      throw new SitewardError(
        'cloud_refused',
        `${counted(held.length, 'device')} held; ${first.external_id}: ${first.message}`,
      );
    if (isOver) throw new SitewardError('cloud_unreachable', reason ?? `the devices are ${state}`);
    await sleep(everyMs, never());
  }
}
