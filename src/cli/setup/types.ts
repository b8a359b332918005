import type { Change } from '#config/index.ts';
import type { Access } from '../cloud/access.ts';
import type { Control } from '../control.ts';
import type { SiteFile } from '../site-file.ts';
import type { Answers } from './answers.ts';
import type { Talk } from './talk.ts';

/** What a step found when it looked. */
export interface Found {
  /** Nothing is left to do. */
  readonly isDone: boolean;
  readonly words: string;
}

/** What a step would do now. */
export interface Plan {
  readonly would: string;
  /** What would be written, a line each, to be read before somebody agrees; no secret. */
  readonly values?: readonly string[];
  /** Does it; gives what was done, in words. Each write of it is whole, so that it may be ended at any moment. */
  run(): Promise<string>;
}

/** Why nothing is done now: something is missing, or it is not wanted. */
export interface NotNow {
  readonly kind: 'open' | 'skipped';
  readonly words: string;
}

export interface Step {
  readonly id: string;
  readonly title: string;
  /** Steps that must be done, or skipped, before. */
  readonly needs: readonly string[];
  /** How it is done later, without `siteward setup`. */
  readonly later: string;
  /** Why it cannot be left out, where it cannot. */
  readonly keeps?: (context: Context) => string | undefined;
  isDone(context: Context): Promise<Found>;
  /** Takes what it needs from the answers, else from the person who is there. */
  ask(context: Context): Promise<Plan | NotNow>;
}

export const open = (words: string): NotNow => ({ kind: 'open', words });
export const skipped = (words: string): NotNow => ({ kind: 'skipped', words });

/** What steps work with. */
export interface Context {
  /** Whole path; the file need not be there yet. */
  readonly config: string;
  readonly socket: string;
  readonly answers: Answers;
  readonly talk: Talk;
  readonly dryRun: boolean;
  /** Whether an earlier run has done it, where nothing else can tell. */
  wasDone(step: string): string | undefined;
  /** The file as it is now; in a dry run as the steps before would have written it (`pretend`). Throws `config_*`. */
  site(): SiteFile;
  /** In a dry run: from here on, the steps look at this text in the place of the file. Throws `config_invalid`. */
  pretend(text: string): void;
  hasFile(): boolean;
  /** Checks and writes the changes, keeps the text before beside the file; a daemon that runs takes it, unless `quiet`. */
  change(changes: readonly Change[], options?: { quiet?: boolean }): Promise<void>;
  /** A secret into a file of its own; gives the reference to it. */
  keepSecret(name: string, text: string): Promise<{ readonly file: string }>;
  withCloud<T>(work: (access: Access, signal: AbortSignal) => Promise<T>): Promise<T>;
  withDaemon<T>(work: (control: Control, signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** Of a site that works on its own. */
export const noCloud = ({ site }: Context): NotNow | undefined =>
  site().settings.cloud === undefined ? skipped('the configuration has no cloud') : undefined;
