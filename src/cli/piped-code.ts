import { SitewardError } from '#errors.ts';
import { codePattern, codeRule } from '#site/model/index.ts';

const capBytes = 1024;

/**
 * The lines of standard input: as many as are wanted, or all to its end where there are fewer. More that came with them is
 * given back as well. Throws `code_refused` for more than codes can be.
 */
export async function pipedLines(
  wanted: number,
  input: AsyncIterable<Buffer> = process.stdin,
): Promise<readonly string[]> {
  let text = '';
  for await (const chunk of input) {
    text += chunk.toString('latin1');
    if (text.length > capBytes) throw new SitewardError('code_refused', 'standard input holds more than codes');
    // Whoever types the line, or holds the pipe open, need not end it.
    if (text.split('\n').length > wanted) break;
  }
  return text.replace(/\r?\n$/, '').split(/\r?\n/);
}

/** What a person typed. Throws `code_refused` for what is no code; it is not repeated. */
export function asCode(text: string, what = 'a code'): string {
  if (codePattern.test(text)) return text;
  throw new SitewardError('code_refused', `${what} ${codeRule}`);
}

/** The one code that standard input holds. Throws `code_refused` for anything else; what it was is not repeated. */
export async function pipedCode(input?: AsyncIterable<Buffer>): Promise<string> {
  const [code = '', ...rest] = await pipedLines(1, input);
  if (rest.length > 0 || !codePattern.test(code))
    throw new SitewardError('code_refused', 'standard input must hold the code and nothing else');
  return code;
}
