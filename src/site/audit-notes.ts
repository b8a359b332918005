import { sha256 } from '#lib/digest.ts';
import { type Asker, type AuditDraft, localAsker, type SitePlan, type UserRole } from './model/index.ts';

export type ConfigAction = 'config_saved' | 'cloud_forgotten';
export type UserChange = 'user_added' | 'user_removed' | 'user_code_changed';

/** Numbers of events that stand in one entry. */
const named = 20;

/** Whoever may open the control socket is all that is known of who asked there. */
const who = ({ source, client, address }: Asker): Pick<AuditDraft, 'source' | 'client_id' | 'actor_ref'> =>
  address === undefined ? { source, client_id: client } : { source, client_id: address, actor_ref: client };

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

  userAdded: (by: Asker, user: { readonly id: string; readonly role: UserRole }): AuditDraft => ({
    ...who(by),
    kind: 'config',
    target: `user ${user.id}`,
    action: 'user_added',
    outcome: 'done',
    after: user.role,
  }),

  userRemoved: (by: Asker, id: string): AuditDraft => ({
    ...who(by),
    kind: 'config',
    target: `user ${id}`,
    action: 'user_removed',
    outcome: 'done',
  }),

  userCode: (by: Asker, id: string): AuditDraft => ({
    ...who(by),
    kind: 'config',
    target: `user ${id}`,
    action: 'user_code_changed',
    outcome: 'done',
  }),

  /** A change of a user that was refused; `reason` is the code of the error. */
  userRefused: (by: Asker, id: string, action: UserChange, reason: string): AuditDraft => ({
    ...who(by),
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

  /** Somebody changed the configuration file over the LAN API; the sections alone, no value of them. */
  configSaved: (by: Asker, action: ConfigAction, sections: readonly string[], taken: boolean): AuditDraft => ({
    ...who(by),
    ...{ kind: 'config', target: 'configuration', action, outcome: 'done' },
    ...{ after: sections.join(' ').slice(0, 200), ...(!taken && { reason: 'not taken' }) },
  }),

  /** Nothing was written; `reason` is the code of the error. */
  configRefused: (by: Asker, action: ConfigAction, sections: readonly string[], reason: string): AuditDraft => ({
    ...who(by),
    ...{ kind: 'refusal', target: 'configuration', action, outcome: 'refused', reason },
    after: sections.join(' ').slice(0, 200),
  }),

  /** Parked events were put back in line, or given up. */
  outbox: (by: Asker, action: 'outbox_retry' | 'outbox_drop', seqs: readonly number[], count: number): AuditDraft => ({
    ...who(by),
    kind: 'command',
    target: 'outbox',
    action,
    outcome: 'done',
    after: `${count} of ${seqs.slice(0, named).join(' ')}${seqs.length > named ? ' ...' : ''}`,
  }),

  /** Somebody had the cloud told of the devices of the site; `reason` is the code of the error where it was not done. */
  devicesSynced: (by: Asker, result: string, reason?: string): AuditDraft => ({
    ...who(by),
    ...{ kind: 'command', target: 'devices', action: 'cloud_devices_sync' },
    ...(reason === undefined ? { outcome: 'done' } : { outcome: 'failed', reason }),
    ...(result !== '' && { after: result.slice(0, 200) }),
  }),

  /** Somebody changed something of the site in the cloud by hand; ids and names of members alone, no value of them. */
  cloudChanged: (
    by: Asker,
    change: {
      readonly action: string;
      readonly site: string | null;
      readonly ids: readonly string[];
      readonly members: readonly string[];
      readonly outcome: string;
      readonly reason?: string | undefined;
    },
  ): AuditDraft => ({
    ...who(by),
    ...{ kind: 'config', action: `cloud_${change.action}`, outcome: change.outcome },
    target: [`cloud site ${change.site ?? 'new'}`, ...change.ids].join(' ').slice(0, 200),
    ...(change.reason !== undefined && { reason: change.reason }),
    ...(change.members.length > 0 && { after: change.members.join(' ').slice(0, 200) }),
  }),

  /** Devices and recorders of these external ids were created, changed or put together in the cloud, also by siteward itself. */
  devicesTold: (ids: readonly string[]): AuditDraft => ({
    ...{ kind: 'config', source: 'daemon', target: 'devices', action: 'cloud_devices_told', outcome: 'done' },
    after: `${ids.slice(0, named).join(' ')}${ids.length > named ? ' ...' : ''}`.slice(0, 200),
  }),

  /** A client of the LAN asked the service to send somebody. */
  dispatch: (by: Asker, kind: string, outcome: string): AuditDraft => ({
    ...who(by),
    kind: 'command',
    target: 'site',
    action: `dispatch_${kind}`,
    outcome,
  }),

  /**
   * A picture was asked for by hand; `reason` is the code of the error where none
   * came. That none may be taken (safety 11) is a refusal.
   */
  picture: (by: Asker, camera: string, reason?: string): AuditDraft => ({
    ...who(by),
    kind: reason === 'camera_refused' ? 'refusal' : 'command',
    target: `camera ${camera}`,
    action: 'snapshot',
    ...(reason === undefined
      ? { outcome: 'done' }
      : { outcome: reason === 'camera_refused' ? 'refused' : 'failed', reason }),
  }),

  /**
   * A device at this address was asked what it is; `reason` is the code of the error where it did not tell. That such an
   * address is not asked is a refusal.
   */
  inspected: (by: Asker, address: string, reason?: string): AuditDraft => ({
    ...who(by),
    kind: reason === 'request_invalid' ? 'refusal' : 'command',
    target: `address ${address}`.slice(0, 200),
    action: 'camera_inspect',
    ...(reason === undefined
      ? { outcome: 'done' }
      : { outcome: reason === 'request_invalid' ? 'refused' : 'failed', reason }),
  }),

  /** A message was asked for, ended, imported or removed; `by` as in a playback. */
  audio: (action: string, by: string | Asker, target: string, refused?: string, after?: string): AuditDraft => ({
    ...askedBy(by),
    kind: refused === undefined ? 'command' : 'refusal',
    ...{ target: target.slice(0, 200), action: `audio_${action}` },
    ...(refused === undefined ? { outcome: 'done' } : { outcome: 'refused', reason: refused }),
    ...(after !== undefined && { after: after.slice(0, 200) }),
  }),

  /** A document for whoever helps from afar was given out. */
  bundle: (by: Asker): AuditDraft => ({
    ...who(by),
    kind: 'export',
    target: 'support bundle',
    action: 'export',
    outcome: 'done',
  }),

  /** For a time more is logged; `what` names levels and parts. */
  logLevels: (by: Asker, what: string): AuditDraft => ({
    ...who(by),
    kind: 'config',
    target: 'log',
    action: 'log_level',
    outcome: 'done',
    after: what.slice(0, 200),
  }),

  /** A client of the LAN watches what a bridge says; for no minutes: not any more. */
  rawWatched: (panel: string, minutes: number, client: string): AuditDraft => ({
    ...{ source: 'lan', client_id: client, kind: 'command', target: `panel ${panel}`, action: 'watch' },
    ...{ outcome: 'done', after: `${minutes} minutes` },
  }),

  /** So many of an event's pictures and clips were given out (safety 11). */
  mediaExported: (by: Asker, event: number, count: number, of: number): AuditDraft => ({
    ...who(by),
    kind: 'export',
    target: `media of event ${event}`,
    action: 'export',
    outcome: 'done',
    after: `${count} of ${of}`,
  }),

  /** None was given out; `reason` is the code of the error. */
  mediaRefused: (by: Asker, event: number, reason: string): AuditDraft => ({
    ...who(by),
    kind: 'refusal',
    target: `media of event ${event}`,
    action: 'export',
    outcome: 'refused',
    reason,
  }),

  /** Another certificate of a camera or recorder was accepted; the log says which. */
  certificate: (by: Asker, device: string, fingerprint: string): AuditDraft => ({
    ...who(by),
    kind: 'config',
    target: `camera ${device}`,
    action: 'certificate_trusted',
    outcome: 'done',
    after: fingerprint,
  }),

  /** Another device at the place of a camera or recorder was accepted. */
  deviceTrusted: (by: Asker, device: string, name: string): AuditDraft => ({
    ...who(by),
    kind: 'config',
    target: `camera ${device}`,
    action: 'device_trusted',
    outcome: 'done',
    after: name,
  }),

  /** A restart or a factory reset was asked for; `reason` is the code of the error where it is not done. */
  danger: (by: Asker, action: 'restart' | 'factory_reset', reason?: string): AuditDraft => ({
    ...who(by),
    kind: reason === undefined ? 'command' : 'refusal',
    target: 'daemon',
    action,
    ...(reason === undefined ? { outcome: 'accepted' } : { outcome: 'refused', reason }),
  }),

  /** In the new log: the one before it is gone with all else. `at`: when it was asked for, ISO time. */
  wasReset: ({ by, at }: { readonly by: string; readonly at: string }): AuditDraft => ({
    kind: 'config',
    source: by === localAsker.client ? localAsker.source : 'lan',
    ...(by === localAsker.client ? { client_id: by } : { actor_ref: by }),
    target: 'daemon',
    action: 'factory_reset',
    outcome: 'done',
    after: `asked for at ${at}`,
  }),

  /** A backup of all that is on the bridge was made. */
  backup: (by: Asker): AuditDraft => ({
    ...who(by),
    kind: 'export',
    target: 'backup',
    action: 'backup',
    outcome: 'done',
  }),

  /** Backups that were made while siteward was stopped. `last`: ISO time. */
  backupsBefore: ({ count, last }: { readonly count: number; readonly last: string }): AuditDraft => ({
    ...auditNotes.backup(localAsker),
    after: `${count} while siteward was stopped, the last at ${last}`,
  }),

  /** In the log of the backup, which goes on from here. `madeAt`: when the backup was made, `at`: when it was put in place, ISO times. */
  restored: ({ madeAt, at }: { readonly madeAt: string; readonly at: string }): AuditDraft => ({
    ...who(localAsker),
    kind: 'config',
    target: 'daemon',
    action: 'restore',
    outcome: 'done',
    after: `at ${at} from a backup of ${madeAt}`,
  }),

  login: (actor: string): AuditDraft => ({
    ...who(localAsker),
    kind: 'login',
    actor_ref: actor,
    target: 'audit',
    action: 'login',
    outcome: 'done',
  }),

  loginRefused: (reason: string, actor?: string): AuditDraft => ({
    ...who(localAsker),
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
    ...who(localAsker),
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

function askedBy(by: string | Asker): Pick<AuditDraft, 'source' | 'client_id' | 'actor_ref'> {
  if (typeof by !== 'string') return who(by);
  if (by === 'local') return who(localAsker);
  if (by.startsWith('schedule:')) return { source: 'schedule', actor_ref: by.slice('schedule:'.length) };
  if (by.startsWith('client:')) return { source: 'lan', client_id: by.slice('client:'.length) };
  return { source: 'lan', actor_ref: by };
}
