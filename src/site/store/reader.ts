import { crc32 } from 'node:zlib';
import type { Database } from 'better-sqlite3';
import { type ClockQuality, type Lane, lanes, type MediaItem, type Stamp } from '#site/model/index.ts';
import { laneAt, laneIndex } from './lanes.ts';
import { mediaStates } from './outbox.ts';
import type { EventsQuery, WireParked, WireRecord } from './protocol.ts';
import type { StoredEvent } from './public-event.ts';
import { isSilentGap, silentGapFrom } from './silent-gap.ts';
import { pluck } from './sqlite.ts';
import type { Gap, GapReason, MediaRow, MediaState, MediaTrail, PendingRow } from './types.ts';

const takeBytes = 256 * 1024;
const takeRows = 1000;
/** Damaged rows that are gone through to the next sound one: on a card that takes no writes they cannot be parked. */
const takeDamaged = 20_000;
const beforeRows = 64;
/** Rows one slice of a filtered search looks at, so that a search never holds up an alarm for long. */
const sliceRows = 2000;

interface EventRow {
  seq: number;
  lane: number;
  eid: string;
  okey: string;
  mono: number;
  wall: number;
  boot: string;
  clock: ClockQuality;
  crc: number;
  body: string;
  silent: number;
}
interface MediaCells {
  seq: number;
  idx: number;
  kind: MediaItem['kind'];
  camera: string;
  offset_ms: number;
  state: number;
  file: string | null;
  bytes: number | null;
  sha256: string | null;
  mime: string | null;
  reason: string | null;
}
interface MediaLine extends MediaCells {
  lane: number;
  eid: string;
  wall: number;
  silent: number;
}
/** The columns of `StoredEvent`. */
const storedColumns =
  'ev.seq, ev.event, ev.eid AS eventId, ev.class AS eventClass, ev.part AS partition, ev.wall, ev.clock';

interface TrailRow extends StoredEvent {
  waiting: number | null;
  parked_reason: string | null;
  parked_at: number | null;
  parked_tries: number | null;
  done_tries: number | null;
  done_at: number | null;
}

interface EventsAsked {
  below: number;
  floor: number;
  part: string | null;
  class: string | null;
  silent: number;
  limit: number;
}

interface ParkedLine extends StoredEvent {
  lane: number;
  body: string;
  at: number;
  status: number | null;
  reason: string;
  tries: number;
}
interface GapLine {
  id: number;
  lane: number;
  seq_from: number;
  seq_to: number;
  n: number;
  why: GapReason;
  at: number;
  reported: number;
}

/** Why an event is parked that was stored and cannot be sent. */
export const damagedReason = 'the stored event does not fit its checksum';

/** What one file answers about events. No method writes; none keeps a statement open. */
export class Reader {
  readonly #sql: ReturnType<typeof prepare>;

  constructor(db: Database) {
    this.#sql = prepare(db);
  }

  /**
   * Waiting rows of a lane. Rows whose body no longer fits its checksum come apart, to be parked; they do not count, so
   * that few rows still mean the lane's end.
   */
  take(lane: Lane, afterSeq: number, limit: number): { rows: PendingRow[]; damaged: number[] } {
    const rows: PendingRow[] = [];
    const damaged: number[] = [];
    let bytes = 0;
    const most = Math.min(limit, takeRows);
    for (const row of this.#sql.take.iterate(laneIndex(lane), afterSeq, most + takeDamaged)) {
      if (crc32(row.body) !== row.crc) {
        damaged.push(row.seq);
        continue;
      }
      bytes += row.body.length;
      if (rows.length > 0 && bytes > takeBytes) break;
      rows.push(pendingRow(row));
      if (rows.length === most) break;
    }
    return { rows, damaged };
  }

  /** Waiting rows of the key below `seq`, oldest first. */
  before(orderKey: string, seq: number): PendingRow[] {
    const rows = this.#sql.before.all(orderKey, seq, beforeRows);
    // One that does not fit its checksum is not sent; `take` parks it when it comes to it.
    return rows.filter(({ body, crc }) => crc32(body) === crc).map(pendingRow);
  }

  /** One event in whatever state; undefined when it is gone or damaged. */
  row(seq: number): PendingRow | undefined {
    const row = this.#sql.row.get(seq);
    return row === undefined || crc32(row.body) !== row.crc ? undefined : pendingRow(row);
  }

  media(states: readonly MediaState[], limit: number): MediaRow[] {
    const rows = states.flatMap((state) => this.#sql.media.all(stateAt(state), limit));
    return rows
      .sort((a, b) => a.seq - b.seq || a.idx - b.idx)
      .slice(0, limit)
      .map(mediaRow);
  }

  /** One slice, newest first; every event with a seq of at least `floor` was looked at (0: all). */
  events(query: EventsQuery): { records: WireRecord[]; floor: number } {
    const { partition: part, eventClass, media } = query;
    const filtered = part !== null || eventClass !== null || media !== null;
    const window = filtered ? Math.max(sliceRows, query.limit) : query.limit;
    // Most events have no pictures: those are gone past without a look.
    const floors = media === null ? this.#sql.floor : this.#sql.mediaFloor;
    const floor = floors.get(query.beforeSeq, window - 1) ?? 0;
    const asked = {
      ...{ below: query.beforeSeq, floor, part, class: eventClass },
      ...{ silent: Number(query.withSilent), limit: query.limit },
    };
    const rows =
      media === null
        ? this.#sql.events.all(asked)
        : this.#sql.mediaEvents.all({ ...asked, camera: media.camera, state: media.state && stateAt(media.state) });
    const full = rows.length === query.limit ? (rows.at(-1)?.seq ?? floor) : floor;
    return { records: rows.map((row) => this.#record(row)), floor: Math.max(full, floor) };
  }

  parkedRows(beforeSeq: number, limit: number): WireParked[] {
    return this.#sql.parked.all(beforeSeq, limit).map(({ lane, status, ...row }) => ({
      ...row,
      lane: laneAt(lane),
      ...(status !== null && { status }),
    }));
  }

  gaps({ limit, unreported, withSilent }: { limit: number; unreported: boolean; withSilent: boolean }): Gap[] {
    return this.#sql.gaps.all(unreported ? 0 : 1, Number(withSilent), limit).map((row) => ({
      id: row.id,
      lane: laneAt(row.lane),
      seqFrom: row.seq_from,
      seqTo: row.seq_to,
      count: row.n,
      why: row.why,
      at: row.at,
      reported: row.reported === 1,
      ...(isSilentGap(row.id) && { silent: true as const }),
    }));
  }

  /** By lane index; a lane without an entry has none. Silent events stand in no count (safety 4). */
  byLane(): { oldest: (Stamp | undefined)[]; parked: number[]; lost: number[] } {
    const counts = (rows: readonly { lane: number; n: number }[]) => {
      const found: number[] = [];
      for (const { lane, n } of rows) found[lane] = n;
      return found;
    };
    return {
      oldest: lanes.map((_, lane) => this.#sql.oldest.get(lane)),
      parked: counts(this.#sql.countParked.all()),
      lost: counts(this.#sql.lost.all()),
    };
  }

  /** Pictures and clips that are not uploaded, by state; a state without an entry has none. Those of silent events stand in no count. */
  mediaCounts(): Partial<Record<MediaState, number>> {
    const rows = this.#sql.countMedia.all();
    return Object.fromEntries(rows.map(({ state, n }) => [mediaStates[state] ?? 'failed', n]));
  }

  #record(row: TrailRow): WireRecord {
    const media = this.#sql.mediaOf.all(row.seq).map(mediaTrail);
    const { seq, event, eventId, eventClass, partition, wall, clock } = row;
    return { seq, event, eventId, eventClass, partition, wall, clock, media, ...trail(row) };
  }
}

function trail(row: TrailRow): Pick<WireRecord, 'delivery' | 'at' | 'tries' | 'reason'> {
  if (row.parked_reason !== null) {
    return { delivery: 'parked', at: null, tries: row.parked_tries, reason: row.parked_reason };
  }
  if (row.waiting !== null) return { delivery: 'waiting', at: null, tries: null, reason: null };
  if (row.done_at === null) return { delivery: 'local', at: null, tries: null, reason: null };
  return { delivery: 'delivered', at: row.done_at, tries: row.done_tries, reason: null };
}

function pendingRow(row: EventRow): PendingRow {
  const { seq, eid: eventId, okey: orderKey, wall, mono, boot, clock, body } = row;
  const silent = row.silent === 1 && { silent: true as const };
  return { seq, lane: laneAt(row.lane), eventId, orderKey, wall, mono, boot, clock, body, ...silent };
}

function mediaRow(row: MediaLine): MediaRow {
  return {
    seq: row.seq,
    lane: laneAt(row.lane),
    eventId: row.eid,
    eventWall: row.wall,
    ...mediaTrail(row),
    ...(row.silent === 1 && { silent: true as const }),
  };
}

function mediaTrail(row: MediaCells): MediaTrail {
  return {
    index: row.idx,
    kind: row.kind,
    camera: row.camera,
    offsetMs: row.offset_ms,
    state: mediaStates[row.state] ?? 'failed',
    ...(row.file === null ? {} : { file: row.file }),
    ...(row.bytes === null ? {} : { bytes: row.bytes }),
    ...(row.sha256 === null ? {} : { sha256: row.sha256 }),
    ...(row.mime === null ? {} : { mime: row.mime }),
    ...(row.reason === null ? {} : { reason: row.reason }),
  };
}

const stateAt = (state: MediaState): number => mediaStates.indexOf(state);

/** Events of a source, with what became of each. */
const trails = (from: string): string =>
  `SELECT ${storedColumns}, pend.seq AS waiting, parked.reason AS parked_reason, parked.at AS parked_at,
     parked.tries AS parked_tries, done.tries AS done_tries, done.at AS done_at
   FROM ${from} LEFT JOIN pend ON pend.lane = ev.lane AND pend.seq = ev.seq
     LEFT JOIN parked ON parked.seq = ev.seq LEFT JOIN done ON done.seq = ev.seq
   WHERE ev.seq < @below AND ev.seq >= @floor AND (@part IS NULL OR ev.part = @part)
     AND (@class IS NULL OR ev.class = @class) AND (@silent OR NOT ev.silent)
   ORDER BY ev.seq DESC LIMIT @limit`;

function prepare(db: Database) {
  const columns = 'ev.seq, ev.lane, eid, ev.okey, mono, wall, boot, clock, crc, body, ev.silent';
  return {
    take: db.prepare<[number, number, number], EventRow>(
      `SELECT ${columns} FROM pend JOIN ev USING(seq) WHERE pend.lane = ? AND pend.seq > ? ORDER BY pend.seq LIMIT ?`,
    ),
    before: db.prepare<[string, number, number], EventRow>(
      `SELECT ${columns} FROM pend JOIN ev USING(seq) WHERE pend.okey = ? AND pend.seq < ? ORDER BY pend.seq LIMIT ?`,
    ),
    row: db.prepare<[number], EventRow>(`SELECT ${columns} FROM ev WHERE seq = ?`),
    parked: db.prepare<[number, number], ParkedLine>(
      `SELECT ${storedColumns}, ev.lane, ev.body, parked.at, parked.status, parked.reason, parked.tries
       FROM parked JOIN ev USING(seq) WHERE parked.seq < ? AND NOT ev.silent ORDER BY parked.seq DESC LIMIT ?`,
    ),
    gaps: db.prepare<[number, number, number], GapLine>(
      `SELECT * FROM gap WHERE reported <= ? AND (id < ${silentGapFrom} OR ?) ORDER BY id DESC LIMIT ?`,
    ),
    lost: db.prepare<[], { lane: number; n: number }>(
      `SELECT lane, sum(n) AS n FROM gap WHERE id < ${silentGapFrom} GROUP BY lane`,
    ),
    media: db.prepare<[number, number], MediaLine>(
      `SELECT media.*, ev.lane, ev.eid, ev.wall, ev.silent FROM media JOIN ev USING(seq)
       WHERE media.state = ? ORDER BY media.seq, media.idx LIMIT ?`,
    ),
    mediaOf: db.prepare<[number], MediaCells>('SELECT * FROM media WHERE seq = ? ORDER BY idx'),
    floor: pluck<[number, number], number>(db, 'SELECT seq FROM ev WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?'),
    mediaFloor: pluck<[number, number], number>(
      db,
      'SELECT seq FROM media WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?',
    ),
    events: db.prepare<[EventsAsked], TrailRow>(trails('ev')),
    // The rows of pictures lead to their events, never the other way round.
    mediaEvents: db.prepare<[EventsAsked & { camera: string | null; state: number | null }], TrailRow>(
      trails(`(SELECT DISTINCT seq FROM media WHERE seq < @below AND seq >= @floor
         AND (@state IS NULL OR state = @state) AND (@camera IS NULL OR camera = @camera)) AS found
       CROSS JOIN ev ON ev.seq = found.seq`),
    ),
    countParked: db.prepare<[], { lane: number; n: number }>(
      'SELECT ev.lane, count(*) AS n FROM parked CROSS JOIN ev USING(seq) WHERE NOT silent GROUP BY ev.lane',
    ),
    // All but those that were uploaded, of which there are the most.
    countMedia: db.prepare<[], { state: number; n: number }>(
      'SELECT state, count(*) AS n FROM media JOIN ev USING(seq) WHERE state IN (0, 1, 3) AND NOT silent GROUP BY state',
    ),
    oldest: db.prepare<[number], Stamp>(
      `SELECT mono, wall, boot, clock FROM pend JOIN ev USING(seq)
       WHERE pend.lane = ? AND NOT pend.silent ORDER BY pend.seq LIMIT 1`,
    ),
  };
}
