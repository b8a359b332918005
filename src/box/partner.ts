import type { Settings } from '#config/index.ts';

/** The way to this site over the partner interface, or what the configuration lacks for it. */
export function partnerPlace({ cloud, site }: Pick<Settings, 'cloud' | 'site'>) {
  if (cloud === undefined) return 'there is no cloud in the configuration';
  if (cloud.partner === undefined) return 'cloud.partner is missing in the configuration';
  if (site.dealer_id === undefined) return 'site.dealer_id is missing in the configuration';
  return { section: cloud, place: { dealerId: site.dealer_id, siteId: site.id } };
}
