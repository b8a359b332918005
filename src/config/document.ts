import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type YAMLError,
} from 'yaml';
import { formatPath, type Path, type Problem } from './problem.ts';

/** A configuration file as parsed: its value, what is wrong with its syntax, and where everything stands. */
export interface ConfigDocument {
  readonly file: string;
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** False when the syntax is so broken that `value` is but a guess. */
  readonly usable: boolean;
  /** A problem at the value of `path`; for a missing value at what surrounds it; `key` points at its name instead. */
  problem(path: Path, what: Omit<Problem, 'file' | 'line' | 'col' | 'path'>, at?: 'value' | 'key'): Problem;
}

/** Parses YAML 1.2. Throws nothing: syntax errors are problems. Messages never quote the file. */
export function parseConfig(file: string, text: string): ConfigDocument {
  const lines = new LineCounter();
  // The parser's warnings quote the file on stderr; logLevel keeps it silent.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const oddKeys = checkKeys(document.contents);
  const position = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), col: Math.max(1, col) };
  };
  const problems = [...document.errors, ...document.warnings].map((error) => ({
    file,
    ...position(error.pos[0]),
    path: '',
    ...describeSyntax(error),
  }));
  for (const offset of oddKeys) {
    problems.push({ file, ...position(offset), path: '', message: 'a key is a list or a group', expected: 'text' });
  }
  const usable = oddKeys.length === 0 && document.errors.every((error) => error.code === 'DUPLICATE_KEY');
  const { value, broken } = plainValue(document);
  if (usable && broken) {
    problems.push({ file, ...position(brokenAlias(document) ?? 0), path: '', ...(syntax.BAD_ALIAS ?? notYaml) });
  }
  return {
    file,
    value,
    problems,
    usable: usable && !broken,
    problem(path, what, at = 'value') {
      const offset = offsetOf(document.contents, path, at);
      return { file, ...position(offset), path: formatPath(path), ...what };
    },
  };
}

function plainValue(document: { toJS(options: { maxAliasCount: number }): unknown }): {
  value: unknown;
  broken: boolean;
} {
  try {
    return { value: document.toJS({ maxAliasCount: 100 }), broken: false };
  } catch {
    return { value: undefined, broken: true };
  }
}

/** Where an alias stands that names nothing; undefined when the aliases are only too many. */
function brokenAlias(document: Document): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Alias(_, alias) {
      if (alias.resolve(document) !== undefined) return undefined;
      offset = alias.range?.[0];
      return visit.BREAK;
    },
  });
  return offset;
}

/**
 * A key written as 01 stays "01": zone numbers are text and keep their leading zeros. Returns where keys stand that
 * are no text at all.
 */
function checkKeys(root: Node | null): number[] {
  const odd: number[] = [];
  visit(root, {
    Pair(_, { key }) {
      if (isMap(key) || isSeq(key) || isAlias(key)) odd.push(key.range?.[0] ?? 0);
      else if (isScalar(key) && typeof key.value !== 'string' && key.source !== undefined) key.value = key.source;
    },
  });
  return odd;
}

function offsetOf(root: Node | null, path: Path, at: 'value' | 'key'): number {
  let offset = root?.range?.[0] ?? 0;
  let node: unknown = root;
  for (const [index, part] of path.entries()) {
    const last = index === path.length - 1;
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && item.key.value === part);
      if (!isPair(pair)) return offset;
      const key = startOf(pair.key) ?? offset;
      offset = last && at === 'key' ? key : (startOf(pair.value) ?? key);
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part];
      offset = startOf(node) ?? offset;
    } else {
      return offset;
    }
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  if (!isScalar(node) && !isMap(node) && !isSeq(node)) return undefined;
  return node.range?.[0];
}

type Said = Pick<Problem, 'message' | 'expected'>;

const syntax: Partial<Record<YAMLError['code'], Said>> = {
  BAD_ALIAS: { message: 'an alias is not valid here', expected: 'quotes around a text that begins with *' },
  BAD_DQ_ESCAPE: {
    message: 'unknown escape in a double-quoted text',
    expected: 'single quotes, or \\\\ for a backslash',
  },
  BAD_INDENT: {
    message: 'the line is indented wrongly',
    expected: 'the same number of spaces for keys that belong together',
  },
  BAD_SCALAR_START: { message: 'a text may not begin with this character', expected: 'quotes around it' },
  BLOCK_AS_IMPLICIT_KEY: { message: 'a key and its value are mixed up', expected: 'one "key: value" per line' },
  DUPLICATE_KEY: { message: 'this key stands twice', expected: 'each key once' },
  MISSING_CHAR: {
    message: 'a character is missing',
    expected: 'a closing quote, bracket or comma, or ": " after the key',
  },
  MULTILINE_IMPLICIT_KEY: { message: 'a key runs over several lines', expected: '": " after the key' },
  MULTIPLE_DOCS: { message: 'a second document begins', expected: 'one document, without --- between' },
  TAB_AS_INDENT: { message: 'a tab is used to indent', expected: 'spaces' },
  TAG_RESOLVE_FAILED: { message: 'unknown tag', expected: 'quotes around a text that begins with !' },
  UNEXPECTED_TOKEN: {
    message: 'something stands where YAML does not allow it',
    expected: 'quotes around special characters',
  },
};

const notYaml: Said = { message: 'is not valid YAML here' };

/** The parser's own messages quote the file, so none of them is used. */
function describeSyntax(error: YAMLError): Said {
  return syntax[error.code] ?? notYaml;
}
