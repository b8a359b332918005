import { expect, test } from 'vitest';
import { cloudSiteStep } from '#cli/setup/cloud-site.ts';
import type { Context } from '#cli/setup/types.ts';

/** A box whose answers name site 5, a service that shows it so, and what is written of it. */
function boxAt(shown: object) {
  const written: unknown[] = [];
  const settings = {
    site: { id: 'unknown', external_id: 'shop-7', dealer_id: '1', timezone: 'Europe/Berlin' },
    cloud: { partner: { client_id: 'partner-9' } },
  };
  const manage = {
    getDealer: async () => ({ value: {} }),
    getSite: async () => ({ value: { site_id: '5', ...shown } }),
  };
  const context = {
    ...{ config: 'siteward.yaml', talk: { isThere: false }, site: () => ({ settings }) },
    answers: { site: { id: '5' }, cloud: {} },
    change: async (changes: unknown) => void written.push(changes),
    withCloud: async (work: (access: unknown, signal: AbortSignal) => unknown) =>
      await work({ manage }, new AbortController().signal),
  } as unknown as Context;
  const run = async () => {
    const plan = await cloudSiteStep.ask(context);
    if (!('run' in plan)) throw new Error(plan.words);
    return await plan.run();
  };
  return { run, written };
}

test('a site.id of the answers that is another site of the service binds nothing, and says what to do', async () => {
  const { run, written } = boxAt({ external_site_id: 'shop-8' });
  await expect(run()).rejects.toMatchObject({
    code: 'cloud_refused',
    message: expect.stringMatching(/site 5 .* shop-8.* shop-7.*Correct site\.id in the answers/),
  });
  expect(written).toEqual([]);
});

test.each([{ external_site_id: 'shop-7' }, { external_site_id: '' }, {}])(
  'a site.id whose external id is that of the box, or is not told, is taken: %o',
  async (shown) => {
    const { run, written } = boxAt(shown);
    expect(await run()).toContain('site 5 is there');
    expect(written).toHaveLength(1);
  },
);
