import type { Say } from './lookup.ts';
import type { Out, Profile, Target } from './profile.ts';

/** What a panel cannot do must not stand among what it can. */
export function checkTraits(profile: Profile, say: Say): void {
  for (const trait of ['change_mode', 'zone_restore'] as const)
    if (profile[trait] === false && profile.caps.includes(trait))
      say('caps', `lists ${trait}, and ${trait} is false: take one of them away`);
  if (profile.zone_open_s !== undefined && profile.zone_restore !== false)
    say('zone_open_s', 'belongs to zone_restore: false');
  checkBypass(profile, say);
}

/** A zone is left out by a command that means just that, of just that zone, and the panel must tell that it did. */
function checkBypass(profile: Profile, say: Say): void {
  const { bypass, unbypass } = profile.out;
  const given = Object.entries({ bypass, unbypass }).flatMap(([name, out]) =>
    out === undefined ? [] : [{ name, out }],
  );
  if (given.length === 0) {
    if (profile.bypass_armed !== undefined) say('bypass_armed', 'belongs to a profile with out.bypass');
    return;
  }
  for (const { name, out } of given)
    if (!namesZone(out)) say(`out.${name}`, 'must hold {zone}: which zone it is about');
  if (!setsField(profile, 'zone', 'bypassed'))
    say(`out.${given[0]?.name}`, 'needs a read for zone that sets bypassed: nothing else confirms it');
  const turns = profile.guard?.toggle === true || (bypass !== undefined && same(bypass, unbypass));
  if (turns) say(`out.${given[0]?.name}`, 'turns the bypass round: siteward sends none like that, take it away');
}

const holdsZone = (part: unknown): boolean => /\{zone(?::number)?\}/.test(JSON.stringify(part) ?? '');

const namesZone = ({ topic, payload, with_code: withCode }: Out): boolean =>
  holdsZone(topic) || (holdsZone(payload) && (withCode === undefined || holdsZone(withCode)));

const same = (one: Out, other: Out | undefined): boolean =>
  other !== undefined &&
  one.topic === other.topic &&
  JSON.stringify([one.payload, one.with_code]) === JSON.stringify([other.payload, other.with_code]);

/** Whether any read for this target can set the field. */
export function setsField({ in: rules }: Profile, about: Target, field: string): boolean {
  return rules
    .flatMap(({ read }) => read)
    .some(({ for: target, set, map, first = [], other }) => {
      if (target !== about) return false;
      const outcomes = [
        other,
        ...first.map(({ value }) => value),
        ...(typeof map === 'object' ? Object.values(map) : []),
      ];
      return set === field || outcomes.some((one) => typeof one === 'object' && one !== null && field in one);
    });
}
