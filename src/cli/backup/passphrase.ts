import { readFile, stat } from 'node:fs/promises';
import { SitewardError } from '#errors.ts';
import { hiddenTerminal } from '../ask-code.ts';
import { withFile } from '../named-file.ts';

const leastCharacters = 12;
const mostBytes = 1024;

/** Where a passphrase comes from: it is never an argument, which every user of the box could read. */
export interface PassphraseOptions {
  /** A file whose first line it is; `-` for standard input. */
  readonly passphraseFile?: string | undefined;
}

/** For a new backup; typed twice. */
export async function newPassphrase(options: PassphraseOptions): Promise<string> {
  const given = await passphrase(options, async (terminal) => {
    console.error(
      `The backup is sealed with a passphrase of at least ${leastCharacters} characters, such as four or five words. Without it NOBODY can open the backup, siteward's\nmakers neither: write it down, and keep it apart from the backup.`,
    );
    const first = await terminal.ask('passphrase');
    if (first.length >= leastCharacters && (await terminal.ask('once more')) !== first)
      throw refused('the two are not the same; nothing was done');
    return first;
  });
  if ([...given].length < leastCharacters)
    throw refused(`the passphrase must have at least ${leastCharacters} characters, such as four or five words`);
  if (new Set(given).size < 5) throw refused('the passphrase repeats a few characters; take four or five words');
  return given;
}

/** For one that is there. */
export const knownPassphrase = (options: PassphraseOptions): Promise<string> =>
  passphrase(options, (terminal) => terminal.ask('passphrase of the backup'));

async function passphrase(
  { passphraseFile }: PassphraseOptions,
  ask: (terminal: NonNullable<ReturnType<typeof hiddenTerminal>>) => Promise<string>,
): Promise<string> {
  if (passphraseFile === '-') return firstLine(await piped(process.stdin));
  if (passphraseFile !== undefined) {
    const bytes = await withFile(passphraseFile, async () => {
      const about = await stat(passphraseFile);
      if (about.isFile() && (about.mode & 0o004) !== 0)
        throw refused(`everybody may read ${passphraseFile}; chmod 600 it, and take a new passphrase`);
      return readFile(passphraseFile);
    });
    return firstLine(bytes);
  }
  using terminal = hiddenTerminal();
  if (terminal === undefined)
    throw new SitewardError(
      'no_terminal',
      'there is no terminal to ask on; say --passphrase-file FILE, or - for stdin',
    );
  // The terminal gives bytes.
  return Buffer.from(await ask(terminal), 'latin1')
    .toString('utf8')
    .normalize('NFC');
}

async function piped(input: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of input) {
    pieces.push(piece);
    if (pieces.reduce((sum, { length }) => sum + length, 0) > mostBytes) break;
  }
  return Buffer.concat(pieces);
}

function firstLine(bytes: Buffer): string {
  if (bytes.length > mostBytes) throw refused('that is more than a passphrase');
  const [line = '', ...rest] = bytes
    .toString('utf8')
    .replace(/\r?\n$/, '')
    .split(/\r?\n/);
  if (rest.length > 0) throw refused('the passphrase must be the only line');
  if (line === '') throw refused('the passphrase is empty');
  return line.normalize('NFC');
}

const refused = (why: string): SitewardError => new SitewardError('backup_passphrase', why);
