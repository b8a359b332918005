import type { Registry } from 'prom-client';
import { partnerPlace } from '#box/partner.ts';
import {
  type ArmingSyncShown,
  createArmingSync,
  createSiteSettings,
  createSiteStanding,
  lostText,
  type StandingPort,
  type StandingShown,
  type SyncPort,
} from '#cloud/sync/index.ts';
import type { Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import type { StatusDocument } from '#lan/http/index.ts';
import type { Health, Part } from '#lib/health.ts';
import { siteStatus } from '#site/core/index.ts';
import type { SiteView } from '#site/model/index.ts';
import { cloudClient } from './cloud.ts';
import { type House, running, type Surroundings, tellCore, viewOf } from './house.ts';

/** The arming of the site kept in step with the cloud, both ways. */
export interface CloudArming extends Part {
  siteChanged(view: SiteView): void;
  retryNow(): void;
  shown(): ArmingSyncShown;
  /** Whether the site is still ours in the cloud; whoever works at it there asks first. */
  readonly standing: StandingPort & { shown(): StandingShown };
}

/** Whether work at the site in the cloud may go on; nobody knows otherwise where nobody reads it. */
export const isSiteOpen = (house: Pick<House, 'arming'>): boolean => house.arming?.standing.isOpen() ?? true;

/** What `siteward status` shows of it. */
export function armingSyncStatus(
  { plan, partitions, authority }: SiteView,
  shown: ArmingSyncShown | undefined,
  { dealer_id, id: site_id }: Pick<Settings['site'], 'dealer_id' | 'id'>,
): NonNullable<StatusDocument['arming_sync']> {
  const { settings, reason } = shown ?? {};
  const asked = authority?.asked?.securityType;
  return {
    mode: shown?.mode ?? 'off',
    cloud: shown?.cloud ?? 'unknown',
    site: shown?.site ?? siteStatus(partitions),
    agreed: shown?.agreed ?? false,
    reasons: [reason ?? waitsFor(partitions, shown), settings?.reason].filter((one) => one !== undefined),
    security_type: plan.securityType,
    ...(asked !== undefined && { security_type_asked: asked }),
    ...(settings?.securityType !== undefined && { security_type_cloud: settings.securityType }),
    ...(settings?.active !== undefined && { activated: settings.active }),
    ...(dealer_id !== undefined && { dealer_id }),
    ...(site_id !== undefined && { site_id }),
  };
}

/** Why nothing is told to the cloud now, where nothing is wrong with the sync itself: what the partitions do. */
function waitsFor(partitions: SiteView['partitions'], shown: ArmingSyncShown | undefined): string | undefined {
  if (shown === undefined || shown.mode !== 'two-way' || shown.agreed) return undefined;
  const silent = namesOf(partitions.filter(({ state, stale }) => stale || state === 'unknown'));
  if (silent !== '')
    return `nobody knows whether ${silent} is armed, so the cloud is told nothing: see panels and troubles, or arm or disarm it`;
  // Life safety runs while disarmed, too: it has no mode that would say how the partition stands beneath.
  const alarms = namesOf(partitions.filter(({ state, mode }) => state === 'triggered' && mode === null));
  if (alarms !== '')
    return `the alarm in ${alarms} hides whether it is armed, so the cloud is told nothing of the arming until the alarm ends; the alarm itself is reported`;
  const leaving = namesOf(partitions.filter(({ state }) => state === 'arming'));
  return leaving === '' ? undefined : `the exit delay of ${leaving} runs; the cloud is told when it has ended`;
}

const namesOf = (partitions: SiteView['partitions']): string => partitions.map(({ id }) => id).join(', ');

/**
 * The two-way arming sync of the configuration: none without a cloud or without a client for the partner interface.
 * Throws `config_invalid` where the dealer is missing, without whom no path to the site exists.
 */
export function cloudArming(
  settings: Settings,
  metrics: Registry,
  surroundings: Surroundings,
  idSpace: string,
): CloudArming | undefined {
  const { house, clock, quality } = surroundings;
  const memory = running(house, 'store').memory('cloud-arming');
  if (settings.cloud?.partner === undefined) return undefined;
  const way = partnerPlace(settings);
  if (typeof way === 'string') {
    throw new SitewardError(
      'config_invalid',
      'cloud.partner needs site.dealer_id; the arming stays on this box until then',
    );
  }
  const { section, place } = way;
  const log = surroundings.log('arming');
  const port = siteOf(house);
  // Its metrics of the interface are those of the delivery's client.
  const cloud = cloudClient(section, { clock, quality, log });
  const standing = createSiteStanding({
    ...{ manage: cloud.manage, place, site: port, memory, clock, log, metrics },
    onChanged(isOpen) {
      sync.standingChanged(isOpen);
      siteSettings.retryNow();
      house.mirror?.retryNow();
      if (!isOpen) return;
      house.catalogue?.retryNow();
      house.devices?.retryNow();
    },
  });
  const sync = createArmingSync({
    ...{ place, memory, clock, log, metrics, idSpace, site: port, standing },
    api: cloud.api,
    form: section.dialect.arming_status_form,
    speaks: settings.bridge.role === 'primary',
  });
  const siteSettings = createSiteSettings({
    ...{ manage: cloud.manage, standing, place, site: port, memory, log },
    onSite: (read) => house.mirror?.siteRead(read),
  });
  return {
    name: 'arming',
    async start(signal) {
      await standing.load();
      await sync.start(signal);
      await siteSettings.start(signal);
    },
    async stop() {
      standing.stop();
      await Promise.all([sync.stop(), siteSettings.stop()]);
      await cloud.close();
    },
    siteChanged: sync.siteChanged,
    retryNow() {
      sync.retryNow();
      siteSettings.retryNow();
    },
    shown() {
      const { state } = standing.shown();
      const isLost = state === 'deleted' || state === 'withdrawn';
      return { ...sync.shown(), settings: siteSettings.shown(), ...(isLost && { reason: lostText[state] }) };
    },
    standing,
    health(): Health {
      const [one, other] = [sync.health(), siteSettings.health()];
      const facts = { ...other.facts, ...one.facts };
      const wrong = [one, other].find(({ state }) => state !== 'ok');
      if (wrong === undefined) return { state: 'ok', facts };
      return { state: wrong.state, facts, ...(wrong.reason !== undefined && { reason: wrong.reason }) };
    },
  };
}

const siteOf = (house: House): SyncPort => ({
  view: () => viewOf(house),
  submit: (command, reply) => running(house, 'controller').submit(command, reply),
  tell: async (news) => running(house, 'controller').tell(news),
  signals: tellCore(house),
});
