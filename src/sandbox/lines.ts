import { createInterface } from 'node:readline';
import { describe } from '#errors.ts';

/** Does one thing with the words after the command; what it returns is printed. */
export type LineCommand = (...words: string[]) => unknown;

/**
 * Runs a simulator by lines on standard input: prints `ready` as one JSON line, then answers each line with one JSON
 * line, `{"ok":true,...}` or `{"ok":false,"error":...}`, in order. Returns at `quit`, at the end of the input or at
 * SIGTERM and SIGINT.
 */
export async function lineCommands(options: {
  ready: object;
  commands: Readonly<Record<string, LineCommand>>;
  input?: NodeJS.ReadableStream;
  print?: (line: string) => void;
}): Promise<void> {
  const print = options.print ?? ((line: string) => process.stdout.write(`${line}\n`));
  const commands = new Map(Object.entries(options.commands));
  const lines = createInterface({ input: options.input ?? process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  const quit = () => lines.close();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, quit);
  print(JSON.stringify(options.ready));
  for await (const line of lines) {
    const [name, ...words] = line.trim().split(/\s+/);
    if (name === 'quit') break;
    if (name === undefined || name === '') continue;
    const command = commands.get(name);
    try {
      if (command === undefined)
        throw new Error(`unknown command, use one of: ${[...commands.keys(), 'quit'].join(', ')}`);
      const result = await command(...words);
      print(JSON.stringify({ ok: true, command: name, ...(typeof result === 'object' ? result : {}) }));
    } catch (error) {
      print(JSON.stringify({ ok: false, command: name, error: describe(error) }));
    }
  }
  lines.close();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, quit);
}
