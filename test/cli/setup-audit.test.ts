import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Control, openControl } from '#cli/control.ts';
import { cloudSiteStep } from '#cli/setup/cloud-site.ts';
import { activationStep, monitoringStep } from '#cli/setup/cloud-steps.ts';
import type { Context, Step } from '#cli/setup/types.ts';
import { SitewardError } from '#errors.ts';
import type { AuditEntryBody } from '#lan/http/index.ts';
import { askSocket } from '../harness/control.ts';
import { type Site, startSite } from '../harness/site.ts';

let site: Site;
beforeAll(async () => {
  site = await startSite({ broker: 'embedded', yaml: () => 'partitions: [ { id: p1, name: Shop } ]' });
}, 60_000);
afterAll(() => site?.close());

/** Of the box whose daemon runs, and of a service that takes everything but a binding. */
function context(id: string): Context {
  const settings = {
    site: { id, external_id: 'proof', dealer_id: '17', timezone: 'Europe/Berlin', name: 'Corner shop' },
    cloud: { partner: { client_id: 'partner-9' } },
  };
  const manage = {
    getDealer: async () => ({ value: {} }),
    findSite: async () => undefined,
    createSite: async () => ({ value: { site_id: '4711' } }),
    setActivation: async () => ({ value: {} }),
    updateMonitoringBindings: async () => {
      throw new SitewardError('cloud_refused', 'no such station');
    },
  };
  return {
    ...{ config: 'siteward.yaml', socket: site.socket, talk: { isThere: false }, site: () => ({ settings }) },
    answers: { site: {}, cloud: {}, monitoring: { station: '201', account: '99887766' }, activate: true },
    change: async () => {},
    withCloud: async (work: (access: unknown, signal: AbortSignal) => unknown) =>
      await work({ manage }, new AbortController().signal),
    async withDaemon(work: (control: Control, signal: AbortSignal) => Promise<unknown>) {
      await using control = openControl(site.socket);
      return await work(control, AbortSignal.timeout(15_000));
    },
  } as unknown as Context;
}

async function run(step: Step, id: string): Promise<string> {
  const plan = await step.ask(context(id));
  if (!('run' in plan)) throw new Error(plan.words);
  return await plan.run();
}

test('what setup changes at the service stands in the audit log, by ids and names of members, never their values', async () => {
  expect(await run(cloudSiteStep, 'unknown')).toContain('4711 was created');
  await expect(run(monitoringStep, '4711')).rejects.toMatchObject({ code: 'cloud_refused' });
  await run(activationStep, '4711');
  const { body } = await askSocket(site.socket, 'POST', '/api/v1/audit/entries', { limit: 50 });
  const { items } = body as { items: AuditEntryBody[] };
  const ours = items.filter(({ action }) => action.startsWith('cloud_site_')).reverse();
  expect(ours).toMatchObject([
    { action: 'cloud_site_created', source: 'cli', target: 'cloud site new 4711', outcome: 'done' },
    { action: 'cloud_site_bound', target: 'cloud site 4711', outcome: 'failed', reason: 'cloud_refused' },
    { action: 'cloud_site_activated', target: 'cloud site 4711', outcome: 'done', after: 'is_activated' },
  ]);
  expect(ours[1]?.after).toBe('monitoring_station_id account_number');
  expect(JSON.stringify(ours)).not.toMatch(/Corner|99887766/);
});
