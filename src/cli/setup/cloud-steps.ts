import { isCode } from '#errors.ts';
import { statusDocument } from '#lan/http/index.ts';
import { sleep } from '#lib/wait.ts';
import { noting } from '../cloud/note.ts';
import { answered } from '../control.ts';
import { cloudPlace, noPartner } from './cloud-site.ts';
import { named } from './devices.ts';
import { type Context, open, type Step, skipped } from './types.ts';

const siteOf = async (context: Context) => {
  const params = await cloudPlace(context);
  if (params === undefined) return undefined;
  const { value } = await context.withCloud(({ manage }, signal) => manage.getSite({ params, signal }));
  return { params, value };
};

/** The station that is called, and the account it knows the site by. */
export const monitoringStep: Step = {
  id: 'monitoring',
  title: 'Monitoring station',
  needs: ['cloud_site'],
  later: 'siteward station list, then siteward site bind-monitoring --station ID --account NUMBER',
  async isDone(context) {
    const site = await siteOf(context);
    if (site === undefined) return { isDone: false, words: noPartner };
    const { monitoring_station_id: station, account_number: account } = site.value;
    const wanted = context.answers.monitoring;
    const isBound = station !== undefined && station !== null && account !== undefined && account !== '';
    const isWanted =
      (wanted.station === undefined || wanted.station === String(station)) &&
      (wanted.account === undefined || wanted.account === account);
    const words = isBound ? `station ${station}, account ${account}` : 'the site is bound to no station';
    return { isDone: isBound && isWanted, words };
  },
  async ask(context) {
    const { answers, talk } = context;
    const params = await cloudPlace(context);
    if (params === undefined) return skipped(noPartner);
    const ids = answers.monitoring.station === undefined ? await sayStations(context, params.dealerId) : [];
    const station =
      answers.monitoring.station ??
      (await talk.ask({
        text: '  id of the monitoring station; nothing for none',
        check: (text) => (ids.includes(text) ? undefined : `one of the stations: ${named(ids)}`),
      }));
    if (!station) return skipped('no station is named');
    const account =
      answers.monitoring.account ??
      (await talk.ask({
        text: '  account number of the site there',
        help: 'the station gives it for the site',
        check: (text) => (text === '' ? 'the station gives it for the site; Ctrl-C leaves the step' : undefined),
        mustAnswer: true,
      }));
    if (!account) return open('the account number of the site at the station is missing (monitoring.account)');
    return {
      would: `bind the site to station ${station} with account ${account}`,
      async run() {
        const body = { monitoring_station_id: Number(station), account_number: account };
        const noted = { action: 'site_bound', site_id: params.siteId, members: Object.keys(body) } as const;
        await noting(context.socket, noted, () =>
          context.withCloud(({ manage }, signal) => manage.updateMonitoringBindings({ params, body, signal })),
        );
        return `station ${station}, account ${account}`;
      },
    };
  },
};

async function sayStations(context: Context, dealerId: string): Promise<readonly string[]> {
  if (!context.talk.isThere) return [];
  const { value } = await context.withCloud(({ manage }, signal) =>
    manage.listMonitoringStations({ params: { dealerId }, signal }),
  );
  for (const one of value) context.talk.say(`  station ${one.monitoring_station_id}: ${one.name ?? ''}`);
  return value.map((one) => String(one.monitoring_station_id));
}

/** The service takes the site for active; local protection does not depend on it. */
export const activationStep: Step = {
  id: 'activation',
  title: 'Activation',
  needs: ['cloud_site', 'devices'],
  later: 'siteward site activate',
  async isDone(context) {
    const site = await siteOf(context);
    if (site === undefined) return { isDone: false, words: noPartner };
    return site.value.is_activated === 1
      ? { isDone: true, words: 'the site is active' }
      : { isDone: false, words: 'the site is not active' };
  },
  async ask(context) {
    const params = await cloudPlace(context);
    if (params === undefined) return skipped(noPartner);
    if (context.answers.activate !== true && !context.talk.isThere)
      return skipped('the answers do not say activate: true');
    return {
      would: `activate site ${params.siteId} at the service`,
      async run() {
        const noted = { action: 'site_activated', site_id: params.siteId, members: ['is_activated'] } as const;
        await noting(context.socket, noted, () =>
          context.withCloud(({ manage }, signal) => manage.setActivation({ params, active: true, signal })),
        );
        await seenHere(context);
        return 'the site is active';
      },
    };
  },
};

/** The daemon looks as soon as it is told; what follows, the report above all, shall not say that the site is not active. */
async function seenHere(context: Context): Promise<void> {
  await context
    .withDaemon(async ({ client }, signal) => {
      for (;;) {
        const status = statusDocument.parse(answered(await client.getStatus({ signal })).json);
        const isTrouble = status.troubles.some(({ kind }) => kind === 'site_inactive');
        if (status.arming_sync?.activated !== false && !isTrouble) return;
        await sleep(everyMs, signal);
      }
    })
    // It is active there all the same; a daemon that runs sees it within two minutes.
    .catch((error: unknown) => {
      if (!isCode(error, 'control_unreachable') && !isCode(error, 'cloud_unreachable')) throw error;
    });
}

const everyMs = 250;
