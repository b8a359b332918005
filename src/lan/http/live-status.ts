import { sseBytes } from '#lib/sse.ts';
import type { StatusDocument } from './schemas.ts';
import type { StreamClient } from './stream-client.ts';

/** One that listens to the state document. */
export interface StatusFollower {
  readonly client: StreamClient;
  /** The document it was given last, without what moves with the time. */
  status: string;
}

/** Gives the document to those who do not know it yet. */
export function showStatus(status: StatusDocument, followers: readonly StatusFollower[]): void {
  const [text, message] = [comparable(status), sseBytes({ event: 'status', data: status })];
  for (const follower of followers) {
    if (follower.status === text) continue;
    follower.status = text;
    follower.client.set('status', message);
  }
}

/** The document that a stream begins with. */
export function beginStatus(status: StatusDocument, follower: StatusFollower): void {
  follower.client.add(sseBytes({ event: 'status', data: status }));
  follower.status = comparable(status);
}

/** Without what moves with the time alone; the oldest that waits changes with the counts, but for a rounding of the clock. */
function comparable({ uptime_s: _uptime, clock, outbox, hints, parts, ...rest }: StatusDocument): string {
  return JSON.stringify({
    ...{ ...rest, clock: clock.quality, outbox: outbox && { ...outbox, oldest: null } },
    // What holds still was seen now.
    hints: hints.map(({ last: _last, ...hint }) => hint),
    parts: parts.map(({ facts, ...part }) => ({ ...part, facts: facts && { ...facts, perMin: null } })),
  });
}
