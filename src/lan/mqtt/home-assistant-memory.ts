import type { Logger } from 'pino';
import { describe } from '#errors.ts';
import { type Announced, readAnnounced } from './home-assistant-announced.ts';

/** A small memory that outlives a restart; a value holds 4 KiB. */
export interface HaMemory {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<void>;
  delete(key: string): Promise<void>;
}

const valueChars = 4000;
/** A site of thousands of zones is far below it. */
const valueCap = 200;
const keyOf = (index: number) => `announced-${index}`;

/**
 * Keeps what Home Assistant was told. Without a memory, or while it fails, that is known only as long as siteward runs and
 * from what the broker has retained.
 */
export function announcedMemory(memory: HaMemory | undefined, log: Logger) {
  let written: string | undefined;

  async function readText(from: HaMemory): Promise<string> {
    let text = '';
    for (let index = 0; index < valueCap; index += 1) {
      const part = await from.get(keyOf(index));
      if (part === undefined) break;
      text += part;
    }
    return text;
  }

  async function writeText(to: HaMemory, text: string): Promise<void> {
    const parts = Math.ceil(text.length / valueChars);
    for (let index = 0; index < parts; index += 1) {
      await to.set(keyOf(index), text.slice(index * valueChars, (index + 1) * valueChars));
    }
    for (let index = parts; (await to.get(keyOf(index))) !== undefined; index += 1) await to.delete(keyOf(index));
  }

  return {
    /** Rejects while the memory cannot be read. */
    async read(): Promise<Announced | undefined> {
      return memory === undefined ? undefined : readAnnounced(await readText(memory));
    },
    /** Undefined forgets. Never rejects: what could not be kept is kept the next time. */
    async write(announced: Announced | undefined): Promise<void> {
      const text = announced === undefined ? '' : JSON.stringify(announced);
      if (memory === undefined || text === written || text.length > valueCap * valueChars) return;
      try {
        await writeText(memory, text);
        written = text;
      } catch (error) {
        log.warn({ reason: describe(error) }, 'what Home Assistant was told could not be kept');
      }
    },
  };
}
