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
