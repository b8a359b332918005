import type { Registry } from 'prom-client';
import { partnerPlace } from '#box/partner.ts';
import { wantedDevices } from '#box/wanted-devices.ts';
import { createDeviceSync, type DeviceSync, type Wanted } from '#cloud/sync/index.ts';
import type { Settings } from '#config/index.ts';
import { ok } from '#lib/health.ts';
import { auditNotes } from '#site/audit-notes.ts';
import { isSiteOpen } from './arming-sync.ts';
import { noteIn } from './audit-wiring.ts';
import { cloudClient } from './cloud.ts';
import { running, type Surroundings } from './house.ts';

/** The devices of the site kept in step with the cloud. */
export interface CloudDevices extends DeviceSync {
  /** What the cloud should know now. */
  wanted(): Wanted;
}

/**
 * How long a camera that is new in the configuration may take to tell what it is. By its MAC and serial number one that the cloud has
 * under another id is recognised; created earlier it would stand there twice.
 */
const settleMs = 30_000;

export const cloudDevicesWants = ({ cloud, store, site }: Settings): unknown => [cloud, store, site.id, site.dealer_id];
/** What the wanted devices are made of. */
export const wantedWants = ({ site, bridge, panels, cameras, nvrs }: Settings): unknown => [
  site.name,
  bridge,
  panels,
  cameras,
  nvrs,
];

/** Undefined where the configuration names no way to the site over the partner interface. */
export function cloudDevices(
  settings: Settings,
  metrics: Registry,
  surroundings: Surroundings,
): CloudDevices | undefined {
  const { house, clock, quality, settings: current } = surroundings;
  const way = partnerPlace(settings);
  if (typeof way === 'string') return undefined;
  const log = surroundings.log('devices');
  // Its metrics of the interface are those of the delivery's client.
  const cloud = cloudClient(way.section, { clock, quality, log });
  const isManual = way.section.devices === 'manual';
  const settling = settlingCameras(clock.monotonic);
  const wanted = () => {
    const statuses = house.cameras?.status() ?? [];
    const answered = statuses.filter((one) => one.manufacturer !== undefined || one.identity !== undefined);
    const waits = settling(
      current().cameras.map(({ id }) => id),
      new Set(answered.map(({ id }) => id)),
    );
    return wantedDevices(current(), statuses, waits);
  };
  const sync = createDeviceSync({
    ...{ manage: cloud.manage, place: way.place, wanted, clock, log, metrics },
    memory: running(house, 'store').memory('cloud-devices'),
    automatic: !isManual,
    onWritten({ created, updated, nvrs }) {
      const attached = nvrs.attached.flatMap((one) => one.devices);
      const ids = [...created, ...updated, ...nvrs.created, ...nvrs.updated, ...attached];
      void noteIn(house)(auditNotes.devicesTold([...new Set(ids)]));
    },
    standing: {
      isOpen: () => isSiteOpen(house),
      judge: async () => house.arming?.standing.judge() ?? true,
    },
  });
  return {
    ...sync,
    wanted,
    async stop() {
      await sync.stop();
      await cloud.close();
    },
    // Told by the state of the devices; nobody is to look after what he chose himself.
    health: () => (isManual ? ok({ mode: 'manual' }) : sync.health()),
  };
}

/** Which of the configured cameras are to be waited for: those that are new and have not answered. */
function settlingCameras(
  now: () => number,
): (configured: readonly string[], answered: ReadonlySet<string>) => ReadonlySet<string> {
  let since = new Map<string, number>();
  return (configured, answered) => {
    since = new Map(configured.map((id) => [id, since.get(id) ?? now()]));
    return new Set(configured.filter((id) => !answered.has(id) && now() - (since.get(id) ?? 0) < settleMs));
  };
}
