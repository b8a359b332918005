import type { Registry } from 'prom-client';
import { createDelivery, type Delivery, mediaFilesOf } from '#cloud/delivery/index.ts';
import type { Settings } from '#config/index.ts';
import { cloudClient } from './cloud.ts';
import { cloudTrouble } from './cloud-trouble.ts';
import { type House, running, type Surroundings, tellCore } from './house.ts';

/**
 * Delivery to the cloud of the configuration, with the trouble of the site that tells of a cloud which takes no events.
 * Without a cloud there is no delivery, and a trouble from before ends.
 */
export function cloudDelivery(
  { cloud: section, media, supervision }: Settings,
  metrics: Registry,
  { house, clock, quality, log }: Surroundings,
): Delivery | undefined {
  const store = running(house, 'store');
  const trouble = cloudTrouble(tellCore(house));
  if (section === undefined) {
    trouble(true, 'there is no cloud in the configuration');
    return undefined;
  }
  const cloud = cloudClient(section, { clock, quality, log: log('cloud'), metrics });
  const delivery = createDelivery({
    ...{ store, cloud, files: mediaFilesOf(spoolOf(house)), clock, log: log('delivery'), metrics },
    heartbeatMs: supervision.cloud.heartbeat,
    uploadResume: section.dialect.upload_resume,
    ...(media.upload_rate !== undefined && { uploadRate: media.upload_rate }),
    // A cloud on this machine (the sandbox) has its upload addresses here too.
    allowLoopbackHttp: section.base_url.startsWith('http:'),
    onAccepted: (latencyMs) => house.outboxDay?.accepted(latencyMs),
    onLink(up, reason, kind) {
      lineIs(house, up);
      trouble(up, reason, kind);
    },
  });
  return {
    ...delivery,
    async stop() {
      await delivery.stop();
      await cloud.close();
      lineIs(house, undefined);
    },
  };
}

const spoolOf = (house: House): Parameters<typeof mediaFilesOf>[0] => ({
  path: (file) => running(house, 'media').path(file),
  discard: (file) => running(house, 'media').discard(file),
  keep: (file) => running(house, 'media').keep(file),
});

/** Whether the cloud takes events; undefined when there is nobody left to know. */
function lineIs(house: House, up: boolean | undefined): void {
  house.cloudUp = up;
  house.lan?.setCloudLink(up === true);
  if (up !== true) return;
  house.answers?.retryNow();
  house.catalogue?.lineUp();
  house.devices?.retryNow();
  house.mirror?.lineUp();
}
