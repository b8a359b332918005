import { join } from 'node:path';
import { z } from 'zod';
import { SitewardError } from '#errors.ts';
import { readWav } from '../wav.ts';
import { storedRate } from './limits.ts';
import { digestOf } from './measure.ts';
import { type StoredMessage, storedMessage } from './message.ts';
import { readRegular } from './regular-file.ts';
import { tones } from './tones.ts';

/** Samples of one channel. */
export interface Loaded {
  readonly rate: number;
  readonly samples: Int16Array;
}

/** A message that siteward brings along. */
export interface Builtin {
  readonly message: StoredMessage;
  load(): Promise<Loaded>;
}

/** Beside the files of the built-in set, `KEY.wav` each: what they are. `tools/audio-library.ts` writes both. */
export const builtinList = 'messages.json';

const listed = z.array(storedMessage).max(200);

/** The tones, and the spoken messages of a folder, where there is one. Throws `audio_gone` where its list cannot be read. */
export async function readBuiltins(folder?: string): Promise<Builtin[]> {
  const made = tones.map(({ message, make }) => ({
    message,
    load: async () => ({ rate: storedRate, samples: make() }),
  }));
  return folder === undefined ? made : [...made, ...(await readSpoken(folder))];
}

export async function readSpoken(folder: string): Promise<Builtin[]> {
  const text = await readRegular(join(folder, builtinList)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.from('[]');
    throw error;
  });
  try {
    return listed.parse(JSON.parse(text.toString())).map((message) => ({
      message,
      load: () => loadFile(join(folder, `${message.key}.wav`), message),
    }));
  } catch (cause) {
    throw new SitewardError('audio_gone', 'the built-in messages cannot be read. Install siteward again', { cause });
  }
}

/** The samples of a stored file; only what it should hold. Throws `audio_gone`. */
export async function loadFile(path: string, { key, sha256: expected }: StoredMessage): Promise<Loaded> {
  const facts = { key };
  try {
    const bytes = await readRegular(path);
    if ((await digestOf(bytes)) === expected) return readWav(bytes);
  } catch (cause) {
    throw new SitewardError('audio_gone', `the sound of message ${key} is gone from the disk. Import it again`, {
      facts,
      cause,
    });
  }
  throw new SitewardError('audio_gone', `the sound of message ${key} is damaged on the disk. Import it again`, {
    facts,
  });
}
