import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { defaultDialect, encodeEvent } from '#cloud/contract/index.ts';
import { type Settings, sitePlan } from '#config/index.ts';
import { createCameras } from '#devices/onvif/index.ts';
import { bridgedPanels, createPanels, createReceiver, dc09Profile } from '#devices/panels/index.ts';
import { createAccess } from '#lan/access/index.ts';
import { createControlSocket, type LanPort } from '#lan/http/index.ts';
import { createLanMqtt } from '#lan/mqtt/index.ts';
import type { Clock } from '#lib/clock.ts';
import { createTicks } from '#lib/ticks.ts';
import { version } from '#lib/version.ts';
import { type ClockQualityWatch, clockWatch } from '#site/clock-quality.ts';
import { type Controller, createController } from '#site/controller.ts';
import { createLossReport } from '#site/loss-report.ts';
import { openStore } from '#site/store/index.ts';
import { createUsers } from '#site/users/index.ts';
import { cloudArming } from './arming-sync.ts';
import { audioPlan, audioWants, siteAudio, soundIn } from './audio.ts';
import { audioCatalogue, catalogueWants } from './audio-cloud.ts';
import { noteIn, noteUnfit } from './audit-wiring.ts';
import { bridgeIdOf } from './bridge-id.ts';
import { bridgeTopics, brokerConnect, embeddedBroker, homeAssistantOf, slugOf } from './broker.ts';
import { brokerTrouble, certificateTrouble } from './broker-trouble.ts';
import { callForHelp } from './call-for-help.ts';
import { certifier } from './certificates.ts';
import { identityOf } from './cloud.ts';
import { cloudDelivery } from './cloud-delivery.ts';
import { cloudDevices, cloudDevicesWants, wantedWants } from './cloud-devices.ts';
import { credentialFile } from './credential-file.ts';
import { fileDigests, profilePaths, withTraits } from './folders.ts';
import { heardUntil, panelWords } from './heard-until.ts';
import { type House, running, type Surroundings, tellCore } from './house.ts';
import { httpWants, siteHttp } from './http.ts';
import { liveStreams } from './live.ts';
import { mediaWants, siteMedia } from './media.ts';
import type { OutboxCount } from './outbox-count.ts';
import { rawWatch } from './raw-watch.ts';
import { mirrorWants, siteMirror } from './site-mirror.ts';
import { sitePort } from './site-port.ts';
import type { Slot } from './slots.ts';
import { siteStreams, streamWants } from './streams.ts';
import { answerSender, siteVerifications, verificationWants } from './verification.ts';

export interface SiteOptions {
  readonly clock: Clock;
  readonly quality: ClockQualityWatch;
  readonly log: Logger;
  readonly count: OutboxCount;
  /** The settings in force; changes at a reload before any part is made. */
  readonly settings: () => Settings;
  readonly lan: LanPort;
  /** Folders with panel profiles, the site's own first. */
  readonly profiles: readonly string[];
}

/** Every part of the daemon in the order of its start. What a part is made of stands beside it. */
export function siteSlots(house: House, options: SiteOptions): Slot<Settings>[] {
  const { clock, quality, count, settings } = options;
  const startedWall = clock.wall();
  const certify = certifier();
  const part = (name: string) => options.log.child({ part: name });
  const knowsTime = () => quality.current() !== 'doubtful';
  const surroundings: Surroundings = { house, clock, quality, log: part };
  const planOf = (next: Settings) => withTraits(sitePlan(next), next, options.profiles);
  const note = noteIn(house);
  const emit: Controller['signals'] = (signals) => running(house, 'controller').signals(signals);

  /** Who was given the newest rows that could not be written: asked once more when it has stopped. */
  let sender: House['delivery'];

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
          onNews: () => house.losses?.wake(),
        }),
      ),
    },
    {
      name: 'broker',
      wants: (next) => [next.mqtt, [...bridgeTopics(next, options.profiles)]],
      ...placed(house, 'broker', (next, metrics) =>
        next.mqtt.broker === 'embedded'
          ? embeddedBroker(next, options.profiles, { certify, log: part('broker'), metrics })
          : undefined,
      ),
    },
    {
      name: 'controller',
      vital: true,
      wants: ({ store }) => store,
      adapts: {
        wants: planOf,
        to: (next) => running(house, 'controller').reconfigure(planOf(next)),
      },
      ...placed(house, 'controller', (next, metrics) =>
        createController({
          plan: planOf(next),
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
          log: part('controller'),
          metrics,
        }),
      ),
    },
    {
      name: 'codes',
      wants: ({ store }) => store.dir,
      adapts: {
        wants: ({ users }) => users,
        to: async ({ users }) => running(house, 'codes').replace(users),
      },
      ...placed(house, 'codes', ({ users, store }, metrics) =>
        createUsers({
          dir: store.dir,
          credential: credentialFile('user-key'),
          configured: users,
          timezone: () => settings().site.timezone,
          clock,
          quality: quality.current,
          onUnfit: noteUnfit(house, clock),
          metrics,
          onDuress: (actor) => callForHelp(house, actor, 'users'),
        }),
      ),
    },
    {
      // Before whatever lets somebody in; its entries go into the audit log, so it stops before the store.
      name: 'access',
      wants: ({ store }) => store.dir,
      ...placed(house, 'access', ({ store }, metrics) =>
        createAccess({ dir: store.dir, clock, quality: quality.current, metrics, note: (entry) => void note(entry) }),
      ),
    },
    {
      name: 'live',
      wants: () => undefined,
      ...placed(house, 'live', (_, metrics) => liveStreams(house, options.lan, { clock, log: part('live'), metrics })),
    },
    {
      name: 'losses',
      wants: ({ store }) => store,
      ...placed(house, 'losses', () =>
        createLossReport({
          store: running(house, 'store'),
          tell: (news, reported) => running(house, 'controller').tell(news, reported),
          clock,
          log: part('losses'),
        }),
      ),
    },
    {
      name: 'verifications',
      wants: (next) => verificationWants(next).verifications,
      ...placed(house, 'verifications', (next, metrics) => siteVerifications(next, metrics, surroundings)),
    },
    {
      name: 'media',
      wants: mediaWants,
      ...placed(house, 'media', (next, metrics) => siteMedia(next, metrics, surroundings)),
    },
    {
      name: 'audio',
      wants: audioWants,
      adapts: { wants: audioPlan, to: async (next) => running(house, 'audio').reconfigure(audioPlan(next)) },
      ...placed(house, 'audio', (next, metrics) => siteAudio(next, metrics, surroundings)),
    },
    {
      name: 'delivery',
      wants: ({ cloud, store, media, supervision }) => [cloud, store, media.upload_rate, supervision.cloud.heartbeat],
      ...placed(house, 'delivery', (next, metrics) => cloudDelivery(next, metrics, surroundings)),
    },
    {
      name: 'answers',
      wants: (next) => verificationWants(next).answers,
      ...placed(house, 'answers', (next, metrics) => answerSender(next, metrics, surroundings)),
    },
    {
      // Before what reads the site, so that its first read is not missed.
      name: 'mirror',
      wants: mirrorWants,
      ...placed(house, 'mirror', (next, metrics) => siteMirror(next, metrics, surroundings)),
    },
    {
      name: 'arming',
      wants: ({ cloud, store, site, bridge }) => [cloud, store, site.id, site.dealer_id, bridge],
      ...placed(house, 'arming', (next, metrics) => cloudArming(next, metrics, surroundings, bridgeIdOf(next))),
    },
    {
      name: 'audio-catalogue',
      wants: catalogueWants,
      ...placed(house, 'catalogue', (next, metrics) => audioCatalogue(next, metrics, surroundings)),
    },
    {
      name: 'mqtt',
      wants: (next) => [brokerWants(next), next.site.name, next.bridge.external_id],
      ...placed(house, 'lan', (next, metrics) =>
        createLanMqtt({
          connect: brokerConnect(next, house.broker),
          slug: slugOf(next.site.external_id),
          site: sitePort({ house, count, clock, settings, quality, log: part('dispatch') }),
          version,
          onLink: brokerTrouble(tellCore(house)),
          onCertificate: certificateTrouble(tellCore(house), clock.wall, knowsTime),
          bootId: clock.bootId,
          ...(next.mqtt.broker === 'embedded' && {
            senderOf: (topic: string, payload: Uint8Array) => house.broker?.senderOf(topic, payload),
          }),
          homeAssistant: homeAssistantOf(next),
          retainImages: next.mqtt.retain_images,
          memory: running(house, 'store').memory('mqtt'),
          clock,
          log: part('mqtt'),
          metrics,
        }),
      ),
    },
    {
      name: 'panels',
      wants: (next) => [
        next.panels,
        fileDigests(profilePaths(next, options.profiles)),
        brokerWants(next),
        next.arming.confirm_timeout,
      ],
      ...placed(house, 'panels', (next, metrics) => {
        const view = house.controller?.view();
        const heard = heardUntil(view, startedWall);
        house.rawWatch = rawWatch(house, { panels: bridgedPanels(next.panels), clock, metrics });
        return createPanels({
          raw: house.rawWatch,
          known: panelWords(view),
          panels: bridgedPanels(next.panels),
          code: (id) => next.panels.find((panel) => panel.id === id)?.code,
          profiles: options.profiles,
          confirmMs: next.arming.confirm_timeout,
          connect: brokerConnect(next, house.broker),
          siteSlug: slugOf(next.site.external_id),
          memory: running(house, 'store').memory('panels'),
          knowsTime,
          clock,
          log: part('panels'),
          metrics,
          emit,
          ...(heard !== undefined && { heardUntil: heard }),
        });
      }),
    },
    {
      name: 'receiver',
      wants: ({ dc09, panels, partitions }) => dc09 && [dc09, panels, partitions.map(({ id }) => id)],
      ...placed(house, 'receiver', (next, metrics) => {
        if (next.dc09 === undefined) return undefined;
        const zones = new Map(sitePlan(next).zones.map((zone) => [zone.number, zone.partitions]));
        return createReceiver({
          dc09: next.dc09,
          panels: next.panels.filter(({ profile }) => profile === dc09Profile),
          partitionsOf: (zone) => zones.get(zone) ?? [],
          knowsTime,
          timezone: () => settings().site.timezone,
          memory: running(house, 'store').memory('dc09'),
          clock,
          log: part('receiver'),
          metrics,
          emit,
        });
      }),
    },
    {
      name: 'cameras',
      wants: ({ store }) => store,
      adapts: {
        wants: ({ cameras, nvrs }) => [cameras, nvrs],
        async to(next) {
          await running(house, 'cameras').reconfigure(next);
          house.streams?.retry();
        },
      },
      ...placed(house, 'cameras', ({ cameras, nvrs }, metrics) => {
        // They ask for their streams in a later turn: of these.
        house.streams?.retry();
        return createCameras({
          ...{ cameras, nvrs, clock, emit, metrics },
          log: part('cameras'),
          memory: running(house, 'store').memory('onvif'),
        });
      }),
    },
    {
      // Stops before the cameras whose streams it reads.
      name: 'streams',
      wants: streamWants,
      ...placed(house, 'streams', (next, metrics) => siteStreams(next, metrics, surroundings)),
    },
    {
      // Behind the cameras, of which it tells.
      name: 'cloud-devices',
      wants: cloudDevicesWants,
      adapts: { wants: wantedWants, to: async () => house.devices?.changed() },
      ...placed(house, 'devices', (next, metrics) => cloudDevices(next, metrics, surroundings, settings)),
    },
    {
      name: 'control',
      // One of the cloud's own paths is in the dialect.
      wants: ({ http, cloud }) => [http.control_socket, (cloud?.dialect ?? defaultDialect()).ref_path],
      create: ({ http }, metrics) =>
        createControlSocket({ path: http.control_socket, port: options.lan, log: part('control'), metrics }),
    },
    {
      name: 'http',
      wants: httpWants,
      create: (next, metrics) => siteHttp(next, metrics, { log: part, lan: options.lan, certify }),
    },
    {
      name: 'clock',
      wants: () => undefined,
      create: () => clockWatch(quality),
    },
    {
      name: 'ticks',
      // The last part: schedules look at the clock when everything they need is there, and anew when they change.
      wants: ({ schedules, holidays, site }) => [schedules, holidays, site.timezone],
      create: () =>
        createTicks({
          ticks: [
            { name: 'sign of life', cron: '0 * * * *', run: signOfLife },
            { name: 'outbox', cron: '* * * * *', run: () => void house.outboxDay?.look(), atOnce: true },
            // What a camera or recorder is, it tells when it can.
            { name: 'devices', cron: '*/5 * * * * *', run: () => house.devices?.changed() },
            { name: 'schedules', cron: '*/10 * * * * *', run: () => house.controller?.tick(), atOnce: true },
          ],
          log: part('ticks'),
        }),
    },
  ];
}

/** What a client of the broker is made of. */
const brokerWants = ({ mqtt }: Settings): unknown => [mqtt, fileDigests([mqtt.ca])];

/** A part that stands in the house from its making to its end. */
function placed<K extends Exclude<keyof House, 'cloudUp' | 'heldCalls' | 'lastPictures' | 'outboxDay' | 'rawWatch'>>(
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
