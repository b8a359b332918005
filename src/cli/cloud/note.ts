import { describe, SitewardError } from '#errors.ts';
import type { CloudChange } from '#lan/http/index.ts';
import { answered, openControl } from '../control.ts';

/** What of a change goes into the audit log of this box: which thing, never how it is called. */
export type Noted = Pick<CloudChange, 'action' | 'site_id'> & { readonly ids?: readonly string[] };

/** The log has room for so many; what comes above is not named. */
const idCap = 20;
const noteMs = 6_000;

/**
 * Has a change that was made in the cloud by hand written into the audit log. Only the daemon writes that; without it the change
 * is made all the same, and it is said that nobody will read of it here.
 */
export async function noteInAudit(
  socket: string,
  { action, site_id, ids = [] }: Noted,
  members: readonly string[],
  error?: unknown,
): Promise<void> {
  try {
    await using control = openControl(socket);
    const body: CloudChange = {
      ...{ action, site_id: site_id === null ? null : plain(site_id) },
      ids: ids.slice(0, idCap).map(plain),
      members: members.filter((name) => /^[a-z_\d]{1,40}$/.test(name)).slice(0, idCap),
      ...resultOf(error),
    };
    answered(await control.client.noteCloudChange({ body, signal: AbortSignal.timeout(noteMs) }));
  } catch (why) {
    console.error(`siteward: this is not in the audit log of the box, which the daemon writes: ${describe(why)}`);
  }
}

/** Makes the change, and has it in the audit log whatever came of it; with the id of what was made. */
export async function noting<T>(
  socket: string,
  { members, madeId, ...noted }: Noted & { readonly members: readonly string[]; readonly madeId?: (made: T) => string },
  change: () => Promise<T>,
): Promise<T> {
  const made = await change().catch(async (error: unknown) => {
    await noteInAudit(socket, noted, members, error);
    throw error;
  });
  await noteInAudit(socket, madeId === undefined ? noted : { ...noted, ids: [madeId(made)] }, members);
  return made;
}

/** Without an answer it may be done. */
const unsure: readonly string[] = ['cloud_outcome_unknown', 'cloud_unreachable'];

function resultOf(error: unknown): Pick<CloudChange, 'outcome' | 'reason'> {
  if (error === undefined) return { outcome: 'done' };
  const reason = error instanceof SitewardError ? error.code : 'internal';
  return { outcome: unsure.includes(reason) ? 'unknown' : 'failed', reason };
}

/** As the operation takes an id; one of the cloud may be anything. */
const plain = (id: string): string => id.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 64) || '?';
