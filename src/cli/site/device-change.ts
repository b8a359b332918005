import { numericId } from '#cloud/client/index.ts';
import { SitewardError } from '#errors.ts';
import { openAccess } from '../cloud/access.ts';
import { type ChangeOptions, carryOut, changedMembers } from '../cloud/change.ts';
import type { ExitCode } from '../exit-codes.ts';
import { inTime } from '../in-time.ts';
import { counted } from '../table.ts';
import { mustFind, type Row, readAll, siteOf } from './device-rows.ts';

export interface Members {
  readonly name?: string;
  readonly zone_number?: string;
  readonly additional_zone_numbers?: string;
  readonly mac?: string;
  readonly manufacturer?: string;
  readonly model?: string;
  readonly serial_number?: string;
}

/** What was said on the command line, by the members of the interface. */
export function membersOf(given: {
  readonly name?: string;
  readonly zone?: string;
  readonly moreZones?: string;
  readonly mac?: string;
  readonly manufacturer?: string;
  readonly model?: string;
  readonly serialNumber?: string;
}): Members {
  const { name, zone, moreZones, mac, manufacturer, model, serialNumber } = given;
  return {
    ...(name !== undefined && { name }),
    ...(zone !== undefined && { zone_number: zone }),
    ...(moreZones !== undefined && { additional_zone_numbers: moreZones }),
    ...(mac !== undefined && { mac }),
    ...(manufacturer !== undefined && { manufacturer }),
    ...(model !== undefined && { model }),
    ...(serialNumber !== undefined && { serial_number: serialNumber }),
  };
}

/** `siteward device set ID`. */
export async function set(id: string, members: Members, options: ChangeOptions): Promise<ExitCode> {
  const site = siteOf(options.config);
  await using access = openAccess(options);
  const { manage } = access;
  const rows = await readAll(access, site);
  const row = mustFind(rows, id);
  site.refuseOwn(row, members);
  site.refuseTaken(rows, row, members);
  const from = { ...site.shown(row) };
  const items = [{ device_id: numericId(row.device_id), ...changedMembers(from, { ...members }) }];
  return await carryOut(
    {
      ...{ what: 'change a device in the cloud', target: nameOf(row), from, to: { ...members } },
      noted: { action: 'device_changed', site_id: site.place.siteId, ids: [row.device_id] },
      async act(signal) {
        const outcome = await manage.updateDevices({ params: site.place, items, signal });
        const [failed] = outcome.failed;
        if (failed !== undefined) throw refusedBy(failed);
        return undefined;
      },
    },
    options,
  );
}

/** `siteward device delete ID...`. */
export async function remove(ids: readonly string[], options: ChangeOptions): Promise<ExitCode> {
  const site = siteOf(options.config);
  await using access = openAccess(options);
  const { manage } = access;
  const rows = await readAll(access, site);
  const chosen = ids.map((id) => mustFind(rows, id));
  for (const row of chosen) site.refuseOwn(row);
  const { place } = site;
  const { value: at } = await inTime(options.timeout * 1000, (signal) => manage.getSite({ params: place, signal }));
  const items = chosen.map((row) => row.device_id);
  return await carryOut(
    {
      what: `delete ${counted(chosen.length, 'device')} in the cloud`,
      target: chosen.map(nameOf).join(', '),
      noted: { action: 'devices_deleted', site_id: place.siteId, ids: items },
      permanent: { loses, site: at },
      async act(signal): Promise<Deleted> {
        const outcome = await manage.deleteDevices({ params: place, items, signal });
        const done = outcome.succeeded(() => undefined);
        return {
          deleted: done.map(({ input }) => input),
          refused: outcome.failed.map((one) => ({ id: one.input, reason: refusedBy(one).message })),
        };
      },
      said: (shown) => `${counted((shown as Deleted).deleted.length, 'device')} deleted`,
      undone: (shown) => (shown as Deleted).refused.map(({ id, reason }) => `${id}: ${reason}`),
    },
    options,
  );
}

interface Deleted {
  readonly deleted: readonly string[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
}

const loses = 'what the cloud keeps under them, such as their history; a device that is made anew has another id there';

const nameOf = ({ name, external_device_id: external, device_id: id }: Row): string =>
  `${[external, name].filter((one) => one !== undefined && one !== '').join(' ')} (${id})`;

const refusedBy = ({ status, message }: { readonly status?: number; readonly message: string }) =>
  new SitewardError('cloud_refused', `the cloud refused it${status === undefined ? '' : ` (${status})`}: ${message}`, {
    facts: { status },
  });
