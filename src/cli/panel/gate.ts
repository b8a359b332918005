/** Lines a second that people can still follow, and bytes that may wait for a slow terminal or pipe. */
const linesPerSecond = 50;
const waitingBytes = 256 * 1024;

export interface LineGate extends Disposable {
  /** Prints the line, or counts it; the line is made only when it is printed. */
  print(line: () => string): void;
  /** Says what was counted and not printed. */
  flush(): void;
}

/** Standard output under a flood: at most 50 lines a second, and none while the reader is behind. */
export function lineGate(output: Pick<NodeJS.WriteStream, 'write' | 'writableLength'> = process.stdout): LineGate {
  let printed = 0;
  let left = 0;
  const flush = () => {
    if (left > 0) console.error(`siteward: ${left} more messages were counted and not shown`);
    [printed, left] = [0, 0];
  };
  const timer = setInterval(flush, 1000);
  return {
    print(line) {
      if (printed >= linesPerSecond || output.writableLength > waitingBytes) {
        left += 1;
        return;
      }
      printed += 1;
      output.write(`${line()}\n`);
    },
    flush,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
