import type { Clock } from '#lib/clock.ts';
import { type AuditDraft, localClient } from '#site/model/index.ts';

/** Where a request came from: an address of the network, or the control socket. */
export type From = { readonly address: string } | 'local';

export interface Act {
  readonly action: string;
  readonly from: From;
  /** Account or key that asked, where that is known. Never what somebody typed as a name: it may be a password. */
  readonly actor?: string | undefined;
  /** Default: `access`. */
  readonly target?: string;
  /** Refused, with the reason in a word. */
  readonly reason?: string;
  readonly before?: string | undefined;
  readonly after?: string | undefined;
}

/** As every entry of the log names who asked: an account is no user. */
export const accountRef = (id: string): string => `account:${id}`;
export const keyRef = (id: string): string => `key:${id}`;

/** Of an address as it is given to the ways in; `local` is the control socket. */
export const fromOf = (address: string): From => (address === 'local' ? 'local' : { address });

/** Refusals told one by one within a minute; the next one tells how many were only counted. */
const toldCap = 20;
const windowMs = 60_000;

/** Entries of the audit log: ids and words, no name and no secret; of a secret only that it was changed. */
export function createAudit(note: (entry: AuditDraft) => void, clock: Clock): (act: Act) => void {
  let from = Number.NEGATIVE_INFINITY;
  let told = 0;
  let omitted = 0;

  /** Undefined when it is only counted. */
  function place(): { readonly omitted?: number } | undefined {
    const now = clock.monotonic();
    if (now - from >= windowMs) {
      from = now;
      told = 0;
    }
    if (told >= toldCap) {
      omitted += 1;
      return undefined;
    }
    told += 1;
    const before = omitted;
    omitted = 0;
    return before === 0 ? {} : { omitted: before };
  }

  return (act) => {
    const more = act.reason === undefined ? {} : place();
    if (more !== undefined) note({ ...draftOf(act), ...more });
  };
}

function draftOf({ action, from, actor, target = 'access', reason, before, after }: Act): AuditDraft {
  const kind = reason !== undefined ? 'refusal' : action === 'login' || action === 'logout' ? 'login' : 'config';
  return {
    kind,
    ...(from === 'local'
      ? { source: 'cli', client_id: localClient }
      : { source: 'lan', client_id: from.address.slice(0, 64) }),
    ...(actor !== undefined && { actor_ref: actor }),
    target,
    action,
    ...(reason === undefined ? { outcome: 'done' } : { outcome: 'refused', reason }),
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after: after.slice(0, 200) }),
  };
}
