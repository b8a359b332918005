import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type SoundFormat, type SpeakerDriver, SpeakerError } from '../driver.ts';
import { wavHead } from '../wav.ts';
import { createNullDriver, type Hearing, type NullOptions } from './null.ts';

export interface CaptureOptions extends Omit<NullOptions, 'hear'> {
  /** `000001.wav`, `000002.wav`: one for each sound, also where it was not heard to its end. */
  readonly folder: string;
  /** The oldest go where there are more. */
  readonly keep?: number;
}

const name = /^\d{6}\.wav$/;
const nameOf = (number: number) => `${String(number).padStart(6, '0')}.wav`;

/** A simulated speaker which writes down what would have been heard. */
export function createCaptureDriver({ folder, keep = 20, ...options }: CaptureOptions): SpeakerDriver {
  return createNullDriver({ ...options, hear: (format) => createHearing(folder, keep, format) });
}

function createHearing(folder: string, keep: number, format: SoundFormat): Hearing {
  let bytes = 0;
  const opened = nextFile(folder, keep).then(async (file) => {
    const handle = await open(file, 'wx', 0o600);
    await handle.write(wavHead(format, 0));
    return handle;
  });
  let written = opened.then(() => undefined);
  written.catch(() => undefined);

  return {
    samples(heard) {
      bytes += heard.length;
      const then = written;
      written = then.then(async () => void (await (await opened).writeFile(heard)));
      written.catch(() => undefined);
    },
    async end() {
      try {
        await written;
        const handle = await opened;
        await handle.write(wavHead(format, bytes / (2 * format.channels)), 0, undefined, 0);
      } catch (cause) {
        throw new SpeakerError('device_error', 'what was heard could not be written down', { cause });
      } finally {
        await opened.then(
          (handle) => handle.close(),
          () => undefined,
        );
      }
    },
  };
}

async function nextFile(folder: string, keep: number): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const files = (await readdir(folder)).filter((file) => name.test(file)).sort();
  const tooMany = files.slice(0, Math.max(0, files.length - keep + 1));
  for (const file of tooMany) await rm(join(folder, file), { force: true });
  return join(folder, nameOf(Number.parseInt(files.at(-1) ?? '0', 10) + 1));
}
