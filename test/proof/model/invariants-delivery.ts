import type { Accepted } from '../../harness/cloud.ts';
import { type Entry, entriesOf, type History, type Put } from './history.ts';
import { putsOf } from './invariants-store.ts';
import { blameOf, comparisonsOf, restsOrigin, waitsAlone } from './suspects.ts';
import { type Try, triesOf } from './tries.ts';

/**
 * The first sending fixes the time of an event whose clock was in doubt by an anchor on disk. Until the anchors of a
 * damaged `site.db` have been brought back a new one takes their place, and gives another time. The first sending may fall
 * into that moment, too: in the life that begins with the damage.
 */
export function oneBodyPerId(history: History): readonly string[] {
  const { entries, final } = history;
  const puts = new Map(putsOf(history).map((put) => [put.eventId, put]));
  const tries = triesOf(history);
  return final.accepted
    .filter(({ event_id, identical }) => {
      if (identical) return false;
      const own = tries.get(event_id) ?? [];
      const [from = 0, to = 0] = [own[0]?.postAt, own.at(-1)?.postAt];
      const life = entries.findLastIndex(({ what }, at) => at < from && what === 'life');
      const began = entries.findLastIndex(({ what }, at) => at < life && what === 'step');
      const lostAnchors = entries
        .slice(Math.max(0, began), to)
        .some((entry) => entry.what === 'step' && entry.step.do === 'corrupt' && entry.step.file === 'site');
      return puts.get(event_id)?.clock === 'synced' || !lostAnchors;
    })
    .map(({ event_id, body }) => `${event_id} (seq ${body.payload.seq}) was repeated with other contents`);
}

/** Rounds in which an event may be sent again for fresh upload addresses (S-165), beside its delivery. */
const addressRounds = 3;

export function repeatsHaveAReason(history: History): readonly string[] {
  const { entries } = history;
  const tries = triesOf(history);
  const comparisons = comparisonsOf(history);
  const settledAt = new Map(
    entriesOf(history, 'settled').flatMap(({ seqs, entryAt }) => seqs.map((seq) => [seq, entryAt])),
  );
  const found: string[] = [];
  for (const { seq, eventId, media, token } of putsOf(history)) {
    const own = tries.get(eventId) ?? [];
    for (const life of new Set(own.map((one) => one.life))) {
      const taken = own.filter(
        (one) => one.life === life && one.answer?.taken === true && !comparisons.has(one.postAt),
      ).length;
      if (taken > (media ? 1 + addressRounds : 1))
        found.push(`put ${token} was accepted ${taken} times in life ${life}`);
    }
    const settled = settledAt.get(seq);
    if (media || settled === undefined) continue;
    const again = own.find(({ postAt }) => postAt > settled && !comparisons.has(postAt));
    if (again !== undefined && !isDamagedBetween(entries, settled, again.postAt))
      found.push(`put ${token} was sent again in life ${again.life}, after its acceptance was on disk`);
  }
  const isFaultFree = entriesOf(history, 'step').every(
    ({ index, step }) => index < 0 || step.do === 'put' || step.do === 'burst',
  );
  if (isFaultFree)
    for (const { event_id, try_count } of history.final.accepted)
      if (try_count > 1) found.push(`${event_id} was sent ${try_count} times in a run without faults`);
  return found;
}

const isDamagedBetween = (entries: readonly Entry[], from: number, to: number): boolean =>
  entries.slice(from, to).some((entry) => entry.what === 'end' && entry.how === 'corrupt');

const groupOf = ({ lane, key }: Put): string => `${lane === 'activity' ? 'activity' : 'site'} ${key}`;

export function orderIsKept(history: History): readonly string[] {
  const puts = new Map(putsOf(history).map((put) => [put.eventId, put]));
  const tries = triesOf(history);
  const arrived = new Map<string, Put[]>();
  const found: string[] = [];
  const bySeq = (a: Accepted, b: Accepted) => a.seq - b.seq;
  for (const { event_id } of [...history.final.accepted].sort(bySeq)) {
    const late = puts.get(event_id);
    if (late === undefined) continue;
    const group = arrived.get(groupOf(late)) ?? [];
    const overtaking = group.find((put) => put.seq > late.seq && !mayOvertake({ history, tries, early: put, late }));
    if (overtaking !== undefined)
      found.push(
        `${groupOf(late)}: put ${late.token} (${late.lane}) came after put ${overtaking.token} (${overtaking.lane})`,
      );
    arrived.set(groupOf(late), [...group, late]);
  }
  return found;
}

/** A fresh alarm waits so long for older events of its own key, milliseconds. */
const heldUpMs = 3_000;

/**
 * The documented exceptions: an alarm that went alone after three seconds, and an event that was refused or is known to
 * fail alone. `late` has the lower number and arrived after `early`.
 */
function mayOvertake(of: {
  history: History;
  tries: ReadonlyMap<string, readonly Try[]>;
  early: Put;
  late: Put;
}): boolean {
  const { entries } = of.history;
  const first = of.tries.get(of.early.eventId)?.[0];
  if (first === undefined) return true;
  const { postAt } = first;
  const before = entries.slice(0, postAt);
  // Nobody knew yet that it would be on disk: the commits of a sick disk are repeated, each by itself.
  const told = (put: Put) => before.findIndex((entry) => entry.what === 'acked' && entry.token === put.token);
  const isKnown = told(of.late) >= 0 && (told(of.early) < 0 || told(of.late) < told(of.early));
  if (!isKnown) return true;
  if (waitsAlone(of.history, of.late, of.tries.get(of.late.eventId) ?? [], postAt)) return true;
  // Rows of a damaged file come back when they have been read from what was set aside.
  const put = entries.findIndex((entry) => entry.what === 'numbered' && entry.token === of.late.token);
  if (isDamagedBetween(entries, put, postAt)) return true;
  return of.early.lane === 'alarm' && isHeldUp(before, of.early, first);
}

/** The alarm has waited three seconds since it came, or since the origin rested and nothing was taken. */
function isHeldUp(before: readonly Entry[], alarm: Put, first: Try): boolean {
  const from = Math.max(
    0,
    before.findLastIndex(({ what }) => what === 'life'),
  );
  const own = before.slice(from);
  // Nobody is to see from the rest how a silent event fared (safety 4): it waits by itself.
  const silent = new Set(before.flatMap((entry) => (entry.what === 'numbered' && entry.silent ? [entry.eventId] : [])));
  const unseen = new Set(
    own.flatMap((entry) => (entry.what === 'post' && silent.has(entry.eventId) ? [entry.nth] : [])),
  );
  let since = 0;
  const comparisons = comparisonsOf({ entries: before });
  const comparing = new Set(
    own.flatMap((entry, at) => (entry.what === 'post' && comparisons.has(from + at) ? [entry.nth] : [])),
  );
  // Where there is something to compare with, only the comparison tells whether all are meant.
  let isKnown = before.some(({ what }) => what === 'settled');
  // While something is taken between two rests, the time goes on.
  let isTaking = false;
  for (const entry of own) {
    if (entry.what === 'posted' && entry.taken) [isTaking, isKnown] = [true, true];
    if (entry.what === 'life') since = entry.mono;
    if (entry.what === 'numbered' && entry.token === alarm.token) since = Math.max(since, entry.mono);
    if (entry.what !== 'posted' || !restsOrigin(entry) || unseen.has(entry.nth)) continue;
    if (isKnown && blameOf(entry) === 'needs a person' && !comparing.has(entry.nth)) continue;
    if (!isTaking) since = entry.mono;
    isTaking = false;
  }
  return first.mono - since >= heldUpMs;
}

/** A back-off doubles its waits: tries grow with the logarithm of the time offline, and begin anew with each life. */
export function offlineIsQuiet(history: History): readonly string[] {
  return entriesOf(history, 'offline').flatMap(({ connects, boxMs, entryAt }) => {
    const cut = history.entries.findLastIndex(
      (entry, at) => at < entryAt && entry.what === 'step' && (entry.step.do === 'cut' || entry.step.do === 'idle'),
    );
    const lives = history.entries.slice(Math.max(0, cut), entryAt).filter(({ what }) => what === 'life').length;
    const most = Math.ceil((1 + lives) * 12 + 6 * Math.log2(1 + boxMs / 1000));
    return connects <= most
      ? []
      : [`${connects} connections were tried in ${Math.round(boxMs)} ms offline; at most ${most}`];
  });
}

/**
 * No request begins before a pause the cloud asked for has passed, on the box's own clock. A silent event must not be
 * seen to find the line busy (safety 4): what it was told holds for itself alone.
 */
export function pausesAreKept(history: History): readonly string[] {
  const { entries } = history;
  const silent = new Set(putsOf(history).flatMap((put) => (put.silent ? [put.eventId] : [])));
  const ids = new Map<number, string>();
  let until: { mono: number; by: string } | undefined;
  const found: string[] = [];
  for (const entry of entries) {
    if (entry.what === 'life' || entry.what === 'end') until = undefined;
    if (entry.what === 'post') {
      ids.set(entry.nth, entry.eventId);
      if (until !== undefined && entry.mono < until.mono)
        found.push(
          `${entry.eventId} was sent ${Math.round(until.mono - entry.mono)} ms before the pause asked of ${until.by} was over`,
        );
    }
    if (entry.what !== 'posted' || entry.retryAfterMs === undefined) continue;
    const by = ids.get(entry.nth) ?? '';
    if (!silent.has(by)) until = { mono: Math.max(until?.mono ?? 0, entry.mono + entry.retryAfterMs), by };
  }
  return found;
}

export function stopsCleanly(history: History): readonly string[] {
  const { entries } = history;
  const puts = putsOf(history);
  const tries = triesOf(history);
  const comparisons = comparisonsOf(history);
  const found: string[] = [];
  let isFull = false;
  let life = 0;
  for (const [at, entry] of entries.entries()) {
    if (entry.what === 'life') life += 1;
    if (entry.what === 'disk') isFull = entry.full;
    if (entry.what !== 'end' || entry.how !== 'stop') continue;
    if (!entry.clean) found.push(`the box had not stopped in time (entry ${at})`);
    // On a full disk the acceptance cannot be written.
    if (!entry.clean || isFull) continue;
    for (const { eventId, media, token } of puts) {
      const own = tries.get(eventId) ?? [];
      // Of an earlier life's acceptances the verdict may have been lost with it.
      const taken = own.some((one) => one.life === life && one.answer?.taken === true && one.postAt < at);
      // Another may fail, and be compared with it.
      const again = own.find(({ postAt }) => postAt > at && !comparisons.has(postAt));
      if (taken && again !== undefined && !media && !isDamagedBetween(entries, at, again.postAt))
        found.push(`put ${token} was accepted before the box stopped, and sent again in life ${again.life}`);
    }
  }
  return found;
}

/** What an event's time may be wrong by, milliseconds. */
const timeErrorMs = 2_000;
/** A clock the cloud's agrees with so closely counts as synchronised (`clock-quality.ts`), and is believed. */
const syncedErrorMs = 10_000;

/**
 * Where the clock was synchronised, and for every event of a boot whose first anchor somebody stands for. A full disk
 * makes an exception: an event that leaves is worth more than one that waits for an anchor to be written.
 */
export function eventTimesAreRight(history: History): readonly string[] {
  const puts = new Map(putsOf(history).map((put) => [put.eventId, put]));
  const isSick = history.entries.some(
    ({ what, ...rest }) => what === 'disk' || (rest as { how?: string }).how === 'corrupt',
  );
  const anchored = new Map<string, boolean>();
  for (const { boot, source } of history.final.anchors.toSorted((a, b) => a.mono - b.mono))
    if (!anchored.has(boot)) anchored.set(boot, source !== 'unconfirmed');
  return history.final.accepted.flatMap(({ event_id, body }) => {
    const put = puts.get(event_id);
    const isKnown = put?.clock === 'synced' || (!isSick && anchored.get(put?.boot ?? '') === true);
    if (put === undefined || !isKnown) return [];
    const errorMs = Math.abs(Date.parse(body.event_time) - put.trueWall);
    return errorMs <= (put.clock === 'synced' ? syncedErrorMs : timeErrorMs)
      ? []
      : [`the time of put ${put.token} (${put.clock}) is wrong by ${errorMs} ms`];
  });
}
