import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { SitewardError } from '#errors.ts';
import { Secret } from '#lib/secret.ts';
import { hiddenTerminal } from '../ask-code.ts';
import { withFile } from '../named-file.ts';
import { pipedLines } from '../piped-code.ts';
import { printable } from '../table.ts';

export interface PasswordOptions {
  readonly user?: string;
  readonly passwordFile?: string;
  readonly passwordStdin: boolean;
}

/**
 * The password of the camera's user: from a file, from standard input, or asked for without being shown. Undefined without
 * a user. `place` is said where it is asked for. Throws `no_terminal`, `file_unusable` and `code_refused`; no message repeats it.
 */
export async function cameraPassword(
  { user, passwordFile, passwordStdin }: PasswordOptions,
  place: string,
): Promise<Secret | undefined> {
  if (user === undefined) return undefined;
  if (passwordFile !== undefined) {
    // Whole: npm runs this in the folder of the package, which need not be that of who typed a name alone.
    const path = resolve(passwordFile);
    const text = await withFile(path, () => readFile(path, 'utf8'));
    return asPassword(text.replace(/\r?\n$/, ''), path);
  }
  if (passwordStdin) {
    const [line = '', ...more] = await pipedLines(1);
    if (more.length > 0) throw unfit('standard input must hold the password and nothing else');
    return asPassword(utf8(line), 'standard input');
  }
  using terminal = hiddenTerminal();
  if (terminal === undefined)
    throw new SitewardError(
      'no_terminal',
      'there is no terminal to ask on; say --password-file FILE or --password-stdin',
    );
  return asPassword(
    utf8(await terminal.ask(`password of user ${printable(user)} at ${printable(place)}`)),
    'what was typed',
  );
}

/** What was read byte by byte. */
const utf8 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');

function asPassword(text: string, from: string): Secret {
  if (text === '') throw unfit(`${from} holds no password`);
  if (text.length > 128 || /\p{Cc}/u.test(text)) throw unfit(`${from} holds more than a password of one line`);
  return new Secret(text);
}

const unfit = (message: string) => new SitewardError('request_invalid', message);
