import type { Timing } from './timing.ts';

/**
 * Watches for pull points that are answered well but bring nothing: firmware that forgot what was subscribed to answers
 * empty pulls for ever. The remedy is a new pull point. Times are monotonic milliseconds.
 *
 * Two signs, each worth one remedy per silence:
 * - earlier pull points brought messages within `greetMs` (present states, `Initialized`), this one did not;
 * - nothing came for `silentMs`: a camera that tells present states is first asked for them, which costs one request, and
 *   only when nothing comes within `greetMs` the pull point is made anew. While the silence lasts the next remedies come
 *   after twice that time, four times, up to `silentCapMs`: a camera that sees nothing all night may be quiet and well.
 */
export interface SilenceWatch {
  subscribed(now: number): void;
  heard(now: number): void;
  /** `ask`: for the present states; `anew`: make the pull point anew. Says each once for each sign. */
  due(now: number): 'ask' | 'anew' | undefined;
  /**
   * `yes`: something came on this pull point, or lately; `no`: this pull point did not bring what earlier ones brought
   * at once; `unknown`: the camera is quiet, or does not send present states.
   */
  flowing(now: number): 'yes' | 'no' | 'unknown';
}

export function silenceWatch(timing: Pick<Timing, 'greetMs' | 'silentMs' | 'silentCapMs'>): SilenceWatch {
  const { greetMs, silentMs, silentCapMs } = timing;
  let subscribedAt: number | undefined;
  let heardAt: number | undefined;
  let quietSince = 0;
  let patienceMs = silentMs;
  /** Some pull point of this camera brought messages at once. */
  let greets = false;
  let greetMissed = false;
  let askedAt: number | undefined;
  const heardOnThis = () => heardAt !== undefined && subscribedAt !== undefined && heardAt >= subscribedAt;
  const ungreeted = (now: number) => greets && !heardOnThis() && now - (subscribedAt ?? now) >= greetMs;
  return {
    subscribed(now) {
      if (subscribedAt === undefined) quietSince = now;
      subscribedAt = now;
      askedAt = undefined;
    },
    heard(now) {
      if (!heardOnThis() && now - (subscribedAt ?? now) < greetMs) greets = true;
      heardAt = now;
      quietSince = now;
      patienceMs = silentMs;
      greetMissed = false;
      askedAt = undefined;
    },
    due(now) {
      if (ungreeted(now) && !greetMissed) {
        greetMissed = true;
        return 'anew';
      }
      if (askedAt === undefined && now - quietSince < patienceMs) return undefined;
      if (greets) {
        askedAt ??= now;
        if (askedAt === now) return 'ask';
        if (now - askedAt < greetMs) return undefined;
      }
      quietSince = now;
      patienceMs = Math.min(silentCapMs, patienceMs * 2);
      askedAt = undefined;
      return 'anew';
    },
    flowing(now) {
      if (ungreeted(now)) return 'no';
      return heardOnThis() || (heardAt !== undefined && now - heardAt < silentMs) ? 'yes' : 'unknown';
    },
  };
}
