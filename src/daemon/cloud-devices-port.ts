import { partnerPlace } from '#box/partner.ts';
import { type DevicePlan, type DeviceSyncShown, type SyncWish, type Wanted, withoutZones } from '#cloud/sync/index.ts';
import type { Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import type {
  CloudDevice,
  CloudDeviceList,
  CloudDevicesPort,
  DevicePlanShown,
  StatusDocument,
} from '#lan/http/index.ts';
import { auditNotes } from '#site/audit-notes.ts';
import { isoTime } from '#site/model/index.ts';
import type { Note } from './audit-wiring.ts';
import type { House } from './house.ts';

/** The devices of the site in the cloud, as the LAN API shows them and has them told. */
export function cloudDevicesPort({
  house,
  settings,
  note,
}: {
  house: Pick<House, 'devices'>;
  settings: () => Settings;
  note: Note;
}): CloudDevicesPort {
  /** Throws `config_fixed` with what is missing, `stopped` at a start and a reload. */
  function part() {
    const way = partnerPlace(settings());
    if (typeof way === 'string')
      throw new SitewardError('config_fixed', `${way}: without it no device is told to the cloud`);
    if (house.devices !== undefined) return house.devices;
    throw new SitewardError('stopped', 'the devices are not being told to the cloud; try again in a moment');
  }

  async function synced(wish: SyncWish, signal: AbortSignal) {
    const { shown, ...done } = await part().sync(signal, wish);
    return { done, shown };
  }

  return {
    list() {
      const way = partnerPlace(settings());
      if (typeof way === 'string') return { mode: 'automatic', state: 'off', reason: way, in_step_at: null, items: [] };
      const shown = house.devices?.shown() ?? notRunning;
      return { ...headOf(shown, settings()), items: itemsOf(house.devices?.wanted() ?? nothing, shown) };
    },
    async plan(signal) {
      const devices = part();
      return shownPlan(await devices.plan(signal), devices.wanted().reserved);
    },
    async sync({ dry_run, again, register_lost }, by, signal) {
      if (dry_run) {
        const devices = part();
        const plan = shownPlan(await devices.plan(signal), devices.wanted().reserved);
        const { state, reason } = devices.shown();
        return { dry_run, state, ...(reason !== undefined && { reason }), plan, held: plan.held };
      }
      try {
        const { done, shown } = await synced({ again, lost: register_lost }, signal);
        const { created, updated, nvrs } = done;
        const counts = [
          `${created.length + nvrs.created.length} created`,
          `${updated.length + nvrs.updated.length} changed`,
          `${shown.held.length} held`,
        ];
        void note(auditNotes.devicesSynced(by, counts.join(', ')));
        return {
          ...{ dry_run, state: shown.state, held: [...shown.held] },
          ...(shown.reason !== undefined && { reason: shown.reason }),
          done: {
            created: [...created],
            updated: [...updated],
            nvrs: {
              created: [...nvrs.created],
              updated: [...nvrs.updated],
              attached: nvrs.attached.map((one) => ({ ...one, devices: [...one.devices] })),
            },
          },
        };
      } catch (error) {
        void note(auditNotes.devicesSynced(by, '', error instanceof SitewardError ? error.code : 'failed'));
        throw error;
      }
    },
  };
}

const nothing: Wanted = { devices: [], nvrs: [] };
/** At a start and a reload. */
const notRunning: DeviceSyncShown = { state: 'away', ids: {}, left: {}, held: [] };

const headOf = (shown: DeviceSyncShown, { cloud }: Settings): Omit<CloudDeviceList, 'items'> => ({
  mode: cloud?.devices ?? 'automatic',
  state: shown.state,
  ...(shown.reason !== undefined && { reason: shown.reason }),
  in_step_at: shown.inStepAt === undefined ? null : isoTime(shown.inStepAt),
});

/** Devices and recorders of this site, then those it had and the cloud still has. */
function itemsOf({ devices, nvrs }: Wanted, { ids, left, held }: DeviceSyncShown): CloudDevice[] {
  const wanted = [
    ...devices.map((one) => ({ external_id: one.external_device_id, kind: one.device_type, name: one.name ?? null })),
    ...nvrs.map((one) => ({ external_id: one.external_nvr_id, kind: 'nvr' as const, name: one.name })),
  ];
  return [
    ...wanted.map((one): CloudDevice => {
      const id = ids[one.external_id] ?? null;
      const kind = one.kind === 'nvr' ? 'nvr' : 'device';
      const why = held.find((it) => it.external_id === one.external_id && it.kind === kind);
      if (why === undefined) return { ...one, cloud_id: id, state: id === null ? 'missing' : 'known' };
      const { reason: state, status, message } = why;
      return { ...one, cloud_id: id, state, ...(status !== undefined && { status }), message };
    }),
    ...Object.entries(left).map(
      ([external_id, cloud_id]): CloudDevice => ({ external_id, kind: null, name: null, cloud_id, state: 'absent' }),
    ),
  ];
}

/** For everybody who may see it: numbers of zones for silent calls stand in no list, here neither (safety 4). */
export function shownPlan(plan: DevicePlan, reserved: readonly string[] = []): DevicePlanShown {
  const { create, unchanged, absent, zones, nvrs, held } = plan;
  const update = plan.update
    .map((one) => ({ ...one, changes: shownChanges(one.changes, reserved) }))
    .filter(({ changes }) => Object.keys(changes).length > 0);
  const works = [create, update, nvrs.create, nvrs.update, nvrs.attach, held];
  return {
    in_step: works.every((list) => list.length === 0),
    create: [...create],
    update,
    unchanged: [...unchanged],
    absent: [...absent],
    zones: zones.filter(({ wanted }) => withoutZones(wanted, reserved) !== ''),
    nvrs: {
      create: [...nvrs.create],
      update: nvrs.update.map((one) => ({ ...one, changes: { ...one.changes } })),
      attach: nvrs.attach.map((one) => ({ ...one, devices: [...one.devices] })),
    },
    held: [...held],
  };
}

type Changes = DevicePlanShown['update'][number]['changes'];

function shownChanges(changes: DevicePlan['update'][number]['changes'], reserved: readonly string[]): Changes {
  const entries = Object.entries(changes).map(([member, { from, to }]) => {
    const isZone = member === 'zone_number' || member === 'additional_zone_numbers';
    return [member, { from: isZone && from !== null ? withoutZones(from, reserved) : from, to }] as const;
  });
  return Object.fromEntries(entries.filter(([, { from, to }]) => from !== to));
}

/** For `siteward status`; undefined where the configuration names no way to the site in the cloud. */
export function cloudDevicesStatus(
  { devices }: Pick<House, 'devices'>,
  settings: Settings,
): NonNullable<StatusDocument['cloud']>['devices'] {
  if (devices === undefined) return undefined;
  const shown = devices.shown();
  if (shown.state === 'off') return undefined;
  const { mode, reason, in_step_at } = headOf(shown, settings);
  const items = itemsOf(devices.wanted(), shown).filter(({ state }) => state !== 'absent');
  return {
    ...{ mode, state: shown.state, in_step_at },
    ...(reason !== undefined && { reason }),
    wanted: items.length,
    known: items.filter(({ cloud_id }) => cloud_id !== null).length,
    held: shown.held.length,
  };
}
