import type { DeviceCreate, DeviceUpdate, NvrCreate } from '#cloud/contract/index.ts';
import { type Holds, type Task, taskOf } from './holds.ts';
import type { CloudDevice } from './match.ts';
import { type Known, type Planned, zonesThatDiffer } from './plan.ts';
import type { Differences } from './types.ts';
import { stageZones, zonesOf } from './zones.ts';

/** One thing to be written, and what is sent for it. */
export interface Job<Item> {
  readonly task: Task;
  readonly item: Item;
}

/** What a plan comes to. */
export interface Work {
  readonly create: readonly Job<DeviceCreate>[];
  readonly update: readonly Job<DeviceUpdate>[];
  readonly nvrs: {
    readonly create: readonly Job<NvrCreate>[];
    readonly update: readonly (Job<Readonly<Record<string, string>>> & { readonly nvrId: string })[];
    /** The items are ids of devices. */
    readonly attach: readonly {
      readonly external_nvr_id: string;
      readonly nvrId: string;
      readonly devices: readonly Job<string>[];
    }[];
  };
}

/** All of it, also what is held at present. A recorder and a device are associated once both are there. */
export function workOf(planned: Planned, known: Known): Work {
  const { nvrs, found } = planned;
  return {
    create: planned.create.map((item) => ({ item, task: taskOf('device', item.external_device_id, 'device', item) })),
    update: planned.update.map(({ device_id, external_device_id: id, changes }) => ({
      item: { device_id: Number(device_id), ...valuesOf(changes) },
      task: taskOf('device', id, 'device', [device_id, changes]),
    })),
    nvrs: {
      create: nvrs.create.map((item) => ({ item, task: taskOf('nvr', item.external_nvr_id, 'nvr', item) })),
      update: nvrs.update.map(({ nvr_id: nvrId, external_nvr_id: id, changes }) => ({
        nvrId,
        item: valuesOf(changes),
        task: taskOf('nvr', id, 'nvr', [nvrId, changes]),
      })),
      attach: nvrs.attach.flatMap(({ external_nvr_id, devices: ids }) => {
        const nvrId = known.nvrs.get(external_nvr_id)?.id;
        if (nvrId === undefined) return [];
        const devices = ids.flatMap((id): Job<string>[] => {
          const item = found.get(id)?.device_id;
          return item === undefined
            ? []
            : [{ item, task: taskOf(`nvr ${external_nvr_id}`, id, 'device', [nvrId, item]) }];
        });
        return devices.length === 0 ? [] : [{ external_nvr_id, nvrId, devices }];
      }),
    },
  };
}

const valuesOf = (changes: Differences): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(changes).map(([name, { to }]) => [name, to]));

export const tasksOf = ({ create, update, nvrs }: Work): readonly Task[] =>
  [...create, ...update, ...nvrs.create, ...nvrs.update, ...nvrs.attach.flatMap(({ devices }) => devices)].map(
    ({ task }) => task,
  );

/** Without what is held at present. */
export function unheld(work: Work, holds: Pick<Holds, 'isHeld'>): Work {
  const isFree = ({ task }: { readonly task: Task }) => !holds.isHeld(task);
  const { create, update, nvrs } = work;
  return {
    create: create.filter(isFree),
    update: update.filter(isFree),
    nvrs: {
      create: nvrs.create.filter(isFree),
      update: nvrs.update.filter(isFree),
      attach: nvrs.attach.flatMap((one) => {
        const devices = one.devices.filter(isFree);
        return devices.length === 0 ? [] : [{ ...one, devices }];
      }),
    },
  };
}

/** Without what must wait because another device still has the zone number (`stageZones`). */
export function staged(work: Work, { targets, found, reserved }: Planned, actual: readonly CloudDevice[]): Work {
  const rows = new Map(actual.map((row) => [row.device_id, row]));
  const now = new Map(actual.map((row) => [row.device_id, zonesOf(row)]));
  const targetOf = ({ task }: Job<unknown>) => targets.get(task.external_id) ?? { further: [] };
  const moving = work.update.filter(({ item }) => 'zone_number' in item || 'additional_zone_numbers' in item);
  const steps = stageZones(
    [
      ...work.create.map((job) => ({ to: targetOf(job) })),
      ...moving.map((job) => ({ id: found.get(job.task.external_id)?.device_id ?? '', to: targetOf(job) })),
    ],
    now,
    reserved,
  );
  const create = work.create.filter((_, index) => steps[index] !== undefined);
  const stepOf = new Map(moving.map((job, index) => [job, steps[work.create.length + index]]));
  const update = work.update.flatMap((job) => {
    if (!stepOf.has(job)) return [job];
    const { zone_number: _, additional_zone_numbers: __, ...rest } = job.item;
    const step = stepOf.get(job);
    const row = rows.get(String(job.item.device_id));
    const changes = step === undefined || row === undefined ? {} : valuesOf(zonesThatDiffer(row, step));
    const item = { ...rest, ...changes };
    return Object.keys(item).length > 1 ? [{ ...job, item }] : [];
  });
  return { ...work, create, update };
}

export const isEmpty = (work: Work): boolean => tasksOf(work).length === 0;
