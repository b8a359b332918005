import type { Say } from './lookup.ts';
import type { Profile } from './profile.ts';

/** What a panel cannot do must not stand among what it can. */
export function checkTraits(profile: Profile, say: Say): void {
  for (const trait of ['change_mode', 'zone_restore'] as const)
    if (profile[trait] === false && profile.caps.includes(trait))
      say('caps', `lists ${trait}, and ${trait} is false: take one of them away`);
  if (profile.zone_open_s !== undefined && profile.zone_restore !== false)
    say('zone_open_s', 'belongs to zone_restore: false');
}
