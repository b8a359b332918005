import type { AuthorityState, SecurityType, SitePlan } from '#site/model/index.ts';
import { audit } from './audit.ts';
import { localEvent } from './events.ts';
import type { SiteState } from './types.ts';
import type { Work } from './work.ts';

/**
 * Who decides the arming. The plan says it from the configuration; the cloud or a technician may say
 * otherwise, and that outlives the process. A change waits until every partition is known to be disarmed, unless a
 * technician confirms it while armed.
 */

/** The plan as it is in force: with the security type that was decided, whatever the configuration would derive. */
export function planInForce(plan: SitePlan, { authority }: Pick<SiteState, 'authority'>): SitePlan {
  const securityType = authority?.securityType ?? plan.securityType;
  if (securityType === plan.securityType) return plan;
  return {
    ...plan,
    securityType,
    partitions: plan.partitions.map((partition) => ({
      ...partition,
      authority: securityType === 4 ? 'external' : partition.panel === undefined ? 'engine' : 'panel',
    })),
  };
}

/** As `planInForce`, but the same object until another is in force: whoever shows the site draws it anew for another one. */
export function plansInForce(): typeof planInForce {
  let of: SitePlan | undefined;
  let last: SitePlan | undefined;
  return (plan, state) => {
    const next = planInForce(plan, state);
    if (plan !== of || next.securityType !== last?.securityType) last = next;
    of = plan;
    return last;
  };
}

/**
 * What a plan that is taken over means for the authority: one that fixes another type than is in force asks for it, one
 * that fixes none leaves what the cloud or a technician said. Nothing changes before `settleAuthority`.
 */
export function adoptAuthority(plan: SitePlan, state: SiteState): AuthorityState | undefined {
  const { authority } = state;
  const derived = { securityType: plan.securityType, by: 'config' } as const;
  if (authority === undefined) return plan.securityTypeFixed === true ? derived : undefined;
  const isOurs = plan.securityTypeFixed === true || authority.by === 'config';
  if (!isOurs) return authority;
  const { securityType, by } = authority;
  if (securityType === plan.securityType) return derived;
  return { securityType, by, asked: derived };
}

/** The cloud or a technician wants another type. What is in force already withdraws an earlier wish. */
export function askForType(
  work: Work,
  wish: {
    readonly securityType: SecurityType;
    readonly by: 'cloud' | 'cli';
    readonly whileArmed: boolean;
    readonly actor?: string;
  },
): void {
  const { securityType, by, actor } = wish;
  // What a technician wrote into the configuration only a technician changes.
  if (by === 'cloud' && work.plan.securityTypeFixed === true) return;
  const before = work.state.authority ?? { securityType: work.plan.securityType, by: 'config' as const };
  const { asked: _, ...inForce } = before;
  const same = before.securityType === securityType;
  const authority: AuthorityState = same ? { securityType, by } : { ...inForce, asked: { securityType, by } };
  work.state = { ...work.state, authority };
  if (!same) note(work, { by, actor, outcome: 'accepted', from: before.securityType, to: securityType });
  if (!same && wish.whileArmed) change(work, actor);
}

/** After each decision: what was asked for is done as soon as nothing is armed. */
export function settleAuthority(work: Work): void {
  if (work.state.authority?.asked === undefined) return;
  const isSafe = Object.values(work.state.partitions).every(
    ({ owner, state, stale }) => owner === 'external' || (state === 'disarmed' && !stale),
  );
  if (isSafe) change(work);
}

/** `actor`: who confirmed it while armed. */
function change(work: Work, actor?: string): void {
  const { authority } = work.state;
  if (authority?.asked === undefined) return;
  const { asked } = authority;
  work.state = { ...work.state, authority: asked };
  note(work, { by: asked.by, actor, outcome: 'done', from: authority.securityType, to: asked.securityType });
  localEvent(work, {
    class: 'system',
    kind: 'security_type',
    source: asked.by,
    detail: `Security type ${authority.securityType} became ${asked.securityType}.`,
  });
}

function note(
  work: Work,
  {
    by,
    actor,
    outcome,
    from,
    to,
  }: { by: string; actor: string | undefined; outcome: string; from: SecurityType; to: SecurityType },
): void {
  audit(work, {
    kind: 'config',
    source: by,
    actor_ref: actor,
    target: 'site',
    action: 'security_type',
    outcome,
    before: String(from),
    after: String(to),
  });
}
