import type { Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';

/** What cannot be undone takes the id of the site, typed. Throws `request_invalid` with `field: confirm`. */
export function mustBeNamed({ site }: Settings, confirm: string): void {
  if (confirm === site.external_id) return;
  throw new SitewardError(
    'request_invalid',
    `type ${site.external_id}, the id of this site, to confirm; nothing was done`,
    { facts: { field: 'confirm' } },
  );
}
