import { inputsPage } from '#lan/http/index.ts';
import { answered, type Control, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { intoFile } from './named-file.ts';

/** The recorded input log of the running daemon, oldest line first. */
export async function* recordedLines(control: Control): AsyncGenerator<string> {
  for (let cursor: string | undefined; ; ) {
    const query = cursor === undefined ? {} : { cursor };
    const { json } = answered(await control.client.listInputs({ query, signal: patience() }));
    const { items, next } = inputsPage.parse(json);
    yield* items;
    if (next === null) return;
    cursor = next;
  }
}

/** `siteward inputs export FILE`. */
export async function exportInputs(options: {
  file: string;
  force: boolean;
  json: boolean;
  socket: string;
}): Promise<ExitCode> {
  const { file, force } = options;
  await using control = openControl(options.socket);
  const count = await intoFile(file, force, async (handle) => {
    let lines = 0;
    for await (const line of recordedLines(control)) {
      await handle.write(`${line}\n`);
      lines += 1;
    }
    return lines;
  });
  console.log(options.json ? JSON.stringify({ lines: count }) : `${count} lines in ${file}`);
  return exitCodes.ok;
}
