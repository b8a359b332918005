import { sleep } from '#lib/wait.ts';
import type { SitePlan } from '#site/model/index.ts';
import type { Publisher } from './publisher.ts';

/** Pictures on the topics of their cameras; retained only where the site wants that (safety 11). */
export interface ImageFeed {
  /** False when it was dropped. */
  publish(camera: string, jpeg: Uint8Array): Promise<boolean>;
  /** Whether what the broker has retained of this topic may stay there. */
  mayStay(topic: string): boolean;
  /** Of a camera that is gone nothing stays. */
  change(plan: SitePlan): void;
}

/** At most so long a picture keeps its place among those that may wait in memory. */
const leavesMs = 5000;

export function createImageFeed(options: {
  readonly root: string;
  readonly publisher: Publisher;
  readonly isRetained: boolean;
  readonly plan: SitePlan;
}): ImageFeed {
  const { root, publisher, isRetained } = options;
  const topicOf = (camera: string) => `${root}/camera/${camera}/image`;
  const topicsOf = ({ cameras }: SitePlan) => new Set(cameras.map(({ id }) => topicOf(id)));
  let known = topicsOf(options.plan);
  return {
    async publish(camera, jpeg) {
      const payload = Buffer.from(jpeg);
      const left = publisher.deliver({ topic: topicOf(camera), payload, qos: 0, retain: isRetained });
      const gaveUp = new AbortController();
      const waited = sleep(leavesMs, gaveUp.signal).catch(() => undefined);
      const told = await Promise.race([left, waited.then(() => true)]);
      gaveUp.abort();
      return told;
    },
    mayStay: (topic) => isRetained && known.has(topic),
    change(plan) {
      const next = topicsOf(plan);
      if (isRetained) for (const topic of known) if (!next.has(topic)) publisher.retract(topic);
      known = next;
    },
  };
}
