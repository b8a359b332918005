import type { CleanLine } from './log.ts';

export interface TailLine extends CleanLine {
  /** From 1 with each start of the process; rises by one with each line. */
  readonly seq: number;
}

export interface TailQuery {
  readonly limit: number;
  /** Only later lines, oldest first; without it the newest ones, in the same order. */
  readonly after?: number | undefined;
  /** This one and worse. */
  readonly level?: string | undefined;
  readonly part?: string | undefined;
}

export interface TailPage {
  readonly items: readonly TailLine[];
  /** The `after` of the next question. */
  readonly nextAfter: number;
  /** Lines behind `after` that are no longer kept. */
  readonly missed: number;
}

/** The newest lines of the log as they left, in memory. */
export interface LogTail {
  add(line: CleanLine): void;
  read(query: TailQuery): TailPage;
  readonly lines: number;
  readonly bytes: number;
  /** Lines that have given way. */
  readonly forgotten: number;
}

const ranks: Readonly<Record<string, number>> = { trace: 0, debug: 1, info: 2, warn: 3, error: 4, fatal: 5 };
const rankOf = (level: string): number => ranks[level] ?? 5;

/** A longer line is kept as its beginning. */
const lineCapBytes = 64 * 1024;

export function logTail({ maxLines, maxBytes }: { maxLines: number; maxBytes: number }): LogTail {
  const kept: (TailLine & { readonly bytes: number })[] = [];
  /** Where the oldest line stands in `kept`; what lies before it is cut off now and then. */
  let start = 0;
  let bytes = 0;
  let newest = 0;

  function dropOldest(): void {
    bytes -= kept[start]?.bytes ?? 0;
    start += 1;
    if (start < maxLines) return;
    kept.splice(0, start);
    start = 0;
  }

  return {
    add(line) {
      const size = Buffer.byteLength(line.text);
      const text = size > lineCapBytes ? shortened(line) : line.text;
      newest += 1;
      const entry = { ...line, text, seq: newest, bytes: Math.min(size, Buffer.byteLength(text)) };
      kept.push(entry);
      bytes += entry.bytes;
      while (kept.length - start > maxLines || bytes > maxBytes) dropOldest();
    },

    read({ limit, after: asked, level, part }) {
      const oldest = newest - (kept.length - start) + 1;
      // Numbers of an earlier life of the process: everything is new.
      const after = asked !== undefined && asked > newest ? 0 : asked;
      const fits = (line: TailLine) =>
        (part === undefined || line.part === part) && (level === undefined || rankOf(line.level) >= rankOf(level));
      const items: TailLine[] = [];
      if (after === undefined) {
        for (let at = kept.length - 1; at >= start && items.length < limit; at -= 1) take(kept[at]);
        items.reverse();
        return { items, nextAfter: newest, missed: 0 };
      }
      const first = Math.max(after + 1, oldest);
      let seq = first;
      for (; seq <= newest && items.length < limit; seq += 1) take(kept[start + seq - oldest]);
      return { items, nextAfter: seq - 1, missed: first - after - 1 };

      function take(line: TailLine | undefined): void {
        if (line !== undefined && fits(line)) items.push(line);
      }
    },

    get lines() {
      return kept.length - start;
    },
    get bytes() {
      return bytes;
    },
    get forgotten() {
      return newest - (kept.length - start);
    },
  };
}

/** What tells when, what and of whom; the rest stands in the journal. */
function shortened({ text, level, part }: CleanLine): string {
  const time = /"time":"([^"]{1,40})"/.exec(text.slice(0, 200))?.[1];
  const said = /"msg":("(?:[^"\\]|\\.){0,500}")\}$/.exec(text)?.[1];
  const msg = said === undefined ? 'a line too long to be kept here' : (JSON.parse(said) as string);
  return JSON.stringify({
    level,
    ...(time !== undefined && { time }),
    ...(part !== undefined && { part }),
    msg,
    shortened: true,
  });
}
