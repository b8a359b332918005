import { expect, test } from 'vitest';
import { userStep } from '#cli/setup/people.ts';
import { type RunOptions, runSteps } from '#cli/setup/run.ts';
import type { Talk } from '#cli/setup/talk.ts';
import { testStep } from '#cli/setup/test-event.ts';
import type { Context, Step } from '#cli/setup/types.ts';
import { checkText } from '#config/index.ts';
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

test('help, skip and later are words at every question, and no data', async () => {
  const asking = (kept?: string): Step => ({
    ...step(async () => 'never'),
    ...(kept !== undefined && { keeps: () => kept }),
    async ask({ talk }) {
      const name = await talk.ask({
        text: 'name',
        initial: 'help',
        check: (text) => (text === 'Yard' ? undefined : 'no'),
      });
      const password = await talk.hidden('password');
      return { would: 'add it', values: [`name ${name}`], run: async () => `added ${name}, ${password?.length} signs` };
    },
  });
  const talk = scripted(['HELP', 'Yard', 'help', 'secret', 'help', '']);
  // What is offered is an answer, as is what the check takes; no word comes to the check.
  expect(await running(asking(), talk)).toMatchObject({ state: 'done', words: 'added Yard, 6 signs' });
  expect(talk.said.filter((line) => line.includes('This is the step "Cameras"'))).toHaveLength(3);
  expect(talk.said).not.toContain('no');
  expect(talk.said).toContain('    name Yard');
  for (const [typed, state] of [
    ['skip', 'skipped'],
    ['Later', 'open'],
  ] as const) {
    expect(await running(asking(), scripted([typed]))).toMatchObject({ state, did: false });
    expect(await running(asking(), scripted(['Yard', typed]))).toMatchObject({ state, did: false });
  }
  const kept = scripted(['skip', 'Yard', 'skip', 'later']);
  expect(await running(asking('all rests on it'), kept)).toMatchObject({ state: 'open', words: 'put off' });
  expect(kept.said.filter((line) => line.includes('cannot be left out: all rests on it'))).toHaveLength(2);
  // What was refused before it is left out stays said, and a step that is left out is none that failed.
  const refused = step(async () => {
    throw new SitewardError('control_refused', 'never');
  });
  expect(await running(refused, scripted(['', 'skip']))).toMatchObject({ state: 'skipped' });
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

const siteText = (more: string): string => `site: { id: "1", external_id: shop-1, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: Shop } ]
${more}
cloud:
  base_url: https://api.example.net
  auth_url: https://auth.example.net
  events: { client_id: bridge-1, private_key: { file: /nowhere } }
`;

test('where a panel decides, arming there is the test, and nobody is asked for a walk test', async () => {
  const text = siteText('panels: [ { id: main, profile: pai, partitions: { p1: Area_1 } } ]');
  const { loaded, problems } = checkText('siteward.yaml', text, { unreadableSecrets: 'degrade' });
  expect(problems).toEqual([]);
  const entry = (seq: number, partition: string, delivery: string) => ({
    ...{ seq, delivery, delivered_at: '2026-11-30T07:00:00.000Z', media: [] },
    event: {
      ...{ event_id: `id-${seq}`, event_type: 'arming', kind: 'armed', class: 'arming', status: 'active', partition },
      ...{ seq, source: 'panel main', at: '2026-11-30T07:00:00.000Z' },
      data: { version: 1, epoch: 1, clock: 'synced' },
    },
  });
  const pages = [[entry(7, 'p1', 'delivered')], [entry(7, 'p1', 'delivered')], [entry(8, 'p1', 'waiting')]];
  const asked: unknown[] = [];
  const client = {
    listEvents: async ({ query }: { query: unknown }) => {
      asked.push(query);
      const items = pages.shift() ?? [entry(8, 'p1', 'delivered')];
      return { kind: 'success', status: 200, json: { items, next_before: null } };
    },
  };
  const talk = scripted([]);
  const context = {
    ...{ talk, site: () => ({ settings: loaded?.settings }) },
    withDaemon: async (work: (control: unknown) => unknown) => await work({ client }),
  } as unknown as Context;
  const plan = await testStep.ask(context);
  expect(talk.said.join('\n')).toContain('the panel main decides');
  expect('run' in plan && (await plan.run())).toContain('event 8 (armed) reached the cloud');
  expect(asked.slice(1)).toEqual(asked.slice(1).map(() => ({ limit: 50, class: 'arming' })));

  const alone = { ...context, talk: { ...talk, isThere: false } };
  expect(await testStep.ask(alone)).toEqual({
    kind: 'skipped',
    words: expect.stringContaining('arm and disarm at the panel'),
  });
});

test('a walk test where nobody has a code says so, and asks for none', async () => {
  const { loaded } = checkText('siteward.yaml', siteText(''), { unreadableSecrets: 'degrade' });
  const users: object[] = [];
  const refused = {
    ...{ id: 'one', outcome: 'refused', state: 'disarmed', at: '2026-11-30T07:00:00.000Z' },
    error: { code: 'CODE_REQUIRED', field: 'code' },
  };
  const client = {
    listEvents: async () => ({ kind: 'success', status: 200, json: { items: [], next_before: null } }),
    listUsers: async () => ({ kind: 'success', status: 200, json: { items: users } }),
    giveCommand: async () => ({ kind: 'success', status: 200, json: refused }),
  };
  const context = {
    ...{ talk: scripted([]), answers: { test: {} }, site: () => ({ settings: loaded?.settings }) },
    withDaemon: async (work: (control: unknown, signal: AbortSignal) => unknown) =>
      await work({ client }, AbortSignal.timeout(10_000)),
  } as unknown as Context;
  const plan = await testStep.ask(context);
  const run = 'run' in plan ? plan.run : () => Promise.resolve('nothing to run');
  await expect(run()).rejects.toThrow(/there is none yet: do the step users first/);
  // Where somebody has one, it is asked for.
  users.push({ id: 'anna', name: 'Anna', role: 'owner', source: 'file' });
  await expect(run()).rejects.toThrow(/nothing is left to type at: .*code of a user/);
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
