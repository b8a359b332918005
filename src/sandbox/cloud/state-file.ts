import { open, readFile, rename, rm } from 'node:fs/promises';
import { z } from 'zod';
import { describe, SitewardError } from '#errors.ts';
import { isMissing } from '#lib/system-code.ts';
import { type World, type WorldSnapshot, worldSnapshot } from './world/world.ts';

const fileSchema = z.object({ format: z.literal('siteward-sandbox-1'), world: worldSnapshot });

/** Longest wait from a change to its write, milliseconds. */
const writeDelayMs = 200;

/**
 * What a state file holds; undefined when there is none. Throws `config_unreadable`, and `config_invalid` with the place
 * for a file that no sandbox wrote: it is never overwritten unread.
 */
export async function readStateFile(file: string): Promise<WorldSnapshot | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw new SitewardError('config_unreadable', `The state file cannot be read: ${describe(cause)}`, { cause });
  }
  const invalid = (why: string, cause?: unknown) =>
    new SitewardError('config_invalid', `The state file is not valid: ${why}. Move it away to start afresh.`, {
      cause,
    });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw invalid('it is not JSON', cause);
  }
  const parsed = fileSchema.safeParse(json);
  if (!parsed.success) throw invalid(z.prettifyError(parsed.error));
  return parsed.data.world;
}

/**
 * Writes the world after its changes, each time whole and atomically: to a file beside it, flushed, then renamed. Changes
 * within 200 ms are written together. A write that fails is told to `failed`, and the next change tries again.
 */
export class StateFile {
  readonly #file: string;
  readonly #world: World;
  readonly #failed: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(file: string, world: World, failed: (error: unknown) => void) {
    this.#file = file;
    this.#world = world;
    this.#failed = failed;
    world.onChange = () => {
      this.#timer ??= setTimeout(() => void this.flush().catch(this.#failed), writeDelayMs);
    };
  }

  /** Writes the last state. Throws `state_dir_unusable` when that fails. */
  async close(): Promise<void> {
    this.#world.onChange = () => undefined;
    await this.flush();
  }

  /** Writes now, after a write under way. Throws `state_dir_unusable`. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const next = this.#writing.then(() => this.#write());
    this.#writing = next.catch(() => undefined);
    return next;
  }

  async #write(): Promise<void> {
    const part = `${this.#file}.part`;
    try {
      const handle = await open(part, 'w', 0o600);
      try {
        await handle.writeFile(`${JSON.stringify({ format: 'siteward-sandbox-1', world: this.#world.snapshot() })}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(part, this.#file);
    } catch (cause) {
      await rm(part, { force: true }).catch(() => undefined);
      throw new SitewardError('state_dir_unusable', `The sandbox cannot write its state: ${describe(cause)}`, {
        facts: { file: this.#file },
        cause,
      });
    }
  }
}
