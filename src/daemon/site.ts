import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { certifier } from '#box/certificates.ts';
import { fileDigests, profilePaths, withTraits } from '#box/folders.ts';
import { defaultDialect } from '#cloud/contract/index.ts';
import { type Settings, sitePlan } from '#config/index.ts';
import { createCameras } from '#devices/onvif/index.ts';
import { createAccess } from '#lan/access/index.ts';
import { createControlSocket, type LanPort } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { ThreadAhead } from '#lib/thread-ahead.ts';
import { createTicks } from '#lib/ticks.ts';
import { type ClockQualityWatch, clockWatch } from '#site/clock-quality.ts';
import type { Controller } from '#site/controller.ts';
import { createLossReport } from '#site/loss-report.ts';
import { limitsOf, openStore } from '#site/store/index.ts';
import { createUsers } from '#site/users/index.ts';
import { cloudArming } from './arming-sync.ts';
import { audioPlan, audioWants, siteAudio } from './audio.ts';
import { audioCatalogue, catalogueWants } from './audio-cloud.ts';
import { noteIn, noteUnfit } from './audit-wiring.ts';
import { bridgeIdOf } from './bridge-id.ts';
import { bridgeTopics, embeddedBroker } from './broker.ts';
import { callForHelp } from './call-for-help.ts';
import { cloudDelivery } from './cloud-delivery.ts';
import { cloudDevices, cloudDevicesWants, wantedWants } from './cloud-devices.ts';
import { credentialFile } from './credential-file.ts';
import { siteController } from './heart.ts';
import { type House, running, type Surroundings } from './house.ts';
import { httpWants, siteHttp } from './http.ts';
import { liveStreams } from './live.ts';
import { mediaWants, siteMedia } from './media.ts';
import { siteMqtt } from './mqtt.ts';
import type { OutboxCount } from './outbox-count.ts';
import { sitePanels, siteReceiver } from './panels.ts';
import { mirrorWants, siteMirror } from './site-mirror.ts';
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
  /** The thread of the store, where one runs already. */
  readonly storeThread?: ThreadAhead | undefined;
  /** Folders with panel profiles, the site's own first. */
  readonly profiles: readonly string[];
}

/** Every part of the daemon in the order of its start. What a part is made of stands beside it. */
export function siteSlots(house: House, options: SiteOptions): Slot<Settings>[] {
  const { clock, quality, count, settings } = options;
  const startedWall = clock.wall();
  const certify = certifier();
  const part = (name: string) => options.log.child({ part: name });
  const surroundings: Surroundings = { house, clock, quality, settings, log: part };
  const planOf = (next: Settings) => withTraits(sitePlan(next), next, options.profiles);
  const note = noteIn(house);
  const emit: Controller['signals'] = (signals) => running(house, 'controller').signals(signals);

  /** Once an hour, so that a journal without it shows since when siteward was silent. */
  const lifeLog = part('daemon');
  function signOfLife(): void {
    lifeLog.info({ cloud: house.cloudUp === true ? 'up' : 'down' }, 'siteward runs');
  }

  return [
    {
      name: 'store',
      vital: true,
      wants: ({ store }) => store,
      ...placed(house, 'store', ({ store }, metrics) =>
        openStore({
          dir: store.dir,
          ahead: options.storeThread,
          clock,
          log: part('store'),
          metrics,
          limits: limitsOf(store),
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
      ...placed(house, 'controller', (next, metrics) => siteController(next, planOf(next), metrics, surroundings)),
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
      ...placed(house, 'lan', (next, metrics) => siteMqtt(next, metrics, surroundings, count)),
    },
    {
      name: 'panels',
      wants: (next) => [
        next.panels,
        fileDigests(profilePaths(next, options.profiles)),
        brokerWants(next),
        next.arming.confirm_timeout,
      ],
      ...placed(house, 'panels', (next, metrics) =>
        sitePanels(next, metrics, surroundings, { profiles: options.profiles, startedWall }),
      ),
    },
    {
      name: 'receiver',
      wants: ({ dc09, panels, partitions }) => dc09 && [dc09, panels, partitions.map(({ id }) => id)],
      ...placed(house, 'receiver', (next, metrics) => siteReceiver(next, metrics, surroundings)),
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
      ...placed(house, 'devices', (next, metrics) => cloudDevices(next, metrics, surroundings)),
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
