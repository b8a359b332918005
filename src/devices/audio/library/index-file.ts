import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeDurably } from '#lib/durable-file.ts';
import { jsonOf } from '#lib/json-text.ts';
import { unlessMissing } from '#lib/system-code.ts';
import { limits } from './limits.ts';
import { serviceId, storedMessage } from './message.ts';
import { readRegular } from './regular-file.ts';

/** More ids of the service than messages can be matched to. */
const maxMatches = 200;

const libraryIndex = z.strictObject({
  version: z.literal(1),
  messages: z.array(storedMessage).max(limits.messages),
  /** Which id of the service a message stands for; by key, as built-in ones may, too. */
  matches: z.array(z.strictObject({ key: storedMessage.shape.key, audio_message_id: serviceId })).max(maxMatches),
});
export type LibraryIndex = z.output<typeof libraryIndex>;

const indexName = 'index.json';
/** An index that could not be read is put aside under this name, so that it can be mended by hand. */
export const damagedName = `${indexName}.damaged`;

/** An empty one where there is none, or one that is damaged. */
export async function readIndex(folder: string): Promise<LibraryIndex> {
  const empty: LibraryIndex = { version: 1, messages: [], matches: [] };
  const path = join(folder, indexName);
  const bytes = await readRegular(path).catch(unlessMissing);
  if (bytes === undefined) return empty;
  const parsed = libraryIndex.safeParse(jsonOf(bytes.toString()));
  if (parsed.success) return parsed.data;
  await rename(path, join(folder, damagedName));
  return empty;
}

export const writeIndex = (folder: string, index: LibraryIndex): Promise<void> =>
  writeDurably(join(folder, indexName), `${JSON.stringify(index, undefined, 2)}\n`);
