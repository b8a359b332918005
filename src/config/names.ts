import { SecretRef } from '#lib/secret-ref.ts';
import { cleanNameRule, isCleanName } from '#site/model/index.ts';
import { isShown } from './hidden.ts';
import type { OtherProblem } from './load.ts';
import { formatPath, type Path } from './problem.ts';
import type { Config } from './schema.ts';

interface OddName {
  readonly path: Path;
  readonly name: string;
  /** False within what is not shown (safety 4). */
  readonly isShown: boolean;
}

/** Names for people, wherever they stand, that hold what no name should. */
function oddNames(config: Config): readonly OddName[] {
  const walk = (value: unknown, path: Path, shown: boolean): OddName[] => {
    if (typeof value === 'string')
      return path.at(-1) === 'name' && !isCleanName(value) ? [{ path, name: value, isShown: shown }] : [];
    if (typeof value !== 'object' || value === null || value instanceof SecretRef) return [];
    const within = shown && isShown(value);
    if (Array.isArray(value)) return value.flatMap((item, index) => walk(item, [...path, index], within));
    return Object.entries(value).flatMap(([key, member]) => walk(member, [...path, key], within));
  };
  return walk(config, [], true);
}

/** A file that has one already still counts: the site is protected under an odd name, too. */
export const nameWarnings = (config: Config): string[] =>
  oddNames(config).flatMap((one) =>
    one.isShown ? [`${formatPath(one.path)} ${cleanNameRule}; write another name`] : [],
  );

/** Those that were not in the file before. */
export function newOddNames(before: Config, after: Config): readonly OtherProblem[] {
  const known = new Set(oddNames(before).map(({ name }) => name));
  return oddNames(after).flatMap(({ path, name }) => (known.has(name) ? [] : [{ path, message: cleanNameRule }]));
}
