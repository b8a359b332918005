/** Work of one name is done one after the other, that of several names side by side; what fails holds up nothing. */
export function createTurns(): <T>(name: string, work: () => Promise<T>) => Promise<T> {
  /** The end of each name's line; none is kept once it is empty. */
  const lines = new Map<string, Promise<void>>();
  return (name, work) => {
    const mine = (lines.get(name) ?? Promise.resolve()).then(work);
    const settled = mine.then(
      () => undefined,
      () => undefined,
    );
    lines.set(name, settled);
    void settled.then(() => {
      if (lines.get(name) === settled) lines.delete(name);
    });
    return mine;
  };
}

/** Runs work when all that was given before is over, done or failed. */
export type Turn = <T>(work: () => Promise<T>) => Promise<T>;

/** A line in which each waits for the one before. */
export function createTurn(): Turn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
