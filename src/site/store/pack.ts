import { type NumberedPieces, numberPieces, piecesOfNumbers } from './pieces.ts';
import type { EvValues, StoreRequest, WireCommit, WireRow } from './protocol.ts';

/**
 * Requests as one flat list, in their order. The serialiser pays for every object and every list it meets: with one
 * of each per row, reading the rows of a rush took the thread longer than writing them takes SQLite.
 */
export type Packed = readonly unknown[];

type CommitRequest = Extract<StoreRequest, { op: 'commit' }>;

/** Values of one row of `ev`. */
const evLength = 14 satisfies EvValues['length'];

/**
 * Packs for one store thread, which must get all of it in its order. A commit is its id, its head, the pieces of its state and the values of
 * its rows, one after the other; everything else goes as it is.
 */
export function packer(): (requests: readonly StoreRequest[]) => Packed {
  const number = numberPieces();
  return (requests) => {
    const list: unknown[] = [];
    for (const request of requests) {
      if (request.op === 'commit') packCommit(list, request, number);
      else list.push(request);
    }
    return list;
  };
}

function packCommit(list: unknown[], { id, commit }: CommitRequest, number: ReturnType<typeof numberPieces>): void {
  const { order, maxSeq, site, bulk, arming, state, inputs, reported, audit, verifications, silent } = commit;
  list.push(id, order, maxSeq, arming, inputs, reported, audit, verifications, silent);
  packState(list, state === null ? null : number(state));
  packRows(list, site);
  packRows(list, bulk);
}

function packState(list: unknown[], state: NumberedPieces | null): void {
  list.push(state === null ? -1 : state.numbers.length);
  if (state !== null) list.push(...state.numbers, state.fresh.length, ...state.fresh);
}

function packRows(list: unknown[], rows: readonly WireRow[] | null): void {
  list.push(rows?.length ?? 0);
  for (const [ev, toCloud, media] of rows ?? []) list.push(...ev, toCloud, media);
}

/** The other side of one `packer`. */
export function unpacker(): (list: Packed) => StoreRequest[] {
  const pieces = piecesOfNumbers();
  return (list) => {
    const requests: StoreRequest[] = [];
    const reader = new Reader(list);
    while (!reader.isAtEnd) {
      const next = reader.take<number | StoreRequest>();
      requests.push(typeof next === 'number' ? { id: next, op: 'commit', commit: unpackCommit(reader, pieces) } : next);
    }
    return requests;
  };
}

/** Takes the values in the order in which `packCommit` puts them. */
function unpackCommit(reader: Reader, pieces: ReturnType<typeof piecesOfNumbers>): WireCommit {
  return {
    order: reader.take(),
    maxSeq: reader.take(),
    arming: reader.take(),
    inputs: reader.take(),
    reported: reader.take(),
    audit: reader.take(),
    verifications: reader.take(),
    silent: reader.take(),
    state: unpackState(reader, pieces),
    site: unpackRows(reader),
    bulk: unpackRows(reader),
  };
}

function unpackState(reader: Reader, pieces: ReturnType<typeof piecesOfNumbers>): WireCommit['state'] {
  const count = reader.take<number>();
  if (count < 0) return null;
  const numbers = reader.takeMany<number>(count);
  return pieces({ numbers, fresh: reader.takeMany<string>(reader.take()) });
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

  takeMany<T>(count: number): readonly T[] {
    this.#at += count;
    return this.#list.slice(this.#at - count, this.#at) as readonly T[];
  }

  takeEv(): EvValues {
    return this.takeMany(evLength) as unknown as EvValues;
  }
}
