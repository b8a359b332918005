import type { Mirror } from '#cloud/sync/index.ts';
import type { Settings } from '#config/index.ts';
import type { StatusDocument } from '#lan/http/index.ts';
import { isoTime } from '#site/model/index.ts';
import type { House } from './house.ts';

/**
 * What the cloud says of the site itself, where somebody should do something about it: a bridge that does not count
 * there yet, and another time zone. What was read long ago says nothing of now.
 */
export function siteHints(
  { mirror, devices }: { readonly mirror?: Pick<Mirror, 'site'> | undefined; readonly devices?: House['devices'] },
  { site: { timezone }, cloud }: Pick<Settings, 'site' | 'cloud'>,
  now: number,
): StatusDocument['hints'] {
  const { value, stale, readAt = 0 } = mirror?.site() ?? { stale: true };
  if (value === undefined || stale) return [];
  const hint = (about: string, text: string, values: readonly string[]) => ({
    ...{ device: 'site', about, text, values: [...values], count: 1, last: isoTime(now) },
  });
  const shown = devices?.shown();
  // A site that was read before the bridge was told does not know it yet.
  const isTold = shown?.state === 'in_step' && readAt < (shown.inStepAt ?? 0);
  const bridge =
    value.has_physical_bridge === false && !isTold
      ? [
          hint(
            'cloud bridge',
            `the cloud says that the site has no bridge: ${shown?.state === 'in_step' ? asked : toRegister(cloud?.devices === 'manual')}`,
            [],
          ),
        ]
      : [];
  const zone =
    value.timezone === undefined || value.timezone === timezone
      ? []
      : [
          hint(
            'cloud timezone',
            `${value.timezone === '' ? 'the cloud has no time zone for the site' : 'the cloud has another time zone for the site than site.timezone'}: schedules run by ${timezone} here. Change it there ("siteward site set --timezone ${timezone}"), or site.timezone here`,
            [value.timezone],
          ),
        ];
  return [...bridge, ...zone];
}

const asked =
  'it has this one in its list of devices ("siteward device list") and does not count it; ask the operator of the service';
const toRegister = (isManual: boolean): string =>
  isManual
    ? 'register this one with "siteward device sync"'
    : 'this one is told by itself; "siteward device plan" says what holds it up';
