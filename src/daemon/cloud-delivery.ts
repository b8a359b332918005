import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { createDelivery, type Delivery, type DeliveryOptions, mediaFilesOf } from '#cloud/delivery/index.ts';
import type { Settings } from '#config/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { ClockQualityWatch } from '#site/clock-quality.ts';
import type { Signal } from '#site/model/index.ts';
import { cloudClient } from './cloud.ts';
import { cloudTrouble } from './cloud-trouble.ts';

export interface CloudDeliveryOptions {
  readonly store: DeliveryOptions['store'];
  readonly spool: Parameters<typeof mediaFilesOf>[0];
  readonly emit: (signals: readonly Signal[]) => Promise<void>;
  /** Whether the cloud takes events; undefined when there is nobody left to know. */
  readonly onUp: (up: boolean | undefined) => void;
  readonly clock: Clock;
  readonly quality: ClockQualityWatch;
  readonly log: (part: string) => Logger;
  readonly metrics: Registry;
}

/**
 * Delivery to the cloud of the configuration, with the trouble of the site that tells of a cloud which takes no events.
 * Without a cloud there is no delivery, and a trouble from before ends.
 */
export function cloudDelivery(
  { cloud: section, media, supervision }: Settings,
  options: CloudDeliveryOptions,
): Delivery | undefined {
  const { store, spool, emit, onUp, clock, quality, log, metrics } = options;
  const trouble = cloudTrouble(async (signals) => emit(signals));
  if (section === undefined) {
    trouble(true, 'there is no cloud in the configuration');
    return undefined;
  }
  const cloud = cloudClient(section, { clock, quality, log: log('cloud'), metrics });
  const delivery = createDelivery({
    ...{ store, cloud, files: mediaFilesOf(spool), clock, log: log('delivery'), metrics },
    heartbeatMs: supervision.cloud.heartbeat,
    uploadResume: section.dialect.upload_resume,
    ...(media.upload_rate !== undefined && { uploadRate: media.upload_rate }),
    // A cloud on this machine (the sandbox) has its upload addresses here too.
    allowLoopbackHttp: section.base_url.startsWith('http:'),
    onLink(up, reason, kind) {
      onUp(up);
      trouble(up, reason, kind);
    },
  });
  return {
    ...delivery,
    async stop() {
      await delivery.stop();
      await cloud.close();
      onUp(undefined);
    },
  };
}
