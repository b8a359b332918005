import { z } from 'zod';
import { auditMembers } from '#site/model/index.ts';
import type { Publisher } from './publisher.ts';
import { time } from './schemas.ts';

/** A line of the audit log, as `siteward audit show --json` prints it for whoever is no auditor. */
export const auditLine = z.strictObject({ at: time, ...auditMembers });
export type AuditLine = z.infer<typeof auditLine>;

/** Some lines behind a place, oldest first; `place` is where the next reading begins. */
export interface AuditPage {
  readonly lines: readonly { readonly place: number; readonly line: AuditLine }[];
  readonly place: number;
}

export const auditEveryMs = 1000;
/** Lines a second at most; what is more waits in the log. */
const pageSize = 100;

/**
 * New lines of the audit log, from the start of this on. What the broker has not acknowledged is told with the next connection: it
 * waits in the log and nowhere else, and may be told twice.
 */
export function createAuditFeed(options: {
  readonly root: string;
  readonly publisher: Publisher;
  /** Undefined while the log cannot be read. */
  readonly read: (after: number | undefined, limit: number) => Promise<AuditPage | undefined>;
  readonly isConnected: () => boolean;
}): () => Promise<void> {
  const { root, publisher, read, isConnected } = options;
  let place: number | undefined;
  return async () => {
    if (place !== undefined && !isConnected()) return;
    const page = await read(place, pageSize);
    if (page === undefined || (place !== undefined && !isConnected())) return;
    const topic = `${root}/log/audit`;
    const sent = page.lines.map(({ line }) =>
      publisher.deliver({ topic, payload: JSON.stringify(line), qos: 1, retain: false }),
    );
    const lost = (await Promise.all(sent)).indexOf(false);
    place = lost === -1 ? page.place : (page.lines[lost - 1]?.place ?? place);
  };
}
