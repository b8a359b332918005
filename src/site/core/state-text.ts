import type { SiteState } from './types.ts';
import { own } from './work.ts';

/** One value of a member, with what stands before it: a comma, its name. */
interface Token {
  /** In a list there is none. */
  readonly key: string | undefined;
  readonly isFirst: boolean;
  readonly value: string;
  readonly text: string;
  /** A piece ends with it. */
  readonly ends: boolean;
}

interface Written {
  readonly member: unknown;
  readonly tokens: readonly Token[];
}

interface Piece {
  readonly texts: readonly string[];
  readonly text: string;
}

/** Characters of a piece, at most with the token that makes it longer. */
const longest = 16_384;
/** One token of so many ends a piece. */
const oneOf = 16;

/**
 * Writes states as `writeState` does, in pieces. What is the same object as in the state before keeps its text, and a piece of the same texts is
 * the same string: one decision changes a few of some thousand objects, and to write all of them again would take the main thread longer than
 * to decide. `head` stands before the text. Holds one state as text.
 */
export function stateWriter(): (state: SiteState, head?: string) => readonly string[] {
  /** Of values that are objects, as long as a state holds them. */
  const known = new WeakMap<object, Token>();
  const written = new Map<string, Written>();
  /** By the first text of each. */
  let pieces: ReadonlyMap<string, Piece> = new Map();

  function writeMember(name: string, member: unknown): Token[] {
    if (typeof member !== 'object' || member === null) return [tokenOf(name, true, JSON.stringify(member))];
    const isList = Array.isArray(member);
    const tokens = [punctuation(`${JSON.stringify(name)}:${isList ? '[' : '{'}`)];
    const write = (key: string | undefined, value: unknown) => tokens.push(writeValue(key, tokens.length === 1, value));
    const record = member as Readonly<Record<string, unknown>>;
    if (isList) for (const value of member) write(undefined, value);
    else for (const key in record) if (own(record, key) !== undefined) write(key, record[key]);
    tokens.push(punctuation(isList ? ']' : '}'));
    return tokens;
  }

  function writeValue(key: string | undefined, isFirst: boolean, value: unknown): Token {
    if (typeof value !== 'object' || value === null) return tokenOf(key, isFirst, JSON.stringify(value));
    const old = known.get(value);
    if (old !== undefined && old.key === key && old.isFirst === isFirst) return old;
    const token = tokenOf(key, isFirst, old?.value ?? JSON.stringify(value));
    known.set(value, token);
    return token;
  }

  return (state, head = '') => {
    const tokens = [punctuation(`${head}{"version":1,"state":{`)];
    for (const [name, member] of Object.entries(state)) {
      if (member === undefined) continue;
      if (written.get(name)?.member !== member) written.set(name, { member, tokens: writeMember(name, member) });
      if (tokens.length > 1) tokens.push(comma);
      tokens.push(...(written.get(name)?.tokens ?? []));
    }
    tokens.push(punctuation('}}'));
    const made = inPieces(tokens, pieces);
    pieces = new Map(made.map((piece) => [piece.texts[0] ?? '', piece]));
    return made.map(({ text }) => text);
  };
}

/**
 * Where a piece ends is told by what a token says, not by its place: when the first of a list goes and another one comes at its end, all pieces
 * between stay the same.
 */
function inPieces(tokens: readonly Token[], before: ReadonlyMap<string, Piece>): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  let length = 0;
  let index = 0;
  for (const { text, ends } of tokens) {
    index += 1;
    length += text.length;
    if (!ends && length <= longest && index < tokens.length) continue;
    pieces.push(pieceOf(tokens, from, index, before.get(tokens[from]?.text ?? '')));
    from = index;
    length = 0;
  }
  return pieces;
}

/** The one before where it says the same. */
function pieceOf(tokens: readonly Token[], from: number, to: number, before: Piece | undefined): Piece {
  if (before?.texts.length === to - from && before.texts.every((text, index) => tokens[from + index]?.text === text))
    return before;
  const texts = tokens.slice(from, to).map(({ text }) => text);
  return { texts, text: texts.join('') };
}

function tokenOf(key: string | undefined, isFirst: boolean, value: string): Token {
  const text = `${isFirst ? '' : ','}${key === undefined ? '' : `${JSON.stringify(key)}:`}${value}`;
  return { key, isFirst, value, text, ends: sumOf(value) % oneOf === 0 };
}

const punctuation = (text: string): Token => ({ key: undefined, isFirst: true, value: text, text, ends: false });
const comma = punctuation(',');

/** Of its first characters, among which an id is. */
function sumOf(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length && at < 64; at += 1) sum += text.charCodeAt(at);
  return sum;
}
