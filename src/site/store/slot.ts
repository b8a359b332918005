import type { FileState } from './protocol.ts';
import type { SiteFile } from './site-file.ts';

/** One of the two files as it is now. */
export interface Slot<F> {
  file: F | undefined;
  state: FileState;
  nextTry: number;
}

export interface Opening<F> {
  readonly file: F;
  readonly damage?: string;
}

/** What of a file that was in use goes on in the one that takes its place. */
export interface Carried {
  readonly newest: SiteFile['newest'];
  readonly reserved: number;
}
