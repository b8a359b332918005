import type { Health } from '#lib/health.ts';
import { ok } from '#lib/health.ts';
import type { CloudStatus, SiteStatus, SyncState } from '#site/core/index.ts';
import type { SettingsShown } from './site-settings.ts';

/** The two-way sync as a technician sees it. */
export interface ArmingSyncShown {
  /** `mirror`: the cloud is only read. */
  readonly mode: 'two-way' | 'mirror';
  readonly cloud: CloudStatus | 'unknown';
  readonly site: SiteStatus;
  /** The cloud is known to hold what is true. */
  readonly agreed: boolean;
  /** Why not, and what to do. */
  readonly reason?: string;
  readonly settings?: SettingsShown;
}

const complaints: Readonly<Record<NonNullable<SyncState['complaint']>, string>> = {
  body: 'the cloud does not take the arming status in this form; set cloud.dialect.arming_status_form',
  gone: 'the cloud does not know this site; compare site.id and site.dealer_id, or the site was removed. It is protected as before',
  refused: 'the cloud permits nothing on the arming status; check cloud.partner and whether the dealer is connected',
  unreadable: 'the arming status of the cloud cannot be understood; it counts as unknown, never as disarmed',
};

/** The sentence for a complaint of the sync. */
export const complaintText = (what: NonNullable<SyncState['complaint']>): string => complaints[what];

/** Reads that fail in a row before that is a matter of health: the link has its own trouble. */
const failuresTold = 5;

export function shownOf(state: SyncState | undefined): ArmingSyncShown {
  const reason = state === undefined ? undefined : reasonOf(state);
  return {
    mode: state?.external === true ? 'mirror' : 'two-way',
    cloud: state?.seen?.value ?? 'unknown',
    site: state?.local?.status ?? 'unknown',
    agreed: state !== undefined && state.local !== null && !state.owed && state.acked === state.local.seq,
    ...(reason !== undefined && { reason }),
  };
}

function reasonOf({ complaint, readFailures, owed, external }: SyncState): string | undefined {
  if (complaint !== null) return complaintText(complaint);
  if (readFailures >= failuresTold)
    return 'the cloud cannot be reached; the site is protected, and the truth goes up when it can';
  return owed && !external ? 'the cloud has still to be told' : undefined;
}

export function syncHealth(state: SyncState | undefined, hasFailed: boolean): Health {
  if (state === undefined) return ok();
  const { cloud, site, agreed, mode } = shownOf(state);
  const facts = { cloud, site, agreed, mode };
  const told = state.complaint !== null || state.readFailures >= failuresTold ? reasonOf(state) : undefined;
  const reason =
    told ?? (hasFailed ? 'a step of the arming sync failed and it went on; see the log, and report it' : undefined);
  return reason === undefined ? ok(facts) : { state: 'degraded', reason, facts };
}
