import { isObject } from '#cloud/client/index.ts';
import {
  cloudOperations,
  linkBody,
  type MonitoringBindings,
  type SiteCreate,
  type SiteUpdate,
} from '#cloud/contract/index.ts';
import { describe, SitewardError } from '#errors.ts';
import { statusDocument } from '#lan/http/index.ts';
import { given } from '#lib/given.ts';
import { bodyOf } from '../cloud/api-input.ts';
import {
  type AtCloud,
  asListed,
  atCloud,
  type ChangeOptions,
  carryOut,
  changedMembers,
  type Members,
} from '../cloud/change.ts';
import { answered, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';

const siteNow = async ({ manage, place, signal }: AtCloud) => (await manage.getSite({ params: place, signal })).value;
type SiteNow = Awaited<ReturnType<typeof siteNow>>;
const nameOf = ({ name, site_id: id }: SiteNow): string => `${name ?? 'without a name'} (${id})`;

export interface SiteMembers {
  readonly name?: string;
  readonly timezone?: string;
  readonly accountNumber?: string;
  readonly address1?: string;
  readonly address2?: string;
  /** Null: none. */
  readonly station?: number | null;
}

/** What was given, as the service names it. */
export const membersOf = ({ name, timezone, accountNumber, address1, address2, station }: SiteMembers): Members =>
  given({ name, timezone, monitoring_station_id: station, account_number: accountNumber, address1, address2 });

/** `siteward site create`. */
export const create = (options: ChangeOptions & SiteMembers & { readonly externalId: string }): Promise<ExitCode> =>
  atCloud(options, async ({ manage, dealer, timezone }) => {
    const body = { external_site_id: options.externalId, ...membersOf(options) } as SiteCreate;
    return carryOut(
      {
        what: 'create a site; it starts inactive',
        target: `of dealer ${dealer.dealerId}`,
        to: body,
        noted: { action: 'site_created', site_id: null },
        madeId: (made) => String((made as Members).site_id),
        act: async (signal) => asListed(await manage.createSite({ params: dealer, body, signal })),
        after: (made) =>
          [
            `write site.id: "${(made as SiteNow).site_id}" into the configuration`,
            'this bridge counts there once it is registered ("siteward device sync")',
            '"siteward site activate" lets its alarms be seen',
            ...otherZone(options.timezone, timezone),
          ].join('; '),
      },
      options,
    );
  });

const otherZone = (there: string | undefined, here: string): string[] =>
  there === undefined || there === here
    ? []
    : [`site.timezone of the configuration is ${here}: schedules run by that one here`];

/** `siteward site set`. */
export const set = (options: ChangeOptions & SiteMembers): Promise<ExitCode> =>
  atCloud(options, async (at) => {
    const [now, to] = [await siteNow(at), membersOf(options)];
    const body = changedMembers(now, to) as SiteUpdate;
    const { manage, place: params } = at;
    return carryOut(
      {
        ...{ what: 'change the site', target: nameOf(now), from: now, to },
        noted: { action: 'site_changed', site_id: params.siteId },
        act: async (signal) => asListed(await manage.updateSite({ params, body, signal })),
        after: () => otherZone(options.timezone, at.timezone)[0],
      },
      options,
    );
  });

/** `siteward site activate` and `deactivate`: the service only toggles, so the state is read before and after. */
export const activation = (options: ChangeOptions & { readonly active: boolean }): Promise<ExitCode> =>
  atCloud(options, async (at) => {
    const now = await siteNow(at);
    const { manage, place: params } = at;
    const { active } = options;
    return carryOut(
      {
        what: active ? 'activate the site: its alarms are seen' : 'deactivate the site: nobody looks at its alarms',
        ...{ target: nameOf(now), from: now, to: { is_activated: active ? 1 : 0 } },
        noted: { action: active ? 'site_activated' : 'site_deactivated', site_id: params.siteId },
        act: async (signal) => asListed(await manage.setActivation({ params, active, signal })),
      },
      options,
    );
  });

/** `siteward site link` and `unlink`. */
export const link = (options: ChangeOptions & { readonly linked: boolean }): Promise<ExitCode> =>
  atCloud(options, async (at) => {
    const now = await siteNow(at);
    const { manage, dialect, place: params } = at;
    const body = linkBody(dialect);
    const input = { params, ...(body !== undefined && { body }) };
    const loses = 'the platform loses the site until somebody links it again; its events are still offered';
    return carryOut(
      {
        what: options.linked ? 'link the site to the platform' : 'unlink the site from the platform',
        target: nameOf(now),
        noted: { action: options.linked ? 'site_linked' : 'site_unlinked', site_id: params.siteId },
        ...(!options.linked && { permanent: { loses, site: now } }),
        act: async (signal) =>
          (await (options.linked ? manage.linkSite : manage.unlinkSite)({ ...input, signal })).value,
      },
      options,
    );
  });

/**
 * `siteward site bind-monitoring`. The specification does not show the body (S-074): what a service wants else is sent as the file
 * has it, and its answer shown as it comes.
 */
export async function bind(
  options: ChangeOptions & { readonly station?: number | null; readonly account?: string; readonly body?: string },
): Promise<ExitCode> {
  const to =
    options.body === undefined
      ? given({ monitoring_station_id: options.station, account_number: options.account })
      : await membersIn(options.body);
  return atCloud(options, async (at) => {
    const now = await siteNow(at);
    const { manage, place: params } = at;
    return carryOut(
      {
        ...{ what: 'bind the site to a monitoring station', target: nameOf(now), from: now, to },
        noted: { action: 'site_bound', site_id: params.siteId },
        act: (signal) =>
          manage
            .updateMonitoringBindings({ params, body: to as MonitoringBindings, signal })
            .then(({ raw }) => raw)
            .catch((error: unknown) => boundAfter(error, to, { ...at, signal })),
      },
      options,
    );
  });
}

const lost = ['cloud_unreachable', 'cloud_outcome_unknown', 'cloud_bad_answer'] as const;

/** After a lost reply: the site as it shows the binding, where it does; else throws what went wrong, and says what the site shows. */
async function boundAfter(error: unknown, to: Members, { manage, place: params, signal }: AtCloud): Promise<Members> {
  if (!(error instanceof SitewardError) || !lost.some((code) => code === error.code)) throw error;
  const { code, message, facts } = error;
  const failed = (said: string) => new SitewardError(code, `${message}; ${said}`, { facts, cause: error });
  const reply = await manage.getSite({ params, signal }).catch(() => {
    throw failed('the site cannot be read either: look with "siteward site show" before asking again');
  });
  const open = Object.keys(changedMembers(reply.value, to));
  if (open.length === 0) return asListed(reply);
  throw failed(
    open.every((name) => Object.hasOwn(reply.value, name))
      ? `the site was read after it, and has another ${open.join(' and ')}: it was not done, ask again`
      : `the site was read after it, and does not show ${open.join(' and ')}: look there before asking again`,
  );
}

/** Throws `request_invalid` for what is no JSON object. */
async function membersIn(file: string): Promise<Members> {
  const body = await bodyOf(cloudOperations.updateMonitoringBindings, { body: file }).catch((error: unknown) => {
    throw new SitewardError('request_invalid', `--body: ${describe(error)}`);
  });
  if (!isObject(body)) throw new SitewardError('request_invalid', `--body: ${file} holds no JSON object`);
  return body;
}

/** `siteward site delete`. Refused while it protects something here or has something to tell. */
export const remove = (options: ChangeOptions & { readonly force: boolean }): Promise<ExitCode> =>
  atCloud(options, async (at) => {
    const now = await siteNow(at);
    const hindrance = options.force ? undefined : await hindranceOf(options.socket);
    if (hindrance !== undefined) {
      console.error(`siteward: the site is not deleted: ${hindrance}. --force does it all the same`);
      return exitCodes.refused;
    }
    const { manage, place: params } = at;
    const loses = 'the site with its devices, recorders, contacts and records; its events are no more taken';
    return carryOut(
      {
        ...{ what: 'delete the site in the cloud', target: nameOf(now) },
        noted: { action: 'site_deleted', site_id: params.siteId },
        permanent: { loses, site: now },
        async act(signal) {
          await manage.deleteSite({ params, signal });
          return undefined;
        },
        after: () => 'this box goes on protecting the site; nothing was deleted here',
      },
      options,
    );
  });

/** Why it must not be deleted now, as the daemon tells. */
async function hindranceOf(socket: string): Promise<string | undefined> {
  try {
    await using control = openControl(socket);
    const { json } = answered(await control.client.getStatus({ signal: patience() }));
    const { partitions, outbox } = statusDocument.parse(json);
    const armed = partitions.filter(({ state }) => state !== 'disarmed').map(({ id, state }) => `${id} is ${state}`);
    if (armed.length > 0) return armed.join(', ');
    if (outbox === null) return 'nobody knows whether events wait: the outbox cannot be read';
    const waiting = Object.values(outbox.waiting).reduce((sum, one) => sum + one, 0);
    return waiting > 0 ? `${waiting} events wait for the cloud` : undefined;
  } catch (error) {
    if (!(error instanceof SitewardError)) throw error;
    return `the daemon does not say whether it is armed and whether events wait (${error.code})`;
  }
}
