import { sha256 } from '#lib/digest.ts';
import { type AuditDraft, localClient, type SitePlan, type UserRole } from './model/index.ts';

export type UserChange = 'user_added' | 'user_removed' | 'user_code_changed';

/** Numbers of events that stand in one entry. */
const named = 20;

/** Who asked on this machine: whoever may open the control socket is all that is known. */
const local = { source: 'cli', client_id: localClient } as const;

/**
 * Entries of the audit log for what no decision of the core tells. References only: no codes, and no names, so that the
 * log can be handed out (safety 10 and 11).
 */
export const auditNotes = {
  /** None where both say the same. */
  planChanged(from: SitePlan, to: SitePlan): readonly AuditDraft[] {
    const [before, after] = [digest(from), digest(to)];
    if (before === after) return [];
    return [{ kind: 'config', source: 'config', target: 'site', action: 'plan', before, after }];
  },

  userAdded: (user: { readonly id: string; readonly role: UserRole }): AuditDraft => ({
    ...local,
    kind: 'config',
    target: `user ${user.id}`,
    action: 'user_added',
    outcome: 'done',
    after: user.role,
  }),

  userRemoved: (id: string): AuditDraft => ({
    ...local,
    kind: 'config',
    target: `user ${id}`,
    action: 'user_removed',
    outcome: 'done',
  }),

  userCode: (id: string): AuditDraft => ({
    ...local,
    kind: 'config',
    target: `user ${id}`,
    action: 'user_code_changed',
    outcome: 'done',
  }),

  /** A change of a user that was refused; `reason` is the code of the error. */
  userRefused: (id: string, action: UserChange, reason: string): AuditDraft => ({
    ...local,
    kind: 'refusal',
    target: `user ${id}`,
    action,
    outcome: 'refused',
    reason,
  }),

  /** A code that somebody has and that does not count now; whose it is nobody but the log is told. */
  codeUnfit: (user: string, why: string): AuditDraft => ({
    kind: 'refusal',
    source: 'codes',
    actor_ref: user,
    target: 'codes',
    action: 'code',
    outcome: 'refused',
    reason: why,
  }),

  /** The configuration was read again; `swapped` are the parts that were made anew, `reason` why it was not taken. */
  reloaded: ({ swapped, reason }: { swapped?: readonly string[]; reason?: string }): AuditDraft => ({
    kind: 'config',
    source: 'config',
    target: 'daemon',
    action: 'reload',
    ...(reason === undefined ? { outcome: 'done' } : { outcome: 'refused', reason }),
    ...(swapped !== undefined && { after: swapped.join(' ').slice(0, 200) }),
  }),

  /** Parked events were put back in line, or given up. */
  outbox: (action: 'outbox_retry' | 'outbox_drop', seqs: readonly number[], count: number): AuditDraft => ({
    ...local,
    kind: 'command',
    target: 'outbox',
    action,
    outcome: 'done',
    after: `${count} of ${seqs.slice(0, named).join(' ')}${seqs.length > named ? ' ...' : ''}`,
  }),

  /** A client of the LAN asked the service to send somebody. */
  dispatch: (kind: string, client: string, outcome: string): AuditDraft => ({
    kind: 'command',
    source: 'lan',
    client_id: client,
    target: 'site',
    action: `dispatch_${kind}`,
    outcome,
  }),

  /**
   * A picture was asked for by hand, on this machine or by a client of the LAN; `reason` is the code of the error where none
   * came. That none may be taken (safety 11) is a refusal.
   */
  picture: (camera: string, reason?: string, client?: string): AuditDraft => ({
    ...(client === undefined ? local : { source: 'lan', client_id: client }),
    kind: reason === 'camera_refused' ? 'refusal' : 'command',
    target: `camera ${camera}`,
    action: 'snapshot',
    ...(reason === undefined
      ? { outcome: 'done' }
      : { outcome: reason === 'camera_refused' ? 'refused' : 'failed', reason }),
  }),

  /** A message was asked for, ended, imported or removed; `by` as in a playback. */
  audio: (action: string, by: string, target: string, refused?: string, after?: string): AuditDraft => ({
    ...askedBy(by),
    kind: refused === undefined ? 'command' : 'refusal',
    ...{ target: target.slice(0, 200), action: `audio_${action}` },
    ...(refused === undefined ? { outcome: 'done' } : { outcome: 'refused', reason: refused }),
    ...(after !== undefined && { after: after.slice(0, 200) }),
  }),

  /** A client of the LAN watches what a bridge says; for no minutes: not any more. */
  rawWatched: (panel: string, minutes: number, client: string): AuditDraft => ({
    ...{ source: 'lan', client_id: client, kind: 'command', target: `panel ${panel}`, action: 'watch' },
    ...{ outcome: 'done', after: `${minutes} minutes` },
  }),

  /** So many of an event's pictures and clips were given out (safety 11). */
  mediaExported: (event: number, count: number, of: number): AuditDraft => ({
    ...local,
    kind: 'export',
    target: `media of event ${event}`,
    action: 'export',
    outcome: 'done',
    after: `${count} of ${of}`,
  }),

  /** None was given out; `reason` is the code of the error. */
  mediaRefused: (event: number, reason: string): AuditDraft => ({
    ...local,
    kind: 'refusal',
    target: `media of event ${event}`,
    action: 'export',
    outcome: 'refused',
    reason,
  }),

  /** Another certificate of a camera or recorder was accepted; the log says which. */
  certificate: (device: string, fingerprint: string): AuditDraft => ({
    ...local,
    kind: 'config',
    target: `camera ${device}`,
    action: 'certificate_trusted',
    outcome: 'done',
    after: fingerprint,
  }),

  /** Another device at the place of a camera or recorder was accepted. */
  deviceTrusted: (device: string, name: string): AuditDraft => ({
    ...local,
    kind: 'config',
    target: `camera ${device}`,
    action: 'device_trusted',
    outcome: 'done',
    after: name,
  }),

  login: (actor: string): AuditDraft => ({
    ...local,
    kind: 'login',
    actor_ref: actor,
    target: 'audit',
    action: 'login',
    outcome: 'done',
  }),

  loginRefused: (reason: string, actor?: string): AuditDraft => ({
    ...local,
    kind: 'refusal',
    target: 'audit',
    action: 'login',
    outcome: 'refused',
    reason,
    ...(actor !== undefined && { actor_ref: actor }),
  }),

  retainedRefused: (verb: string): AuditDraft => ({
    kind: 'refusal',
    source: 'lan',
    target: 'mqtt',
    action: verb,
    outcome: 'refused',
    reason: 'RETAINED',
  }),

  /** `head`: hash of the last entry in it. */
  exported: (what: 'audit' | 'inputs', more: { readonly actor?: string; readonly head?: string }): AuditDraft => ({
    ...local,
    kind: 'export',
    target: what,
    action: 'export',
    outcome: 'done',
    ...(more.actor !== undefined && { actor_ref: more.actor }),
    ...(more.head !== undefined && { after: more.head }),
  }),
} as const;

/** Tells two plans apart and nothing else: names of zones and partitions stay out of the chain (safety 11). */
const digest = (plan: SitePlan): string => sha256(JSON.stringify(plan));

function askedBy(by: string): Pick<AuditDraft, 'source' | 'client_id' | 'actor_ref'> {
  if (by === 'local') return local;
  if (by.startsWith('schedule:')) return { source: 'schedule', actor_ref: by.slice('schedule:'.length) };
  if (by.startsWith('client:')) return { source: 'lan', client_id: by.slice('client:'.length) };
  return { source: 'lan', actor_ref: by };
}
