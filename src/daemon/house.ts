import type { Delivery } from '#cloud/delivery/index.ts';
import type { Media } from '#devices/media/index.ts';
import type { Cameras } from '#devices/onvif/index.ts';
import type { Panels } from '#devices/panels/index.ts';
import type { Broker, LanMqtt } from '#lan/mqtt/index.ts';
import type { Controller } from '#site/controller.ts';
import type { LossReport } from '#site/loss-report.ts';
import type { Store } from '#site/store/index.ts';

/** The parts that run now. A part reaches another only through here, so that a reload can swap it. */
export interface House {
  store?: Store | undefined;
  controller?: Controller | undefined;
  losses?: LossReport | undefined;
  media?: Media | undefined;
  delivery?: Delivery | undefined;
  broker?: Broker | undefined;
  lan?: LanMqtt | undefined;
  panels?: Panels | undefined;
  cameras?: Cameras | undefined;
  cloudUp?: boolean | undefined;
}
