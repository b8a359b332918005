import { createInterface } from 'node:readline/promises';
import { SitewardError } from '#errors.ts';
import { hiddenTerminal } from '../ask-code.ts';
import { printable } from '../table.ts';

export interface Question {
  readonly text: string;
  /** Taken where nothing is typed. */
  readonly initial?: string | undefined;
  /** What is wrong with an answer, in words. */
  readonly check?: (answer: string) => string | undefined;
  /** What it is about, in a sentence, for `help`; without it, what the check says of another answer. */
  readonly help?: string;
  /** Whether nothing is no answer; `check` is asked then, too. */
  readonly mustAnswer?: boolean;
}

/** The person who is there, if one is. */
export interface Talk {
  readonly isThere: boolean;
  say(text: string): void;
  /** Undefined where nobody is there. Throws `stopped` with Ctrl-C and at the end of the input. */
  ask(question: Question): Promise<string | undefined>;
  /** Typed without being shown; undefined where nobody is there. */
  hidden(text: string): Promise<string | undefined>;
}

export const ended = () =>
  new SitewardError('stopped', 'ended. What is done is kept; "siteward setup" goes on where it stopped');

/** Says nothing beside JSON but on standard error. */
export function talkOn({ interactive, json }: { interactive: boolean; json: boolean }): Talk {
  const isThere = interactive && process.stdin.isTTY === true && process.stderr.isTTY === true;
  const say = (text: string) => (json ? console.error(text) : console.log(text));
  return {
    isThere,
    say,
    async ask({ text, initial, check, mustAnswer = false }) {
      if (!isThere) return undefined;
      for (;;) {
        const typed = (
          await line(`${printable(text)}${initial === undefined ? '' : ` [${printable(initial)}]`}: `)
        ).trim();
        const answer = typed === '' ? (initial ?? '') : typed;
        const problem = answer === '' && !mustAnswer ? undefined : check?.(answer);
        if (problem === undefined) return answer;
        say(`  ${problem}`);
      }
    },
    async hidden(text) {
      using terminal = isThere ? hiddenTerminal() : undefined;
      return terminal === undefined ? undefined : Buffer.from(await terminal.ask(text), 'latin1').toString('utf8');
    },
  };
}

/** A terminal is taken for one question alone: between them Ctrl-C ends the program as any other. */
async function line(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const gone = Promise.withResolvers<never>();
  terminal.on('SIGINT', () => gone.reject(ended()));
  terminal.on('close', () => gone.reject(ended()));
  gone.promise.catch(() => {});
  try {
    return await Promise.race([terminal.question(question), gone.promise]);
  } finally {
    terminal.close();
  }
}
