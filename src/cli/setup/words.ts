import type { Question, Talk } from './talk.ts';

/** What a person may type at any question, whatever it asks for. */
type Word = 'help' | 'skip' | 'later';

/** The step is left out (`skip`), or put off. */
export class LeftOut extends Error {
  readonly how: Exclude<Word, 'help'>;
  constructor(how: Exclude<Word, 'help'>) {
    super(`the step is ${how === 'skip' ? 'left out' : 'put off'}`);
    this.how = how;
  }
}

export const wordsText =
  'At each question: help explains, skip leaves the step out (asked again with --again alone), later puts it off; Ctrl-C ends, and what is done is kept.';

/** The same talk, where these words are never taken for an answer. `help` is said for `help`. Throws `LeftOut`. */
export function withWords(talk: Talk, help: readonly string[]): Talk {
  async function answered(
    ask: () => Promise<string | undefined>,
    { initial, check, help: own = check?.(noAnswer) }: Partial<Question> = {},
  ): Promise<string | undefined> {
    for (;;) {
      const typed = await ask();
      const word = wordIn(typed, initial);
      if (word === undefined) return typed;
      if (word !== 'help') throw new LeftOut(word);
      for (const line of own === undefined ? help : [`This question: ${own}`, ...help]) talk.say(`  ${line}`);
    }
  }
  return {
    isThere: talk.isThere,
    say: (text) => talk.say(text),
    ask: (question: Question) =>
      answered(
        () =>
          talk.ask({
            ...question,
            check: (text) => (wordIn(text, question.initial) === undefined ? question.check?.(text) : undefined),
          }),
        question,
      ),
    hidden: (text) => answered(() => talk.hidden(text)),
  };
}

/** Right for no question that looks at its answer. */
const noAnswer = '?';

/** What is offered where nothing is typed is an answer, even a host of the name "help". */
function wordIn(typed: string | undefined, initial: string | undefined): Word | undefined {
  const word = typed?.toLowerCase();
  if (typed === initial) return undefined;
  return word === 'help' || word === 'skip' || word === 'later' ? word : undefined;
}
