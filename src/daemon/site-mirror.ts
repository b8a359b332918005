import type { Registry } from 'prom-client';
import { partnerPlace } from '#box/partner.ts';
import { createMirror, createMirrorKeeper, type Mirror, removeMirror } from '#cloud/sync/index.ts';
import type { Settings } from '#config/index.ts';
import { describe } from '#errors.ts';
import type { KeptContacts, MirrorPort, SiteMirror } from '#lan/http/index.ts';
import { isoTime } from '#site/model/index.ts';
import { cloudClient } from './cloud.ts';
import { credentialFile } from './credential-file.ts';
import type { House, Surroundings } from './house.ts';

export const mirrorWants = ({ cloud, store, site }: Settings): unknown => [cloud, store.dir, site.id, site.dealer_id];

/**
 * What is kept of the site in the cloud, read over connections of its own. Where the configuration names no way to it, what was kept
 * is removed: nobody could keep it true, and it has telephone numbers of people.
 */
export function siteMirror(
  settings: Settings,
  metrics: Registry,
  { house, clock, quality, log: logOf }: Surroundings,
): Mirror | undefined {
  const log = logOf('mirror');
  const { dir } = settings.store;
  const way = partnerPlace(settings);
  if (typeof way === 'string') {
    void removeMirror(dir).catch((error: unknown) =>
      log.error({ reason: describe(error) }, 'what was kept of the site in the cloud cannot be removed'),
    );
    return undefined;
  }
  const { section, place } = way;
  const cloud = cloudClient(section, { clock, quality, log });
  const of = JSON.stringify([section.base_url, place.dealerId, place.siteId]);
  const mirror = createMirror({
    ...{ manage: cloud.manage, place, clock, log, metrics },
    keeper: createMirrorKeeper({ dir, credential: credentialFile('cloud-mirror-key'), of, log }),
    standing: () => house.arming?.standing,
  });
  return {
    ...mirror,
    async stop() {
      await mirror.stop();
      await cloud.close();
    },
  };
}

/** For the rooms of the LAN, whichever part serves at the moment. */
export function mirrorPort(house: House, settings: () => Settings): MirrorPort {
  return {
    site: () => siteOf(house, settings()),
    contacts(): KeptContacts {
      const kept = house.mirror?.contacts();
      return { ...shownAge(kept), left_out: kept?.leftOut ?? 0, items: [...(kept?.items ?? [])] };
    },
  };
}

function siteOf(house: House, settings: Settings): SiteMirror {
  const way = partnerPlace(settings);
  const standing = house.arming?.standing.shown();
  const [site, stations, contacts] = [house.mirror?.site(), house.mirror?.stations(), house.mirror?.contacts()];
  return {
    state: typeof way === 'string' ? 'off' : (standing?.state ?? 'unknown'),
    ...(typeof way === 'string' && { reason: way }),
    ...(standing?.since !== undefined && { since: isoTime(standing.since) }),
    site: { ...shownAge(site), ...site?.value },
    stations: { ...shownAge(stations), left_out: stations?.leftOut ?? 0, items: [...(stations?.items ?? [])] },
    contacts: { ...shownAge(contacts), count: contacts?.items.length ?? 0 },
  };
}

const shownAge = (age: { readonly readAt?: number; readonly stale: boolean } | undefined) => ({
  read_at: age?.readAt === undefined ? null : isoTime(age.readAt),
  stale: age?.stale ?? true,
});
