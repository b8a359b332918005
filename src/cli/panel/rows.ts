import { createReadStream } from 'node:fs';
import { z } from 'zod';
import type { Message } from '#devices/panels/index.ts';
import { jsonOf } from '#lib/json-text.ts';
import { fileFailure } from '../named-file.ts';

/** One recorded message; `dir` and `means` stand in hand-made recordings. */
const recorded = z.object({
  topic: z.string().min(1).max(65_535),
  payload: z.string(),
  retain: z.boolean().default(false),
  dir: z.string().optional(),
  means: z.record(z.string(), z.unknown()).optional(),
});

export interface Row {
  readonly line: number;
  readonly message: Message;
  readonly means?: Readonly<Record<string, unknown>>;
  /** A command to the bridge, which no profile reads. */
  readonly isCommand: boolean;
}

const lineCap = 1024 * 1024;

/** The rows of a recording, one at a time. Throws `file_unusable`, and with the number of the line that is none. */
export async function* rowsOf(path: string): AsyncGenerator<Row> {
  let line = 0;
  for await (const text of linesOf(path)) {
    line += 1;
    if (text.trim() === '') continue;
    const parsed = recorded.safeParse(jsonOf(text));
    if (!parsed.success)
      throw new Error(`${path}:${line}: is no message; it takes {"topic": "...", "payload": "...", "retain": false}`);
    const { topic, payload, retain, dir, means } = parsed.data;
    yield {
      line,
      message: { topic, payload: Buffer.from(payload), retain },
      ...(means !== undefined && { means }),
      isCommand: dir === 'to_bridge',
    };
  }
}

async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunksOf(path)) {
    const parts = (rest + String(chunk)).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
    if (rest.length > lineCap) throw new Error(`${path}: a line is longer than ${lineCap} bytes; this is no recording`);
  }
  yield rest;
}

async function* chunksOf(path: string): AsyncGenerator<string> {
  try {
    yield* createReadStream(path, { encoding: 'utf8' });
  } catch (error) {
    throw fileFailure(path, error);
  }
}
