import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Said } from './said.ts';

/** All that was promised so far, over every life of the store on one disk. */
export interface Promises {
  /** Promised events by seq. */
  readonly events: ReadonlyMap<number, Said & { what: 'event' }>;
  readonly settled: readonly (Said & { what: 'settled' })[];
  readonly pictures: readonly (Said & { what: 'picture' })[];
  /** Numbers or ids that were given twice. */
  readonly twice: readonly string[];
  readonly failures: number;
  /** Delivered events that the store has counted as gone, over all lives. */
  readonly gone: number;
  /** `heard`: how many of them came before the cut. What was said later promises nothing, but its number was given. */
  add(said: readonly Said[], heard?: number): void;
}

export function createPromises(): Promises {
  const events = new Map<number, Said & { what: 'event' }>();
  const ids = new Set<string>();
  const settled: (Said & { what: 'settled' })[] = [];
  const pictures: (Said & { what: 'picture' })[] = [];
  const twice: string[] = [];
  const numbers = new Set<number>();
  let failures = 0;
  let gone = 0;

  function give(said: Said & { what: 'event' }, isPromised: boolean): void {
    if (numbers.has(said.seq) || ids.has(said.eventId)) twice.push(`${said.seq} ${said.eventId}`);
    numbers.add(said.seq);
    ids.add(said.eventId);
    if (isPromised) events.set(said.seq, said);
  }

  return {
    ...{ events, settled, pictures, twice },
    get failures() {
      return failures;
    },
    get gone() {
      return gone;
    },
    add(all, heard = all.length) {
      gone += all.findLast((said) => said.what === 'gone')?.history ?? 0;
      for (const [at, said] of all.entries()) {
        if (said.what === 'failed') failures += 1;
        else if (said.what === 'open' || said.what === 'gone') continue;
        else if (said.what === 'event') give(said, at < heard);
        else if (at >= heard) continue;
        else if (said.what === 'settled') settled.push(said);
        else pictures.push(said);
      }
    },
  };
}

/** What is not as it was promised. */
export interface Broken {
  readonly events: readonly number[];
  readonly settled: readonly number[];
  readonly pictures: readonly number[];
  /** Ids that stand on more than one row. */
  readonly doubled: readonly string[];
  /** Rows that refer to a picture that is not there or not whole. */
  readonly dangling: readonly string[];
}

interface MediaReady {
  readonly seq: number;
  readonly idx: number;
  readonly file: string;
  readonly sha256: string;
}

/** Compares a state directory that nobody has open with what was promised of it. */
export function brokenIn(dir: string, promises: Promises): Broken {
  const [site, bulk] = ['site.db', 'bulk.db'].map((name) => read(join(dir, name)));
  if (site === undefined || bulk === undefined) throw new Error('two files were expected');
  const of = (lane: 'alarm' | 'activity') => (lane === 'alarm' ? site : bulk);
  const ready = new Map([...site.media, ...bulk.media].map((one) => [`${one.seq}-${one.idx}`, one]));
  const eids = [...site.ids, ...bulk.ids];
  const isWhole = ({ file, sha256 }: { file: string; sha256: string }) => hashOf(join(dir, 'spool', file)) === sha256;
  return {
    events: [...promises.events.values()].filter((one) => of(one.lane).events.get(one.seq) !== one.eventId).map(seqOf),
    settled: promises.settled.filter(({ lane, seq }) => !of(lane).done.has(seq)).map(seqOf),
    pictures: promises.pictures
      .filter((one) => ready.get(`${one.seq}-${one.index}`)?.sha256 !== one.sha256 || !isWhole(one))
      .map(seqOf),
    doubled: eids.length === new Set(eids).size ? [] : eids.filter((id, at) => eids.indexOf(id) !== at),
    dangling: [...ready.values()].filter((one) => !isWhole(one)).map(({ file }) => file),
  };
}

const seqOf = ({ seq }: { readonly seq: number }): number => seq;

function read(path: string) {
  const db = new Sqlite(path, { readonly: true });
  try {
    const verdict = String(db.pragma('integrity_check', { simple: true }));
    if (verdict !== 'ok') throw new Error(`${path}: ${verdict}`);
    const rows = db.prepare<[], { seq: number; eid: string }>('SELECT seq, eid FROM ev').all();
    return {
      events: new Map(rows.map(({ seq, eid }) => [seq, eid])),
      ids: rows.map(({ eid }) => eid),
      done: new Set(db.prepare<[], number>('SELECT seq FROM done').pluck().all()),
      media: db.prepare<[], MediaReady>('SELECT seq, idx, file, sha256 FROM media WHERE state = 1').all(),
    };
  } finally {
    db.close();
  }
}

const hashOf = (path: string): string =>
  existsSync(path) ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';

/** Event and hash of each picture that `site.db` has on record as uploaded. */
export function uploadedIn(dir: string): readonly string[] {
  const db = new Sqlite(join(dir, 'site.db'), { readonly: true });
  try {
    const uploaded = "SELECT eid || ' ' || sha256 FROM media JOIN ev USING(seq) WHERE media.state = 2";
    return db.prepare<[], string>(uploaded).pluck().all();
  } finally {
    db.close();
  }
}
