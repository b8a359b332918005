import type { SiteEvent } from '#site/model/index.ts';

/**
 * Silent hold-up and duress change nothing anyone on the LAN can see (safety 4): such events are not published nor
 * listed, and a silent hold-up zone has no topics and stands in no list.
 */

const silentKinds: readonly string[] = ['panic_silent', 'duress'];
/** Contact ID 121 duress, 122 silent hold-up. */
const silentContactIds: readonly string[] = ['121', '122'];

export function isSilent(event: SiteEvent): boolean {
  return (
    silentKinds.includes(event.kind) ||
    event.data.zone_type === 'panic_silent' ||
    (event.contact_id !== undefined && silentContactIds.includes(event.contact_id))
  );
}
