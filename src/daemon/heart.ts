import type { Registry } from 'prom-client';
import { encodeEvent } from '#cloud/contract/index.ts';
import type { Settings } from '#config/index.ts';
import { type Controller, createController } from '#site/controller.ts';
import type { SitePlan } from '#site/model/index.ts';
import { soundIn } from './audio.ts';
import { bridgeIdOf } from './bridge-id.ts';
import { identityOf } from './cloud.ts';
import { type House, running, type Surroundings } from './house.ts';

/** The controller, and which parts hear of what it does. */
export function siteController(
  next: Settings,
  plan: SitePlan,
  metrics: Registry,
  { house, clock, quality, settings, log }: Surroundings,
): Controller {
  /** Who was given the newest rows that could not be written: asked once more when it has stopped. */
  let sender: House['delivery'];
  return createController({
    plan,
    bridgeId: bridgeIdOf(next),
    store: running(house, 'store'),
    ports: {
      publish: {
        state(view, changes) {
          house.lan?.publishState(view, changes);
          house.live?.publishState(changes);
          house.arming?.siteChanged(view);
          house.streams?.review();
        },
        event(event) {
          house.lan?.publishEvent(event);
          house.live?.publishEvent(event);
        },
      },
      panels: { send: (command) => house.panels?.send(command) },
      capture: { capture: (job) => house.media?.capture(job) },
      sound: soundIn(house),
      delivery: {
        wake: () => house.delivery?.wake(),
        direct(rows) {
          sender = house.delivery;
          sender?.direct(rows.filter((row) => row.toCloud));
        },
        written: (rows) => house.delivery?.written(rows),
        wasAccepted: (seq) => sender?.wasAccepted(seq) === true,
      },
      encode: (event, draft) => encodeEvent(event, draft, identityOf(settings())),
    },
    clock,
    quality: quality.current,
    log: log('controller'),
    metrics,
  });
}
