import type { StatusDocument } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';

/** A thousand may ask in a second; what is not arming (health, counts) may be so old. */
const sharedMs = 50;

/**
 * One document for all who ask at about the same time. Whoever asks after the arming of a partition was published as another gets one
 * that was made since: nobody is shown the site as it was before his command was answered.
 *
 * `news`: how often something was published; undefined while nobody counts, and then each gets his own. `arming`: the partitions as
 * everybody may see them. News of which nobody may know make no new document, whose time would tell of them (safety 4).
 */
export function sharedStatus(
  make: () => Promise<StatusDocument>,
  { clock, news, arming }: { clock: Clock; news: () => number | undefined; arming: () => string },
): () => Promise<StatusDocument> {
  let shared: { readonly document: Promise<StatusDocument>; readonly arming: string; readonly at: number } | undefined;
  let known: number | undefined;

  return async () => {
    const [now, latest] = [clock.monotonic(), news()];
    if (latest === undefined) return make();
    const isYoung = shared !== undefined && now - shared.at < sharedMs;
    if (shared !== undefined && isYoung && (latest === known || arming() === shared.arming)) {
      known = latest;
      return shared.document;
    }
    // It may throw, and then nothing must be under way that nobody waits for.
    const seen = arming();
    const document = make();
    known = latest;
    shared = { document, arming: seen, at: now };
    // A failure is told to those who wait for it, and to nobody else.
    document.catch(() => {
      if (shared?.document === document) shared = undefined;
    });
    return document;
  };
}
