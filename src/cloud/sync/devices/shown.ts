import type { Holds, Task } from './holds.ts';
import type { KnownBook } from './known.ts';
import type { Known, Planned } from './plan.ts';
import type { Look } from './reader.ts';
import type { DevicePlan, DeviceSyncDone, DeviceSyncShown, HeldDevice, Wanted } from './types.ts';
import type { Tally } from './write.ts';

/** Nothing is left to be done, and nothing is held. */
export function isSettled(planned: Planned | undefined, held: readonly HeldDevice[]): boolean {
  if (planned === undefined || held.length > 0) return false;
  const { create, update, nvrs } = planned;
  return [create, update, nvrs.create, nvrs.update, nvrs.attach].every(({ length }) => length === 0);
}

export function idsOf({ devices, nvrs }: Wanted, known: Known): DeviceSyncShown['ids'] {
  const ids = [
    ...devices.map(({ external_device_id: id }) => [id, known.devices.get(id)?.id]),
    ...nvrs.map(({ external_nvr_id: id }) => [id, known.nvrs.get(id)?.id]),
  ];
  return Object.fromEntries(ids.filter(([, id]) => id !== undefined));
}

/** What was told once and is wanted no more. That a device is there was seen; recorders cannot be looked for (S-143). */
export function leftOf(
  { devices, nvrs }: Wanted,
  known: Pick<KnownBook, 'devices' | 'nvrs'>,
  planned: Planned | undefined,
): DeviceSyncShown['left'] {
  const there = new Set(planned?.absent.map(({ device_id }) => device_id));
  const wantedDevices = new Set(devices.map(({ external_device_id }) => external_device_id));
  const wantedNvrs = new Set(nvrs.map(({ external_nvr_id }) => external_nvr_id));
  const left: [string, string][] = [];
  for (const [externalId, { id }] of known.devices.entries())
    if (there.has(id) && !wantedDevices.has(externalId)) left.push([externalId, id]);
  for (const [externalId, { id }] of known.nvrs.entries())
    if (id !== undefined && !wantedNvrs.has(externalId)) left.push([externalId, id]);
  return Object.fromEntries(left);
}

export function doneOf(
  { created, updated, nvrsCreated, nvrsUpdated, attached }: Tally,
  shown: DeviceSyncShown,
): DeviceSyncDone {
  return {
    created: [...created],
    updated: [...updated],
    nvrs: {
      created: [...nvrsCreated],
      updated: [...nvrsUpdated],
      attached: [...attached].map(([external_nvr_id, devices]) => ({ external_nvr_id, devices: [...devices] })),
    },
    shown,
  };
}

/** The plan as a person reads it: what would be done now, and what is held. */
export function planShown(
  { planned, work }: Look,
  { holds, held, isResting }: { holds: Holds; held: readonly HeldDevice[]; isResting: (nvr: string) => boolean },
): DevicePlan {
  const { found: _, targets: __, reserved: ___, nvrs, ...plan } = planned;
  const heldIn = (jobs: readonly { readonly task: Task }[]) =>
    new Set(jobs.filter(({ task }) => holds.isHeld(task)).map(({ task }) => task.external_id));
  const create = heldIn(work.create);
  const update = heldIn(work.update);
  const nvrCreate = heldIn(work.nvrs.create);
  const nvrUpdate = heldIn(work.nvrs.update);
  return {
    ...plan,
    create: plan.create.filter(({ external_device_id: id }) => !create.has(id)),
    update: plan.update.filter(({ external_device_id: id }) => !update.has(id)),
    nvrs: {
      create: nvrs.create.filter(({ external_nvr_id: id }) => !nvrCreate.has(id)),
      update: nvrs.update.filter(({ external_nvr_id: id }) => !nvrUpdate.has(id) && !isResting(id)),
      attach: nvrs.attach.flatMap(({ external_nvr_id, devices }) => {
        const jobs = work.nvrs.attach.find((one) => one.external_nvr_id === external_nvr_id)?.devices ?? [];
        const waiting = heldIn(jobs);
        const open = devices.filter((id) => !waiting.has(id));
        return open.length === 0 ? [] : [{ external_nvr_id, devices: open }];
      }),
    },
    held,
  };
}
