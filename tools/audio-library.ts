import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtinList } from '#devices/audio/library/builtin.ts';
import { measured } from '#devices/audio/library/measure.ts';
import type { StoredMessage } from '#devices/audio/library/message.ts';
import { chime, ding, joined, pause, siren } from '#devices/audio/library/tones.ts';
import { readWav } from '#devices/audio/wav.ts';
import { evened } from './audio-level.ts';
import { type Attention, type Language, languages, spoken } from './audio-texts.ts';

// Makes the spoken messages of the package: espeak-ng speaks them, sox makes them fit for small speakers. The same programs make
// the same bytes; `audio-library.sha256` says which. Run as `npm run audio-library -- FOLDER`; `--write` keeps new digests.

/** As `sha256sum --check` takes it. Made with espeak-ng 1.51 and sox 14.4.2, those of Debian 12. */
export const digestList = join(import.meta.dirname, 'audio-library.sha256');

const before: Readonly<Record<Attention, () => Int16Array>> = {
  siren,
  chime,
  ding,
  none: () => new Int16Array(0),
};
/** How loud the words are to the ear, so that no message is missed or frightens beside another. */
export const targetLufs = { alarm: -13, other: -16 } as const;
/** Between what is heard first and the words. */
const breathS = 0.25;

/** What small speakers do not play goes, silence at both ends too; words in noise need little between loud and quiet. */
const effects = [
  ...['gain', '-6', 'highpass', '120'],
  ...['silence', '1', '0.02', '0.5%', 'reverse', 'silence', '1', '0.02', '0.5%', 'reverse'],
  ...['gain', '-n', '-9', 'compand', '0.005,0.2', '6:-60,-60,-30,-16,-6,-9', '-3', '-60', '0.005'],
];

/** Writes each message as `KEY.wav` and the list of them. Returns the lines of the digest list. */
export async function buildAudioLibrary(folder: string): Promise<string[]> {
  mkdirSync(folder, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'siteward-audio-'));
  try {
    const messages: StoredMessage[] = [];
    for (const message of spoken)
      for (const language of Object.keys(languages) as Language[]) {
        const { tag, voice, draft } = languages[language];
        const { name, text } = message[language];
        const key = `${message.key}.${language}`;
        const loud = targetLufs[message.category === 'alarm' ? 'alarm' : 'other'];
        const words = await evened(speak(text, voice, scratch), loud);
        const attention = await attentionOf(message.before);
        const breath = pause(attention.length === 0 ? 0 : breathS);
        const { wav, facts } = await measured(joined(attention, breath, words));
        writeFileSync(join(folder, `${key}.wav`), wav);
        const description = draft ? `Draft. ${text}` : text;
        messages.push({ key, name, description, language: tag, category: message.category, ...facts });
      }
    writeFileSync(join(folder, builtinList), `${JSON.stringify(messages, undefined, 2)}\n`);
    return messages.map(({ key, sha256 }) => `${sha256}  ${key}.wav`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** A siren is as loud as it can be; a chime is no louder than the words after it. */
async function attentionOf(kind: Attention): Promise<Int16Array> {
  const samples = before[kind]();
  return kind === 'siren' || kind === 'none' ? samples : evened(samples, targetLufs.other);
}

function speak(text: string, voice: string, scratch: string): Int16Array {
  const [raw, made] = [join(scratch, 'raw.wav'), join(scratch, 'made.wav')];
  const env = { PATH: process.env.PATH, LC_ALL: 'C' };
  execFileSync('espeak-ng', ['-v', voice, '-s', '150', '-a', '180', '-w', raw, text], { env });
  // Neither dither nor chance.
  execFileSync('sox', ['-D', '-R', raw, '-r', '48000', '-c', '1', '-b', '16', made, ...effects], { env });
  return readWav(readFileSync(made)).samples;
}

/** Throws where what was built is not what the digest list says. */
export function checkDigests(lines: readonly string[]): void {
  const expected = readFileSync(digestList, 'utf8').trimEnd().split('\n');
  const others = lines.filter((line) => !expected.includes(line)).map((line) => line.split('  ')[1]);
  if (others.length > 0 || lines.length !== expected.length)
    throw new Error(
      `these messages are not what audio-library.sha256 says: ${others.join(', ') || 'some are missing'}`,
    );
}

if (import.meta.main) {
  const [folder, ...more] = process.argv.slice(2);
  if (folder === undefined || folder.startsWith('-')) {
    console.error(
      'usage: npm run audio-library -- FOLDER [--write]\n\nMakes the spoken messages in FOLDER; --write keeps their digests.',
    );
    process.exit(2);
  }
  const lines = await buildAudioLibrary(folder);
  if (more.includes('--write')) writeFileSync(digestList, `${lines.join('\n')}\n`);
  checkDigests(lines);
  console.log(`${lines.length} messages in ${folder}`);
}
