import type { CodedPicture, StreamTables } from '#lib/transport-stream.ts';

/** What the stream of one camera showed of late, in memory, whole from key frame to key frame. */
export interface Ring {
  add(picture: CodedPicture, tables: StreamTables): void;
  /** The stream broke off: what comes next begins anew. */
  cut(): void;
  /** What was over before that moment is no longer needed. */
  forget(beforeMono: number): void;
  /** Makes room. */
  dropOldest(): void;
  /** Of that time, from the key frame before it on; from the first one in it where there is none. */
  between(startMono: number, endMono: number): Footage | undefined;
  /** The last picture before that moment, else the first after it; undefined where there is none close to it. */
  pictureAt(mono: number): PastPicture | undefined;
  readonly bytes: number;
  /** Of what is left without what was over before that moment. */
  bytesSince(mono: number): number;
  readonly oldestMono: number | undefined;
  /** The longest of late from one key frame to the next. */
  readonly keyFrameMs: number | undefined;
}

export interface Footage {
  /** When its first picture came. */
  readonly startMono: number;
  readonly codec: StreamTables['codec'];
  /** A transport stream. */
  readonly parts: readonly Buffer[];
}

export interface PastPicture {
  /** A transport stream that begins with a key frame. */
  readonly parts: readonly Buffer[];
  /** Which of its pictures, from 0 on. */
  readonly number: number;
}

/** A key frame and what builds on it. */
interface Group {
  readonly tables: StreamTables;
  readonly pictures: CodedPicture[];
  readonly startMono: number;
  /** When its last picture came. */
  endMono: number;
  bytes: number;
}

/** Key frames that come closer than this begin no group: some cameras send what belongs to one apart, or nothing else. */
const shortestMs = 100;
const measured = 8;
/** As far from its moment may a picture be: some cameras take one a second at night. */
const closeMs = 3000;
const closeAfterMs = 1000;

export function createRing(): Ring {
  const groups: Group[] = [];
  const distances: number[] = [];
  let current: Group | undefined;
  let total = 0;

  function begin({ mono }: CodedPicture, tables: StreamTables): Group {
    if (current !== undefined && distances.push(mono - current.startMono) > measured) distances.shift();
    const group = { tables, pictures: [], startMono: mono, endMono: mono, bytes: 0 };
    groups.push(group);
    return group;
  }

  function shift(): void {
    const gone = groups.shift();
    total -= gone?.bytes ?? 0;
    if (gone === current) current = undefined;
  }

  return {
    add(picture, tables) {
      if (picture.isKey && (current === undefined || picture.mono - current.startMono >= shortestMs))
        current = begin(picture, tables);
      // Without the key frame before it nobody can see it.
      if (current === undefined) return;
      current.pictures.push(picture);
      current.endMono = picture.mono;
      current.bytes += picture.bytes.length;
      total += picture.bytes.length;
    },

    cut() {
      current = undefined;
    },

    forget(beforeMono) {
      for (let first = groups[0]; first !== undefined && first.endMono < beforeMono; first = groups[0]) shift();
    },

    dropOldest: shift,

    between(startMono, endMono) {
      const wanted = groups.filter((group) => group.endMono >= startMono && group.startMono <= endMono);
      const [first] = wanted;
      if (first === undefined) return undefined;
      let tables: StreamTables | undefined;
      const parts = wanted.flatMap((group) => {
        const before = group.tables === tables ? [] : [group.tables.bytes];
        tables = group.tables;
        const pictures = group.pictures.filter(({ mono }) => mono <= endMono);
        return [...before, ...pictures.map(({ bytes }) => bytes)];
      });
      return { startMono: first.startMono, codec: first.tables.codec, parts };
    },

    pictureAt(mono) {
      const isClose = (picture: CodedPicture) => picture.mono >= mono - closeMs && picture.mono <= mono + closeAfterMs;
      const near = groups.filter(({ pictures }) => pictures.some(isClose));
      const group = near.findLast(({ startMono }) => startMono <= mono) ?? near[0];
      if (group === undefined) return undefined;
      const number = Math.max(
        0,
        group.pictures.findLastIndex((picture) => picture.mono <= mono),
      );
      return { parts: [group.tables.bytes, ...group.pictures.map(({ bytes }) => bytes)], number };
    },

    get bytes() {
      return total;
    },

    bytesSince: (mono) => groups.filter(({ endMono }) => endMono >= mono).reduce((sum, { bytes }) => sum + bytes, 0),

    get oldestMono() {
      return groups[0]?.startMono;
    },

    get keyFrameMs() {
      return distances.length === 0 ? undefined : Math.max(...distances);
    },
  };
}
