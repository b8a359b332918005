import { SitewardError } from '#errors.ts';

export type Path = readonly (string | number)[];

/** One thing wrong with the configuration file, at the place where it can be put right. */
export interface Problem {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly col: number;
  /** `cameras[0].url`; empty for the file as a whole. */
  readonly path: string;
  /** What is wrong. Never a value from the file: it could be a secret in the wrong place. */
  readonly message: string;
  readonly expected?: string;
  /** The nearest valid key or word. */
  readonly nearest?: string;
}

/** `config_invalid`, with everything that is wrong with the file at once. */
export class ConfigError extends SitewardError {
  readonly problems: readonly Problem[];

  constructor(file: string, problems: readonly Problem[]) {
    const first = problems[0] === undefined ? '' : `: ${formatProblem(problems[0])}`;
    const rest = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
    super('config_invalid', `${file} has ${problems.length} error${problems.length === 1 ? '' : 's'}${first}${rest}`, {
      facts: { file, errors: problems.length },
    });
    this.problems = problems;
  }
}

/** `file:line:col path: what is wrong, expected ..., did you mean ...?` */
export const formatProblem = (problem: Problem): string =>
  `${problem.file}:${problem.line}:${problem.col} ${pathAndText(problem)}`;

/** The same without its place in the file. */
export const pathAndText = (problem: Problem): string =>
  `${problem.path === '' ? '' : `${problem.path}: `}${problemText(problem)}`;

/** The same without its path, for where that stands beside it. */
export function problemText({ message, expected, nearest }: Problem): string {
  const wanted = expected === undefined ? '' : `, expected ${expected}`;
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`;
  return `${message}${wanted}${hint}`;
}

export function formatPath(path: Path): string {
  let text = '';
  for (const part of path) text += typeof part === 'number' ? `[${part}]` : `${text === '' ? '' : '.'}${part}`;
  return text;
}

export const inFileOrder = (a: Problem, b: Problem): number => a.line - b.line || a.col - b.col;
