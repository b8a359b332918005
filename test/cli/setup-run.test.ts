import { expect, test } from 'vitest';
import { userStep } from '#cli/setup-people.ts';
import { type RunOptions, runSteps } from '#cli/setup-run.ts';
import type { Talk } from '#cli/setup-talk.ts';
import type { Context, Step } from '#cli/setup-types.ts';
import { SitewardError } from '#errors.ts';

/** A person who types `lines`; what is refused of them is said, and the next one taken. */
function scripted(lines: readonly string[]): Talk & { readonly said: string[] } {
  const said: string[] = [];
  const left = [...lines];
  const next = (text: string) => {
    said.push(text);
    const line = left.shift();
    if (line === undefined) throw new Error(`nothing is left to type at: ${text}`);
    return line;
  };
  return {
    said,
    isThere: true,
    say: (text) => void said.push(text),
    async ask({ text, initial, check, mustAnswer = false }) {
      for (;;) {
        const typed = next(text);
        const answer = typed === '' ? (initial ?? '') : typed;
        const problem = answer === '' && !mustAnswer ? undefined : check?.(answer);
        if (problem === undefined) return answer;
        said.push(problem);
      }
    },
    hidden: async (text) => next(text),
  };
}

const step = (run: () => Promise<string>): Step => ({
  ...{ id: 'cameras', title: 'Cameras', needs: [], later: 'by hand' },
  isDone: async () => ({ isDone: false, words: 'none' }),
  ask: async () => ({ would: 'add them', run }),
});

const running = async (one: Step, talk: Talk, more: Partial<RunOptions> = {}) => {
  const context = { talk, dryRun: false } as Context;
  const [outcome] = await runSteps([one], context, {
    ...{ only: undefined, again: false, noted: () => undefined, keep: async () => {} },
    ...more,
  });
  return outcome;
};

test('what is mistyped at "do it now?" is asked again, and nothing of the step is lost', async () => {
  const talk = scripted(['yse', 'no', '']);
  expect(
    await running(
      step(async () => 'added'),
      talk,
    ),
  ).toMatchObject({ state: 'done', words: 'added' });
  expect(talk.said.filter((line) => line.includes('stays open'))).toHaveLength(2);
  const other = async () => 'nobody wanted it';
  expect(await running(step(other), scripted(['Skip']))).toMatchObject({ state: 'skipped' });
  expect(await running(step(other), scripted(['later']))).toMatchObject({ state: 'open', words: 'put off' });
});

test('what is refused is asked again, as long as the person wants', async () => {
  let tries = 0;
  const lets = step(async () => {
    tries += 1;
    if (tries < 3) throw new SitewardError('control_refused', `try ${tries} was refused`);
    return 'added';
  });
  const talk = scripted(['', '', '', 'y', 'yes']);
  expect(await running(lets, talk)).toMatchObject({ state: 'done', words: 'added' });
  expect(talk.said.filter((line) => line.includes('refused: try'))).toHaveLength(2);
  const never = step(async () => {
    throw new SitewardError('control_refused', 'never');
  });
  expect(await running(never, scripted(['', 'later']))).toMatchObject({
    state: 'failed',
    words: 'never (control_refused)',
  });
});

test('nobody as an owner is told for what it means, and stays open', async () => {
  const client = { listUsers: async () => ({ kind: 'success', status: 200, json: { items: [] } }) };
  const withDaemon = async (work: (control: unknown, signal: AbortSignal) => unknown) =>
    await work({ client }, AbortSignal.timeout(10_000));
  const talk = scripted(['']);
  const context = { talk, answers: { users: [] }, withDaemon } as unknown as Context;
  expect(await userStep.ask(context)).toEqual({ kind: 'open', words: expect.stringContaining('nobody can disarm') });
});

test('what was left out is told with the same words in every run', async () => {
  let words = 'no recorder (--again asks once more)';
  const noted = () => ({ state: 'skipped' as const, at: '2026-11-30T07:00:00Z', words });
  for (let run = 0; run < 3; run += 1) {
    const talk = scripted([]);
    const outcome = await running(
      step(async () => 'never'),
      talk,
      { noted },
    );
    expect(outcome).toMatchObject({ state: 'skipped', words: 'no recorder' });
    expect(talk.said).toContain('  left out: no recorder (--again asks once more)');
    words = outcome?.words ?? '';
  }
});
