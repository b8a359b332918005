/**
 * A state comes in pieces of text, and most of them are those of the state before. Each crosses to the store thread once, under a number that
 * both sides know; both forget what the newest state does not hold.
 */
export interface NumberedPieces {
  /** Of all its pieces, in their order. */
  readonly numbers: readonly number[];
  /** The texts of those that cross for the first time, in the order of their numbers. */
  readonly fresh: readonly string[];
}

/** For one thread; another one knows no piece. */
export function numberPieces(): (pieces: readonly string[]) => NumberedPieces {
  let known = new Map<string, number>();
  let last = 0;
  return (pieces) => {
    const now = new Map<string, number>();
    const fresh: string[] = [];
    for (const text of pieces) {
      if (now.has(text)) continue;
      const number = known.get(text) ?? last + 1;
      if (number > last) fresh.push(text);
      last = Math.max(last, number);
      now.set(text, number);
    }
    known = now;
    return { numbers: pieces.map((text) => now.get(text) ?? 0), fresh };
  };
}

/** The other side: takes all that `numberPieces` gives, in its order. */
export function piecesOfNumbers(): (numbered: NumberedPieces) => readonly string[] {
  let known = new Map<number, string>();
  let last = 0;
  return ({ numbers, fresh }) => {
    for (const text of fresh) {
      last += 1;
      known.set(last, text);
    }
    const pieces = numbers.map((number) => {
      const text = known.get(number);
      if (text === undefined) throw new TypeError('a piece of a state did not cross to the store thread');
      return text;
    });
    known = new Map(numbers.map((number, index) => [number, pieces[index] ?? '']));
    return pieces;
  };
}
