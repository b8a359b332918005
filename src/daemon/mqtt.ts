import type { Registry } from 'prom-client';
import { slugOf } from '#box/broker.ts';
import type { Settings } from '#config/index.ts';
import { createLanMqtt, type LanMqtt } from '#lan/mqtt/index.ts';
import { version } from '#lib/version.ts';
import { brokerConnect, homeAssistantOf } from './broker.ts';
import { brokerTrouble, certificateTrouble } from './broker-trouble.ts';
import { knowsTime, running, type Surroundings, tellCore } from './house.ts';
import type { OutboxCount } from './outbox-count.ts';
import { sitePort } from './site-port.ts';

/** The MQTT surface of the site. */
export function siteMqtt(next: Settings, metrics: Registry, surroundings: Surroundings, count: OutboxCount): LanMqtt {
  const { house, clock, quality, settings, log } = surroundings;
  return createLanMqtt({
    connect: brokerConnect(next, house.broker),
    slug: slugOf(next.site.external_id),
    site: sitePort({ house, count, clock, settings, quality, log: log('dispatch') }),
    version,
    onLink: brokerTrouble(tellCore(house)),
    onCertificate: certificateTrouble(tellCore(house), clock.wall, knowsTime(quality)),
    bootId: clock.bootId,
    ...(next.mqtt.broker === 'embedded' && {
      senderOf: (topic: string, payload: Uint8Array) => house.broker?.senderOf(topic, payload),
    }),
    homeAssistant: homeAssistantOf(next),
    retainImages: next.mqtt.retain_images,
    memory: running(house, 'store').memory('mqtt'),
    clock,
    log: log('mqtt'),
    metrics,
  });
}
