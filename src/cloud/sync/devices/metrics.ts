import { Counter, Gauge, type Registry } from 'prom-client';
import type { DevicePlan, HeldDevice } from './types.ts';

const states = ['in_step', 'waiting', 'refused', 'conflict', 'unknown', 'absent'] as const;

/** The gauge of the devices by where they stand, and the counter of the reconciliations by how they ended. */
export function deviceMetrics(
  registry: Registry,
  now: () => { readonly planned: DevicePlan | undefined; readonly held: readonly HeldDevice[] },
): Counter<'outcome'> {
  const registers = [registry];
  new Gauge({
    name: 'siteward_cloud_devices',
    help: 'Devices and recorders of the site in the cloud, by where they stand',
    labelNames: ['state'],
    registers,
    collect() {
      const { planned, held } = now();
      for (const state of states) {
        const value =
          state === 'in_step'
            ? (planned?.unchanged.length ?? 0)
            : state === 'absent'
              ? (planned?.absent.length ?? 0)
              : held.filter(({ reason }) => reason === state).length;
        this.set({ state }, value);
      }
    },
  });
  return new Counter<'outcome'>({
    name: 'siteward_cloud_device_syncs_total',
    help: 'Reconciliations of the devices with the cloud, by how they ended',
    labelNames: ['outcome'],
    registers,
  });
}
