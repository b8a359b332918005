/** A line of `writers.ts`: all but `open`, `failed` and `gone` promise that it is on disk. */
export type Said =
  | { readonly what: 'open'; readonly pid: number }
  | { readonly what: 'failed'; readonly why: string }
  /** How many delivered events the store has counted as gone so far, in this life. */
  | { readonly what: 'gone'; readonly history: number }
  | {
      readonly what: 'event';
      readonly lane: 'alarm' | 'activity';
      readonly seq: number;
      readonly eventId: string;
    }
  | { readonly what: 'settled'; readonly lane: 'alarm' | 'activity'; readonly seq: number }
  | {
      readonly what: 'picture';
      readonly seq: number;
      readonly index: number;
      readonly file: string;
      readonly sha256: string;
    };
