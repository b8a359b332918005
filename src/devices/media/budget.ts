import { type Lane, lanes } from '#site/model/index.ts';

/** A picture on disk that waits for the cloud. */
export interface Shelved {
  /** Name inside the spool. */
  readonly file: string;
  readonly bytes: number;
  readonly seq: number;
  readonly index: number;
  /** Absent where no row is known that wants it. */
  readonly lane?: Lane;
  readonly silent?: true;
}

/**
 * What gives way so that `bytes` become free for a picture of an event: those of lesser lanes, then those nobody is known
 * to want, at the very end older ones of its own lane; in each clips before snapshots, the oldest event first and of that
 * the last picture. Undefined where all that would not do: nothing gives way in vain. Silent ones stay, since nothing may tell of their
 * loss (safety 4).
 */
export function givingWay(
  shelved: Iterable<Shelved>,
  wanted: { readonly bytes: number; readonly seq: number; readonly lane: Lane },
): readonly Shelved[] | undefined {
  const own = rankOf(wanted);
  const mayGo = [...shelved].filter(
    (one) => one.silent !== true && (rankOf(one) > own || (rankOf(one) === own && one.seq < wanted.seq)),
  );
  mayGo.sort(
    (a, b) => rankOf(b) - rankOf(a) || Number(isClip(b)) - Number(isClip(a)) || a.seq - b.seq || b.index - a.index,
  );
  let left = wanted.bytes;
  const gone: Shelved[] = [];
  for (const one of mayGo) {
    if (left <= 0) break;
    gone.push(one);
    left -= one.bytes;
  }
  return left <= 0 ? gone : undefined;
}

const isClip = ({ file }: Shelved): boolean => file.endsWith('.mp4');

/** The higher, the less it matters. One that nobody is known to want may be an alarm's, whose row comes back. */
const rankOf = ({ lane }: { readonly lane?: Lane }): number => (lane === undefined ? 0.5 : lanes.indexOf(lane));
