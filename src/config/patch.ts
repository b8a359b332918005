import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, Parser, parseDocument, visit } from 'yaml';
import { blanked, programs, withoutAccount } from './form.ts';
import { isShown } from './hidden.ts';

/** What changes in a file, line by line, for people. */

export interface PatchLine {
  /** `-`: it goes, `+`: it comes. */
  readonly sign: '+' | '-';
  /** Counted from 1, in the file before or after. */
  readonly line: number;
  readonly text: string;
}

/** Groups that may hold zones of silent hold-up: what is blanked whether it does or not tells nothing (safety 4). */
const zoneGroups: ReadonlySet<unknown> = new Set(['inputs', 'zones', 'users']);

/** Lines that are told; only a file that is written anew as a whole has more. */
const linesCap = 1000;
/** Above this, what differs is told as one piece. */
const comparedCap = 1_000_000;

/**
 * Lines that go and come, in the order of the file. What `shownConfig` does not show is not in them either, nor is any comment: both may
 * be what another reader of the file alone may know.
 */
export function patchOf(before: string, after: string): readonly PatchLine[] {
  const [old, fresh] = [before.split('\n'), after.split('\n')];
  const [shownOld, shownFresh] = [shownLines(before), shownLines(after)];
  const goes = (index: number): PatchLine => ({ sign: '-', line: index + 1, text: shownOld[index] ?? '' });
  const comes = (index: number): PatchLine => ({ sign: '+', line: index + 1, text: shownFresh[index] ?? '' });
  return steps(old, fresh)
    .map(({ sign, index }) => (sign === '-' ? goes(index) : comes(index)))
    .slice(0, linesCap);
}

type Step = { readonly sign: '+' | '-'; readonly index: number };

function steps(old: readonly string[], fresh: readonly string[]): Step[] {
  const least = Math.min(old.length, fresh.length);
  let start = 0;
  while (start < least && old[start] === fresh[start]) start += 1;
  let same = 0;
  while (same < least - start && old[old.length - 1 - same] === fresh[fresh.length - 1 - same]) same += 1;
  const [oldEnd, freshEnd] = [old.length - same, fresh.length - same];
  const [rows, columns] = [oldEnd - start, freshEnd - start];
  // By the longest common part; common[i][j] is that of what is left from i and j.
  const isCompared = rows * columns <= comparedCap;
  const common = Array.from({ length: isCompared ? rows + 1 : 0 }, () => new Uint32Array(columns + 1));
  const left = (i: number, j: number): number => common[i]?.[j] ?? 0;
  const isSame = (i: number, j: number): boolean => old[start + i] === fresh[start + j];
  for (let i = common.length - 2; i >= 0; i -= 1)
    for (let j = columns - 1; j >= 0; j -= 1) {
      const row = common[i];
      if (row !== undefined) row[j] = isSame(i, j) ? left(i + 1, j + 1) + 1 : Math.max(left(i + 1, j), left(i, j + 1));
    }
  const found: Step[] = [];
  let [i, j] = [0, 0];
  while (i < rows || j < columns) {
    if (isCompared && i < rows && j < columns && isSame(i, j)) [i, j] = [i + 1, j + 1];
    else if (i < rows && (j >= columns || left(i + 1, j) >= left(i, j + 1))) {
      found.push({ sign: '-', index: start + i });
      i += 1;
    } else {
      found.push({ sign: '+', index: start + j });
      j += 1;
    }
  }
  return found;
}

interface Hidden {
  readonly from: number;
  readonly to: number;
  readonly as: string;
}

/** As many lines as the text has. */
function shownLines(text: string): readonly string[] {
  const hidden = [...hiddenValues(text), ...hiddenComments(text)].sort((a, b) => a.from - b.from || b.to - a.to);
  let [shown, at] = ['', 0];
  for (const { from, to, as } of hidden) {
    if (from < at) continue;
    // Its line ends stay, so that the lines keep their numbers.
    shown += text.slice(at, from) + as + text.slice(from, to).replaceAll(/[^\n]/g, '');
    at = to;
  }
  return (shown + text.slice(at)).split('\n').map((line) => line.replace(/\r$/, ''));
}

function hiddenValues(text: string): Hidden[] {
  const document = parseDocument(text, { logLevel: 'silent' });
  const found: Hidden[] = [];
  const hide = (from: unknown, to: unknown = from) => {
    const [start, end] = [rangeOf(from)?.[0], rangeOf(to)?.[1]];
    if (start !== undefined && end !== undefined && end > start) found.push({ from: start, to: end, as: blanked });
  };
  const isHidden = (node: unknown): boolean =>
    (isMap(node) || isAlias(node)) && !isShown((node as Node).toJS(document));
  visit(document, {
    Pair(_, pair: Pair) {
      const { key, value } = pair;
      const name = isScalar(key) ? key.value : undefined;
      if (isHidden(value)) hide(key, value);
      else if (zoneGroups.has(name)) hide(value);
      else if (programs.has(String(name)) && isSeq(value)) for (const word of value.items.slice(1)) hide(word);
      else return undefined;
      return visit.SKIP;
    },
    Map(_, map) {
      if (!isHidden(map)) return undefined;
      hide(map);
      return visit.SKIP;
    },
    Scalar(_, scalar) {
      const { value } = scalar;
      if (typeof value === 'string' && withoutAccount(value) !== value) hide(scalar);
    },
  });
  return found;
}

const rangeOf = (node: unknown) =>
  isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range : undefined;

function hiddenComments(text: string): Hidden[] {
  const found: Hidden[] = [];
  const walk = (token: unknown): void => {
    if (typeof token !== 'object' || token === null) return;
    if (isComment(token)) found.push({ from: token.offset, to: token.offset + token.source.length, as: '# ...' });
    else for (const part of Object.values(token)) walk(part);
  };
  for (const token of new Parser().parse(text)) walk(token);
  return found;
}

const isComment = (token: object): token is { offset: number; source: string } =>
  'type' in token && token.type === 'comment';
