import { type Lane, lanes } from '#site/model/index.ts';
import type { Gap } from '#site/store/index.ts';
import { tokenOf } from './box-protocol.ts';
import { entriesOf, type History, type Put } from './history.ts';
import { type Try, triesOf } from './tries.ts';

export const putsOf = (history: Pick<History, 'entries'>): readonly Put[] => entriesOf(history, 'numbered');

const ackedOf = (history: History): ReadonlySet<number> =>
  new Set(entriesOf(history, 'acked').map(({ token }) => token));

const nameOf = ({ token, seq, lane, key, silent }: Put): string =>
  `put ${token} (seq ${seq}, ${lane} of ${key}${silent ? ', silent' : ''})`;

/** Events that are nowhere: the cloud has them not, and the store neither. */
function missing(history: History): readonly Put[] {
  const inCloud = new Set(history.final.accepted.map(({ event_id }) => event_id));
  const isStored = storedIn(history);
  return putsOf(history).filter((put) => !inCloud.has(put.eventId) && !isStored(put));
}

/** A number that a full disk could not set aside may be given again by the next life; then it is the later event's. */
function storedIn(history: History): (put: Put) => boolean {
  const { pending, parked, known } = history.final;
  const seqs = new Set([...pending, ...parked.map(({ seq }) => seq), ...known]);
  const latest = new Map(putsOf(history).map(({ seq, token }) => [seq, token]));
  return ({ seq, token }) => seqs.has(seq) && latest.get(seq) === token;
}

export function nothingAckedIsLost(history: History): readonly string[] {
  const { accepted, pending, parked, gaps } = history.final;
  const acked = ackedOf(history);
  const inCloud = new Set(accepted.map(({ event_id }) => event_id));
  const kept = new Set([...pending, ...parked.map(({ seq }) => seq)]);
  const lost = putsOf(history).filter(
    ({ token, eventId, seq }) => acked.has(token) && !inCloud.has(eventId) && !kept.has(seq),
  );
  const covers = (gap: Gap, { lane, seq }: Put) =>
    gap.seqFrom <= seq &&
    seq <= gap.seqTo &&
    (gap.lane === lane || (gap.why === 'damage' && fileOf(gap.lane) === fileOf(lane)));
  return lost
    .filter((put) => !gaps.some((gap) => covers(gap, put)))
    .map((put) => `${nameOf(put)} was acknowledged and is nowhere`);
}

/** The lane of a row that cannot be read is not known either; its file is. */
const fileOf = (lane: Lane): string => (lane === 'activity' ? 'bulk.db' : 'site.db');

/**
 * Counted per lane, after damage per file: every acknowledged event that is missing, of the others at most those, and
 * beyond them at most the events that nobody in the box could know to have arrived.
 */
export function gapsAreExact(history: History): readonly string[] {
  const acked = ackedOf(history);
  const lost = missing(history);
  const { gaps } = history.final;
  const isDamaged = gaps.some(({ why }) => why === 'damage');
  const nameFor = (lane: Lane) => (isDamaged ? fileOf(lane) : lane);
  const arrived = arrivedUnknown(history, nameFor);
  return [...new Set(lanes.map(nameFor))].flatMap((name) => {
    const counted = countOf(gaps, (lane) => nameFor(lane) === name);
    const ours = lost.filter(({ lane }) => nameFor(lane) === name);
    const least = ours.filter(({ token }) => acked.has(token)).length;
    const most = ours.length + arrived.filter(({ lane }) => nameFor(lane) === name).length;
    if (counted >= least && counted <= most) return [];
    return [`of ${name} ${least} to ${most} events are missing, and the gaps count ${counted}`];
  });
}

const countOf = (gaps: readonly Gap[], is: (lane: Lane) => boolean): number =>
  gaps.reduce((sum, { lane, count }) => sum + (is(lane) ? count : 0), 0);

/**
 * Events the cloud has and a gap may count all the same, as two generals might: a request had been sent in the life in
 * which the event was given up or in an earlier one, the answer was lost, or the process ended before it was on disk.
 */
function arrivedUnknown(history: History, nameFor: (lane: Lane) => string): readonly Put[] {
  const { accepted, gaps } = history.final;
  const inCloud = new Set(accepted.map(({ event_id }) => event_id));
  const isStored = storedIn(history);
  const settled = new Set(entriesOf(history, 'settled').flatMap(({ seqs }) => seqs));
  const tries = triesOf(history);
  /** What the gaps of the lane, or file, came to when the life began: an event given up in it counts above that. */
  const countBefore = (lane: Lane, at: number) => {
    const start = history.entries.findLastIndex(({ what }, place) => place < at && what === 'life');
    const seen = history.entries.findLast((entry, place) => place < start && entry.what === 'gaps');
    return seen?.what === 'gaps' ? countOf(seen.gaps, (other) => nameFor(other) === nameFor(lane)) : 0;
  };
  return putsOf(history).filter((put) => {
    const { eventId, seq, lane } = put;
    if (!inCloud.has(eventId) || isStored(put) || settled.has(seq)) return false;
    const now = countOf(gaps, (other) => nameFor(other) === nameFor(lane));
    return (tries.get(eventId) ?? []).some((one) => isUnknown(history, one) && countBefore(lane, one.postAt) < now);
  });
}

/** The answer was lost, or the life it came in ended before its verdict was on disk. */
function isUnknown({ entries }: History, { postAt, answer }: Try): boolean {
  if (answer !== undefined && !answer.taken) return answer.status === undefined;
  const end = entries.slice(postAt).find(({ what }) => what === 'end');
  if (end?.what !== 'end') return false;
  // A box that stops in order writes its verdicts, if the disk takes them.
  const disk = entries.slice(0, entries.indexOf(end)).findLast(({ what }) => what === 'disk');
  return end.how !== 'stop' || !end.clean || (disk?.what === 'disk' && disk.full);
}

/**
 * While something of less importance waits, no alarm and no arming is given up. It stood in its file before the step
 * in which they went, and after it: when the records that do not count them yet were about to be read, and when those that do
 * had been read. What shows only after the former may have come after the loss: the room left free in one file is of no use
 * to the other, and may take it. Only a row of a file in use can give way: not one that is in memory only, nor one in a
 * damaged file that was set aside and is not read to its end. That one goes as a whole or not at all, and holds alarms too.
 */
export function alarmsGiveWayLast(history: History): readonly string[] {
  const { entries } = history;
  const puts = putsOf(history);
  const ackedAt = new Map(entriesOf(history, 'acked').map(({ token, entryAt }) => [token, entryAt]));
  const found: string[] = [];
  let before = new Map<string, number>();
  let waitedBefore: ReadonlySet<number> = new Set();
  /** What stood in a file that was damaged comes back when that has been read, and is no new loss. */
  const aside = new Map<string, number>();
  for (const [at, entry] of entries.entries()) {
    if (entry.what === 'end' && entry.how === 'corrupt')
      for (const [name, count] of before) aside.set(name, Math.max(count, aside.get(name) ?? 0));
    if (entry.what !== 'gaps') continue;
    const now = new Map<string, number>();
    for (const { lane, why, count } of entry.gaps) now.set(`${lane} ${why}`, (now.get(`${lane} ${why}`) ?? 0) + count);
    const waits = new Set(entry.after);
    for (const lane of ['alarm', 'arming'] as const) {
      const name = `${lane} disk_full`;
      const grew = (now.get(name) ?? 0) > Math.max(before.get(name) ?? 0, aside.get(name) ?? 0);
      if (!grew) continue;
      const start = entries.findLastIndex((other, place) => other.what === 'step' && place < at);
      const spared = puts.find(
        (put) =>
          lanes.indexOf(put.lane) > lanes.indexOf(lane) &&
          !put.silent &&
          (ackedAt.get(put.token) ?? Number.POSITIVE_INFINITY) < start &&
          waitedBefore.has(put.seq) &&
          waits.has(put.seq),
      );
      if (spared !== undefined) found.push(`events of ${lane} were given up while ${nameOf(spared)} waited`);
    }
    before = now;
    waitedBefore = new Set(entry.before);
  }
  return found;
}

export function endsEmpty(history: History): readonly string[] {
  const { pending, media, parked } = history.final;
  const kept = new Set(parked.map(({ seq }) => seq));
  // The picture of a parked event waits with it, in case it is tried again.
  const open = media.filter(({ seq, state }) => (state === 'planned' || state === 'ready') && !kept.has(seq));
  return [
    ...pending.map((seq) => `seq ${seq} still waits`),
    ...open.map(({ seq, index, state }) => `picture ${index} of seq ${seq} is still ${state}`),
  ];
}

export function failedTriesWriteNothing(history: History): readonly string[] {
  return entriesOf(history, 'idle').flatMap(({ tries, changed }) =>
    changed.length === 0 ? [] : [`over ${tries} failed tries these files changed: ${changed.join(', ')}`],
  );
}

export function filesStayBelowCaps(history: History): readonly string[] {
  const { sizes, caps } = history.final;
  return Object.entries(sizes).flatMap(([name, size]) => {
    const cap = caps[name];
    return cap === undefined || size <= cap ? [] : [`${name} grew to ${size} bytes; its cap is ${cap}`];
  });
}

export function picturesAgree(history: History): readonly string[] {
  const { media, spool, uploads, pictures } = history.final;
  const puts = new Map(putsOf(history).map((put) => [put.eventId, put]));
  const wanted = new Set(media.flatMap(({ state, file }) => (state === 'ready' && file !== undefined ? [file] : [])));
  const found = spool
    .filter((name) => !wanted.has(name))
    .map((name) => `${name} lies in the spool, and no row wants it`);
  for (const file of wanted) if (!spool.includes(file)) found.push(`a row wants ${file}, and the spool has it not`);
  for (const { event_id, sha256, authorization_sent } of uploads) {
    const token = puts.get(event_id)?.token ?? -1;
    if (pictures.get(token) !== sha256) found.push(`the picture of put ${token} arrived with other contents`);
    if (authorization_sent) found.push(`the picture of put ${token} was sent with our bearer`);
  }
  const arrived = new Set(uploads.map(({ event_id }) => event_id));
  for (const row of media) {
    const token = tokenOf(row.camera);
    if (row.sha256 !== undefined && row.sha256 !== pictures.get(token)) {
      found.push(`the row of the picture of put ${token} has a wrong digest`);
    }
    if (row.state === 'uploaded' && !arrived.has(row.eventId)) {
      found.push(`the picture of put ${token} counts as uploaded, and the cloud has it not`);
    }
    if (row.state === 'failed' && (row.reason ?? '') === '')
      found.push(`the picture of put ${token} failed without a reason`);
  }
  return found;
}

/** A commit that failed was of unknown outcome; it is one event, however often it was repeated. */
export function onePutIsOneEvent(history: History): readonly string[] {
  const puts = new Map(putsOf(history).map((put) => [put.token, put]));
  const ids = new Map<number, string[]>();
  const found: string[] = [];
  for (const { event_id, body } of history.final.accepted) {
    const token = Number(body.payload.zone?.slice(1) ?? -1);
    ids.set(token, [...(ids.get(token) ?? []), event_id]);
    const put = puts.get(token);
    if (put === undefined) found.push(`the cloud has event ${event_id}, which nobody put`);
    else if (put.eventId !== event_id || put.number !== body.payload.seq)
      found.push(`${nameOf(put)} arrived as seq ${body.payload.seq} under ${event_id}`);
  }
  for (const [token, own] of ids) if (own.length > 1) found.push(`put ${token} arrived under ${own.length} ids`);
  const seqs = new Map<string, number>();
  for (const { token, eventId } of puts.values()) {
    const other = seqs.get(eventId);
    if (other !== undefined) found.push(`puts ${other} and ${token} were given the same id`);
    seqs.set(eventId, token);
  }
  return found;
}

/**
 * Safety 4: the numbers of visible events go on by one within a life, and never come again within an epoch of a store; a silent
 * event shares the one before.
 */
export function numbersTellNothingSilent({ entries }: History): readonly string[] {
  const found: string[] = [];
  const last = new Map<string, number>();
  let store = '';
  let isNewLife = true;
  for (const entry of entries) {
    if (entry.what === 'life') {
      store = `${entry.storeId}/${entry.epoch}`;
      isNewLife = true;
    }
    if (entry.what !== 'numbered') continue;
    const { number, silent } = entry;
    const before = last.get(store);
    if (silent) {
      if (before !== undefined && !isNewLife && number !== before)
        found.push(`${nameOf(entry)} has number ${number} after ${before}`);
      continue;
    }
    const isNext = before === undefined || (isNewLife ? number > before : number === before + 1);
    if (!isNext) found.push(`${nameOf(entry)} has number ${number} after ${before}`);
    last.set(store, number);
    isNewLife = false;
  }
  return found;
}

export function connectionsAreSynchronous(history: History): readonly string[] {
  const full = 2;
  return entriesOf(history, 'life').flatMap(({ synchronous }, life) =>
    (['site', 'bulk'] as const).flatMap((file) => {
      const value = synchronous[file];
      return value === undefined || value === full ? [] : [`in life ${life + 1} ${file}.db was opened with ${value}`];
    }),
  );
}

export function frozenCloudStopsNothing(history: History): readonly string[] {
  const { entries } = history;
  const acked = new Map(entriesOf(history, 'acked').map(({ token, entryAt }) => [token, entryAt]));
  let isFull = false;
  return entries.flatMap((entry, at) => {
    if (entry.what === 'disk') isFull = entry.full;
    if (entry.what !== 'frozen' || entry.who !== 'cloud' || isFull) return [];
    const thawed = entries.findIndex(({ what }, place) => place > at && what === 'thawed');
    return entry.tokens
      .filter((token) => (acked.get(token) ?? Number.POSITIVE_INFINITY) > thawed)
      .map((token) => `put ${token} was not acknowledged while the cloud stood still`);
  });
}
