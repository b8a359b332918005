import type { ReadStream, WriteStream } from 'node:tty';
import { SitewardError } from '#errors.ts';
import { asCode } from './piped-code.ts';

/** A terminal on which codes are typed without being shown. Dispose of it, or the terminal stays mute. */
export interface HiddenTerminal extends Disposable {
  /** One line, byte by byte (latin1). Throws `stopped` when the person gives up (Ctrl-C, Ctrl-D) or goes away. */
  ask(question: string): Promise<string>;
}

/** More than any code or password. */
const lineCap = 256;

/** Undefined where nobody can be asked. */
export function hiddenTerminal(
  input: Pick<ReadStream, 'isTTY' | 'setRawMode' | 'on' | 'off' | 'resume' | 'pause'> = process.stdin,
  output: Pick<WriteStream, 'isTTY' | 'write'> = process.stderr,
): HiddenTerminal | undefined {
  if (!input.isTTY || !output.isTTY) return undefined;
  /** Typed ahead of the question. */
  let typed = '';
  let wake = () => {};
  let isOver = false;
  const take = (bytes: Buffer) => {
    // More than any answers take is not kept.
    typed = (typed + bytes.toString('latin1')).slice(0, 16 * lineCap);
    wake();
  };
  const end = () => {
    isOver = true;
    wake();
  };
  input.on('data', take);
  input.on('end', end);
  input.setRawMode(true);
  input.resume();

  async function line(): Promise<string> {
    let text = '';
    for (;;) {
      const key = typed[0];
      typed = typed.slice(1);
      if (key === '\r' || key === '\n') return text;
      if (key === '\u0003' || key === '\u0004' || (key === undefined && isOver))
        throw new SitewardError('stopped', 'given up; nothing was changed');
      // A letter of several bytes goes as one.
      if (key === '\u007f' || key === '\b') text = text.replace(/[^\x80-\xbf]?[\x80-\xbf]*$/, '');
      else if (key !== undefined) text = (text + key).slice(0, lineCap);
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }

  return {
    async ask(question) {
      output.write(`${question}: `);
      try {
        return await line();
      } finally {
        output.write('\n');
      }
    },
    [Symbol.dispose]() {
      input.off('data', take);
      input.off('end', end);
      input.setRawMode(false);
      input.pause();
    },
  };
}

/** The terminal of the person who is there. Throws `no_terminal` where nobody is. */
export function mustAsk(): HiddenTerminal {
  const terminal = hiddenTerminal();
  if (terminal !== undefined) return terminal;
  throw new SitewardError('no_terminal', 'there is no terminal to ask on; say --code-stdin');
}

/** One code from a person. Throws `no_terminal`, `code_refused` for what is none, and as `ask` does. */
export async function askCode(question = 'code'): Promise<string> {
  using terminal = mustAsk();
  return asCode(await terminal.ask(question));
}
