import { resolve } from 'node:path';
import { parse } from 'yaml';
import type { Management } from '#cloud/client/index.ts';
import { describe, isCode, SitewardError } from '#errors.ts';
import { given } from '#lib/given.ts';
import { noting } from '../cloud/note.ts';
import { unknownSite } from './site.ts';
import { type Context, noCloud, open, type Plan, type Step, skipped } from './types.ts';

/** What the steps of the cloud have in common: the site at the service, or why it cannot be asked. */
export async function cloudPlace(context: Context): Promise<{ dealerId: string; siteId: string } | undefined> {
  const { site, cloud } = context.site().settings;
  if (cloud?.partner === undefined || site.dealer_id === undefined) return undefined;
  return { dealerId: site.dealer_id, siteId: site.id };
}

/** The external id at the service where it is told and another one: the site is somebody else's. */
export const otherExternalId = (
  { external_site_id: there }: { readonly external_site_id?: string | null | undefined },
  here: string,
): string | undefined => (there === undefined || there === null || there === '' || there === here ? undefined : there);

export const noPartner = 'the partner interface is not in the configuration';

/** The dealer, and the site at the service: found by its external id, else created. */
export const cloudSiteStep: Step = {
  id: 'cloud_site',
  title: 'Dealer and site at the service',
  needs: ['token'],
  later: 'cloud.partner and site.dealer_id of the configuration, then siteward site list, and site.id',
  async isDone(context) {
    const params = await cloudPlace(context);
    if (params === undefined) return { isDone: false, words: noPartner };
    const { dealer_id: wanted = params.dealerId } = context.answers.site;
    if (wanted !== params.dealerId)
      return { isDone: false, words: `the configuration has dealer ${params.dealerId}, the answers ${wanted}` };
    try {
      const { value } = await context.withCloud(({ manage }, signal) => manage.getSite({ params, signal }));
      const { external_id: id } = context.site().settings.site;
      const other = otherExternalId(value, id);
      if (other !== undefined)
        return { isDone: false, words: `site ${params.siteId} of the service is ${other}, not ${id}` };
      return { isDone: true, words: `site ${params.siteId} of dealer ${params.dealerId}: ${value.name ?? ''}` };
    } catch (error) {
      if (!isCode(error, 'cloud_not_found')) throw error;
      return { isDone: false, words: `the service has no site ${params.siteId} of dealer ${params.dealerId}` };
    }
  },
  async ask(context) {
    const without = noCloud(context);
    if (without !== undefined) return without;
    const partner = await partnerOf(context);
    if (partner === undefined && !context.talk.isThere) return skipped('the answers name no partner client');
    if (partner === undefined) return skipped('not wanted');
    if ('words' in partner) return partner;
    const { site } = context.site().settings;
    const would = `look for the site ${site.external_id} of dealer ${partner.dealerId}, and create it where it is not there`;
    return { would, run: () => settle(context, partner) } satisfies Plan;
  },
};

interface Partner {
  readonly dealerId: string;
  readonly clientId: string;
  readonly secret: { readonly file: string } | { readonly text: string } | undefined;
}

async function partnerOf({ answers, talk, site }: Context) {
  const { settings } = site();
  const known = settings.cloud?.partner;
  const clientId =
    answers.cloud.partner_client_id ??
    known?.client_id ??
    (await talk.ask({
      text: '  client id for the partner interface; nothing for none',
      help: 'the operator of the service gives it with a client secret; with it the site and its devices are made there',
    }));
  if (clientId === undefined || clientId === '') return undefined;
  // One that was never seen at the service is asked for again.
  const seen = settings.site.id === unknownSite && talk.isThere ? undefined : settings.site.dealer_id;
  const dealerId =
    answers.site.dealer_id ??
    seen ??
    (await talk.ask({ text: '  id of the dealer at the service', check: isDealer, initial: settings.site.dealer_id }));
  if (dealerId === undefined || dealerId === '') return open('site.dealer_id is missing');
  const wrong = isDealer(dealerId);
  if (wrong !== undefined) return open(`site.dealer_id: ${wrong}`);
  const file = answers.cloud.partner_secret_file;
  if (known !== undefined && file === undefined) return { dealerId, clientId, secret: undefined };
  if (file !== undefined) return { dealerId, clientId, secret: { file: resolve(file) } };
  const text = await talk.hidden('  its client secret');
  if (text === undefined || text === '') return open('cloud.partner_secret_file is missing');
  return { dealerId, clientId, secret: { text } };
}

const isDealer = (text: string): string | undefined =>
  /^[1-9]\d{0,15}$/.test(text) ? undefined : 'the number that the service gave the dealer, such as 17';

/** Access first, since the rest asks with it; the dealer is written once the service has shown it; the daemon is told when the id of the site is known. */
async function settle(context: Context, { dealerId, clientId, secret }: Partner): Promise<string> {
  if (secret !== undefined) {
    const ref = 'file' in secret ? secret : await context.keepSecret('cloud-partner-client-secret', secret.text);
    const { cloud } = parse(context.site().text, { logLevel: 'silent' }) as { cloud: object };
    const members = { ...cloud, partner: { client_id: clientId, client_secret: ref } };
    await context.change([{ do: 'set', section: 'cloud', members }], { quiet: true });
  }
  const { siteId, words } = await context.withCloud(({ manage }, signal) =>
    findOrCreate(context, manage, dealerId, signal),
  );
  await context.change([{ do: 'set', section: 'site', members: { id: siteId, dealer_id: dealerId } }]);
  return words;
}

async function findOrCreate(
  { site, answers, config, socket }: Context,
  manage: Management,
  dealerId: string,
  signal: AbortSignal,
) {
  const { external_id, name, timezone } = site().settings.site;
  const params = { dealerId };
  await manage.getDealer({ params, signal }).catch((error: unknown) => {
    if (!isCode(error, 'cloud_forbidden') && !isCode(error, 'cloud_not_found')) throw error;
    throw new SitewardError(
      'cloud_forbidden',
      `the service does not let this client see dealer ${dealerId}: is site.dealer_id (of the answers, or of ${config}) right, and is the dealer connected? (${describe(error)})`,
    );
  });
  if (answers.site.id !== undefined) {
    const { value } = await manage.getSite({ params: { dealerId, siteId: answers.site.id }, signal });
    const other = otherExternalId(value, external_id);
    if (other !== undefined)
      throw new SitewardError(
        'cloud_refused',
        `site ${answers.site.id} of the service is somebody else's: its external id there is ${other}, and that of this box is ${external_id}. Nothing was bound to it. Correct site.id in the answers, or leave it out: the site is found by its external id`,
        { facts: { for_a_person: true } },
      );
    return { siteId: answers.site.id, words: `site ${answers.site.id} is there` };
  }
  const found = (await manage.findSite({ params, externalId: external_id, signal }))?.value;
  if (found !== undefined)
    return { siteId: found.site_id, words: `site ${found.site_id} is there: ${found.name ?? external_id}` };
  const { id: before } = site().settings.site;
  // One that was deleted, or whose access was withdrawn, is nothing to be made a second time by itself.
  if (before !== unknownSite)
    throw new SitewardError(
      'cloud_not_found',
      `the service has no site ${before} of dealer ${dealerId} any more, and none with the external id ${external_id}. To have another one created, write "id: ${unknownSite}" into the section site`,
    );
  const body = { external_site_id: external_id, name: name ?? external_id, timezone };
  const { value } = await noting(
    socket,
    {
      ...{ action: 'site_created', site_id: null, members: Object.keys(given(body)) },
      madeId: (made) => String(made.value.site_id ?? ''),
    },
    () => manage.createSite({ params, body: given(body) as typeof body, signal }),
  );
  if (value.site_id === undefined)
    throw new SitewardError('cloud_bad_answer', 'the service does not tell the id of the new site');
  return {
    siteId: value.site_id,
    words: `site ${value.site_id} was created; it is not activated yet, and "siteward arming source" shows who decides its arming there`,
  };
}
