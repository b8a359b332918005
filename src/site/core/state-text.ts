import type { SiteState } from './types.ts';

/** One value of a member, with what stands before it: a comma, its name. */
interface Token {
  readonly start: string;
  readonly value: string;
  readonly text: string;
  /** A piece ends with it. */
  readonly ends: boolean;
}

interface Written {
  readonly member: unknown;
  readonly tokens: readonly Token[];
  readonly known: ReadonlyMap<object, Token>;
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
  let written = new Map<string, Written>();
  /** By the first text of each. */
  let pieces = new Map<string, Piece>();
  return (state, head = '') => {
    const now = new Map<string, Written>();
    for (const [name, member] of Object.entries(state)) {
      const before = written.get(name);
      if (before !== undefined && before.member === member) now.set(name, before);
      else if (member !== undefined) now.set(name, writeMember(name, member, before));
    }
    written = now;
    const made = inPieces(textOf(`${head}{"version":1,"state":{`, [...now.values()]), pieces);
    pieces = new Map(made.map((piece) => [piece.texts[0] ?? '', piece]));
    return made.map(({ text }) => text);
  };
}

function* textOf(head: string, members: readonly Written[]): Iterable<Token> {
  yield punctuation(head);
  for (const [index, { tokens }] of members.entries()) {
    if (index > 0) yield comma;
    yield* tokens;
  }
  yield punctuation('}}');
}

function writeMember(name: string, member: unknown, before: Written | undefined): Written {
  const label = `${JSON.stringify(name)}:`;
  if (typeof member !== 'object' || member === null)
    return { member, tokens: [tokenOf(label, JSON.stringify(member))], known: new Map() };
  const known = new Map<object, Token>();
  const isList = Array.isArray(member);
  const tokens = Object.entries(member)
    .filter(([, value]) => isList || value !== undefined)
    .map(([key, value], index) => {
      const start = `${index === 0 ? '' : ','}${isList ? '' : `${JSON.stringify(key)}:`}`;
      if (typeof value !== 'object' || value === null) return tokenOf(start, JSON.stringify(value));
      const old = before?.known.get(value);
      const token = old?.start === start ? old : tokenOf(start, old?.value ?? JSON.stringify(value));
      known.set(value, token);
      return token;
    });
  const [open, close] = isList ? '[]' : '{}';
  return { member, tokens: [punctuation(`${label}${open}`), ...tokens, punctuation(`${close}`)], known };
}

/**
 * Where a piece ends is told by what a token says, not by its place: when the first of a list goes and another one comes at its end, all pieces
 * between stay the same.
 */
function inPieces(tokens: Iterable<Token>, before: ReadonlyMap<string, Piece>): readonly Piece[] {
  const pieces: Piece[] = [];
  let texts: string[] = [];
  let length = 0;
  function cut(): void {
    const old = before.get(texts[0] ?? '');
    const isSame = old?.texts.length === texts.length && texts.every((text, index) => text === old.texts[index]);
    pieces.push(isSame ? old : { texts, text: texts.join('') });
    texts = [];
    length = 0;
  }
  for (const { text, ends } of tokens) {
    texts.push(text);
    length += text.length;
    if (ends || length > longest) cut();
  }
  if (texts.length > 0) cut();
  return pieces;
}

function tokenOf(start: string, value: string): Token {
  const text = start + value;
  return { start, value, text, ends: sumOf(value) % oneOf === 0 };
}

const punctuation = (text: string): Token => ({ start: '', value: text, text, ends: false });
const comma = punctuation(',');

/** Of its first characters, among which an id is. */
function sumOf(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length && at < 64; at += 1) sum += text.charCodeAt(at);
  return sum;
}
