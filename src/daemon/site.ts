import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { encodeEvent } from '#cloud/contract/index.ts';
import { createDelivery, mediaFilesOf } from '#cloud/delivery/index.ts';
import { type Settings, sitePlan } from '#config/index.ts';
import { createMedia } from '#devices/media/index.ts';
import { createCameras } from '#devices/onvif/index.ts';
import { createPanels } from '#devices/panels/index.ts';
import { SitewardError } from '#errors.ts';
import { createControlSocket, type LanPort } from '#lan/http/index.ts';
import { createLanMqtt } from '#lan/mqtt/index.ts';
import type { Clock } from '#lib/clock.ts';
import { createTicks } from '#lib/ticks.ts';
import { nameUuid } from '#lib/uuid.ts';
import { version } from '#lib/version.ts';
import { type Controller, createController } from '#site/controller.ts';
import { createLossReport } from '#site/loss-report.ts';
import { openStore } from '#site/store/index.ts';
import { brokerConnect, embeddedBroker, slugOf } from './broker.ts';
import { type ClockQualityWatch, clockWatch } from './clock-quality.ts';
import { cloudClient, identityOf } from './cloud.ts';
import { createCloudTrouble } from './cloud-trouble.ts';
import { createCodeBook } from './codes.ts';
import type { House } from './house.ts';
import { sitePort } from './site-port.ts';
import type { Slot } from './slots.ts';

/** Namespace of the ids siteward makes; the bridge's own namespace lies below it. */
const namespace = '3a0e2f5c-8f57-4c0e-9b0a-2d6b2f1f6a11';

export interface SiteOptions {
  readonly clock: Clock;
  readonly quality: ClockQualityWatch;
  readonly log: Logger;
  /** The settings in force; changes at a reload before any part is made. */
  readonly settings: () => Settings;
  readonly lan: LanPort;
  /** Folders with panel profiles, the site's own first. */
  readonly profiles: readonly string[];
}

/** Every part of the daemon in the order of its start. What a part is made of stands beside it. */
export function siteSlots(house: House, options: SiteOptions): Slot<Settings>[] {
  const { clock, quality, settings } = options;
  const part = (name: string) => options.log.child({ part: name });
  const emit: Controller['signals'] = (signals) => must(house.controller, 'controller').signals(signals);

  /** Once an hour, so that a journal without it shows since when siteward was silent. */
  function signOfLife(): void {
    part('daemon').info({ cloud: house.cloudUp === true ? 'up' : 'down' }, 'siteward runs');
  }

  return [
    {
      name: 'store',
      vital: true,
      wants: ({ store }) => store,
      ...placed(house, 'store', ({ store }, metrics) =>
        openStore({
          dir: store.dir,
          clock,
          log: part('store'),
          metrics,
          limits: { alarmCopy: store.alarm_copy },
          onRestored: () => house.delivery?.retried(),
          onForgotten: (files) => house.media?.forget(files),
          onNews() {
            house.losses?.wake();
            house.media?.relieve();
          },
        }),
      ),
    },
    {
      name: 'broker',
      wants: ({ mqtt, site }) => [mqtt, site.external_id],
      ...placed(house, 'broker', (next, metrics) =>
        next.mqtt.broker === 'embedded' ? embeddedBroker(next, part('broker'), metrics) : undefined,
      ),
    },
    {
      name: 'controller',
      vital: true,
      wants: ({ store, site, bridge }) => [store, site.external_id, bridge.external_id],
      adapts: {
        wants: (next) => sitePlan(next),
        to: (next) => must(house.controller, 'controller').reconfigure(sitePlan(next)),
      },
      ...placed(house, 'controller', (next, metrics) =>
        createController({
          plan: sitePlan(next),
          bridgeId: nameUuid(nameUuid(namespace, next.site.external_id), next.bridge.external_id),
          store: must(house.store, 'store'),
          ports: {
            publish: {
              state: (view, changes) => house.lan?.publishState(view, changes),
              event: (event) => house.lan?.publishEvent(event),
            },
            panels: { send: (command) => house.panels?.send(command) },
            capture: { capture: (job) => house.media?.capture(job) },
            delivery: {
              wake: () => house.delivery?.wake(),
              direct: (rows) => house.delivery?.direct(rows.filter((row) => row.toCloud)),
            },
            encode: (event, draft) => encodeEvent(event, draft, identityOf(settings())),
          },
          clock,
          quality: quality.current,
          log: part('controller'),
          metrics,
        }),
      ),
    },
    {
      name: 'losses',
      wants: ({ store, site, bridge }) => [store, site.external_id, bridge.external_id],
      ...placed(house, 'losses', () =>
        createLossReport({ store: must(house.store, 'store'), emit, log: part('losses') }),
      ),
    },
    {
      name: 'media',
      wants: ({ media, store }) => [media.budget, store],
      ...placed(house, 'media', ({ media, store }, metrics) =>
        createMedia({
          dir: join(store.dir, 'spool'),
          budgetBytes: media.budget,
          pictures: { snapshot: (camera, signal) => must(house.cameras, 'cameras').snapshot(camera, signal) },
          table: {
            update: (outcomes) => must(house.store, 'store').updateMedia(outcomes),
            list: (states, limit) => must(house.store, 'store').media(states, limit),
          },
          onReady: () => house.delivery?.wake(),
          storage: () => must(house.store, 'store').storage().level,
          clock,
          log: part('media'),
          metrics,
        }),
      ),
    },
    {
      name: 'delivery',
      wants: ({ cloud, store, media }) => [cloud, store, media.upload_rate],
      ...placed(house, 'delivery', (next, metrics) => {
        const trouble = createCloudTrouble({ emit: async (signals) => emit(signals), now: clock.monotonic });
        if (next.cloud === undefined) {
          trouble.onLink(true, 'there is no cloud in the configuration');
          return undefined;
        }
        const cloud = cloudClient(next.cloud, { clock, quality, log: part('cloud'), metrics });
        const delivery = createDelivery({
          store: must(house.store, 'store'),
          cloud,
          files: mediaFilesOf({
            path: (file) => must(house.media, 'media').path(file),
            discard: (file) => must(house.media, 'media').discard(file),
          }),
          uploadResume: next.cloud.dialect.upload_resume,
          ...(next.media.upload_rate !== undefined && { uploadRate: next.media.upload_rate }),
          // A cloud on this machine (the sandbox) has its upload addresses here too.
          allowLoopbackHttp: next.cloud.base_url.startsWith('http:'),
          clock,
          log: part('delivery'),
          metrics,
          onLink(up, reason, kind) {
            house.cloudUp = up;
            house.lan?.setCloudLink(up);
            trouble.onLink(up, reason, kind);
          },
        });
        return {
          ...delivery,
          async stop() {
            trouble.stop();
            await delivery.stop();
            await cloud.close();
            house.cloudUp = undefined;
            house.lan?.setCloudLink(false);
          },
        };
      }),
    },
    {
      name: 'mqtt',
      wants: ({ mqtt, site, users }) => [mqtt, site.external_id, users],
      ...placed(house, 'lan', (next, metrics) =>
        createLanMqtt({
          connect: brokerConnect(next, house.broker),
          slug: slugOf(next.site.external_id),
          site: sitePort({ house, codes: createCodeBook(next.users), clock }),
          version,
          bootId: clock.bootId,
          senderOf: (topic, payload) => house.broker?.senderOf(topic, payload),
          clock,
          log: part('mqtt'),
          metrics,
        }),
      ),
    },
    {
      name: 'panels',
      wants: ({ panels, mqtt, site }) => [panels, mqtt, site.external_id],
      ...placed(house, 'panels', (next, metrics) =>
        createPanels({
          panels: next.panels.map(({ code: _, ...panel }) => panel),
          code: (id) => next.panels.find((panel) => panel.id === id)?.code,
          profiles: options.profiles,
          connect: brokerConnect(next, house.broker),
          siteSlug: slugOf(next.site.external_id),
          clock,
          log: part('panels'),
          metrics,
          emit,
        }),
      ),
    },
    {
      name: 'cameras',
      wants: ({ cameras, store }) => [cameras, store],
      ...placed(house, 'cameras', ({ cameras }, metrics) =>
        createCameras({
          cameras,
          clock,
          log: part('cameras'),
          metrics,
          memory: must(house.store, 'store').memory('onvif'),
          emit,
        }),
      ),
    },
    {
      name: 'control',
      wants: ({ http }) => http,
      create: ({ http }, metrics) =>
        createControlSocket({ path: http.control_socket, port: options.lan, log: part('control'), metrics }),
    },
    {
      name: 'clock',
      wants: () => undefined,
      create: () => clockWatch(quality),
    },
    {
      name: 'ticks',
      wants: () => undefined,
      create: () =>
        createTicks({ ticks: [{ name: 'sign of life', cron: '0 * * * *', run: signOfLife }], log: part('ticks') }),
    },
  ];
}

/** A part that stands in the house from its making to its end. */
function placed<K extends Exclude<keyof House, 'cloudUp'>>(
  house: House,
  key: K,
  make: (settings: Settings, metrics: Registry) => House[K],
): Pick<Slot<Settings>, 'create' | 'ended'> {
  return {
    create: (settings, metrics) => (house[key] = make(settings, metrics)),
    ended: () => {
      house[key] = undefined;
    },
  };
}

function must<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new SitewardError('stopped', `${name} is not running`);
  return value;
}
