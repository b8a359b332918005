import type { EvValues, StoreRequest, WireCommit, WireRow } from './protocol.ts';

/**
 * Requests as one flat list, in their order. The serialiser pays for every object and every list it meets: with one
 * of each per row, reading the rows of a rush took the thread longer than writing them takes SQLite.
 */
export type Packed = readonly unknown[];

type CommitRequest = Extract<StoreRequest, { op: 'commit' }>;

/** Values of one row of `ev`. */
const evLength = 14 satisfies EvValues['length'];

/** A commit is its id, its head and the values of its rows, one after the other; everything else goes as it is. */
export function packed(requests: readonly StoreRequest[]): Packed {
  const list: unknown[] = [];
  for (const request of requests) {
    if (request.op === 'commit') packCommit(list, request);
    else list.push(request);
  }
  return list;
}

function packCommit(list: unknown[], { id, commit }: CommitRequest): void {
  const { order, maxSeq, site, bulk, arming, state, inputs, reported, audit, verifications, silent } = commit;
  list.push(id, order, maxSeq, arming, state, inputs, reported, audit, verifications, silent);
  packRows(list, site);
  packRows(list, bulk);
}

function packRows(list: unknown[], rows: readonly WireRow[] | null): void {
  list.push(rows?.length ?? 0);
  for (const [ev, toCloud, media] of rows ?? []) list.push(...ev, toCloud, media);
}

export function unpacked(list: Packed): StoreRequest[] {
  const requests: StoreRequest[] = [];
  const reader = new Reader(list);
  while (!reader.isAtEnd) {
    const next = reader.take<number | StoreRequest>();
    requests.push(typeof next === 'number' ? { id: next, op: 'commit', commit: unpackCommit(reader) } : next);
  }
  return requests;
}

/** Takes the values in the order in which `packCommit` puts them. */
function unpackCommit(reader: Reader): WireCommit {
  return {
    order: reader.take(),
    maxSeq: reader.take(),
    arming: reader.take(),
    state: reader.take(),
    inputs: reader.take(),
    reported: reader.take(),
    audit: reader.take(),
    verifications: reader.take(),
    silent: reader.take(),
    site: unpackRows(reader),
    bulk: unpackRows(reader),
  };
}

function unpackRows(reader: Reader): WireRow[] | null {
  const count = reader.take<number>();
  if (count === 0) return null;
  const rows: WireRow[] = [];
  for (let index = 0; index < count; index += 1) rows.push([reader.takeEv(), reader.take(), reader.take()]);
  return rows;
}

/** Only `packed` writes such a list, so what is taken has the type it was put in with. */
class Reader {
  readonly #list: Packed;
  #at = 0;

  constructor(list: Packed) {
    this.#list = list;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#list.length;
  }

  take<T>(): T {
    this.#at += 1;
    return this.#list[this.#at - 1] as T;
  }

  takeEv(): EvValues {
    this.#at += evLength;
    return this.#list.slice(this.#at - evLength, this.#at) as unknown as EvValues;
  }
}
