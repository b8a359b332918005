import { createReadStream } from 'node:fs';
import { basename, extname } from 'node:path';
import { checked, importFields } from '#devices/audio/library/message.ts';
import { type AudioCategory, audioMessageShown, soundFileBytes } from '#site/model/index.ts';
import { answered, openControl } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { withFile } from '../named-file.ts';
import { formatBytes, printable } from '../table.ts';
import { untilStopped } from '../until-stopped.ts';
import { changeMs } from './library.ts';

export interface ImportOptions {
  readonly name?: string;
  readonly key?: string;
  readonly language?: string;
  readonly category?: AudioCategory;
  readonly description?: string;
  readonly replace: boolean;
  readonly json: boolean;
  readonly socket: string;
}

const tellEveryMs = 5_000;

/** `siteward audio import FILE`: the file is read here, and judged by the daemon. */
export async function importMessage(file: string, options: ImportOptions): Promise<ExitCode> {
  const { name = basename(file, extname(file)), key, language, category, description, replace, json } = options;
  using stopped = untilStopped();
  await using control = openControl(options.socket);
  // The daemon judges them as well; nobody waits for a file that is read for nothing.
  checked(importFields, { name, key, language, category, description });
  const sound = await withFile(file, () => readSound(file));
  const query = {
    ...{ name, file_name: basename(file).slice(-255) },
    ...(key !== undefined && { key }),
    ...(language !== undefined && { language }),
    ...(category !== undefined && { category }),
    ...(description !== undefined && { description }),
    ...(replace && { replace: 'true' as const }),
  };
  const { signal } = stopped;
  using _telling = progress(`${printable(file)} (${formatBytes(sound.length)})`);
  const call = { query, body: sound, signal, deadlineMs: changeMs };
  const answer = answered(await control.client.importMessage(call));
  const message = audioMessageShown.parse(answer.json);
  const seconds = message.duration_seconds.toFixed(1);
  if (json) console.log(answer.text);
  else console.log(`${message.key}: ${printable(message.name)}, ${message.category}, ${seconds} s`);
  return exitCodes.ok;
}

/** No more than shows that it is too large: the daemon says so. */
async function readSound(file: string): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(file, { end: soundFileBytes })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** On standard error: it takes a moment for most files, and half a minute for some. */
function progress(what: string): Disposable {
  const began = performance.now();
  console.error(`reading ${what}`);
  const timer = setInterval(() => {
    console.error(`siteward converts and measures it, for ${Math.round((performance.now() - began) / 1000)} s now`);
  }, tellEveryMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
