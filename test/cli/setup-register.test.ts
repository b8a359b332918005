import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { whatToDo } from '#cli/setup/advice.ts';
import { registerStep } from '#cli/setup/register.ts';
import type { Context } from '#cli/setup/types.ts';
import type { SitewardError } from '#errors.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Held {
  readonly external_id: string;
  readonly kind: 'device' | 'nvr';
  readonly reason: 'refused' | 'conflict' | 'waiting' | 'unknown';
  readonly status?: number;
  readonly message: string;
}

const answer = (json: unknown) => ({ kind: 'answer', status: 200, json, text: JSON.stringify(json), headers: {} });

/** A daemon that says so of its devices, and what it was asked for. */
function daemonWith(before: readonly Held[], after: (call: number) => readonly Held[]) {
  const asked: boolean[] = [];
  const nvrs = { create: [], update: [], attach: [] };
  const plan = { create: [], update: [], unchanged: [], absent: [], zones: [], nvrs, held: before };
  const client = {
    getDevicePlan: async () => answer({ in_step: false, ...plan }),
    syncDevices: async ({ body }: { body: { again: boolean } }) => {
      asked.push(body.again);
      const held = after(asked.length);
      const done = { created: [], updated: [], nvrs: { created: [], updated: [], attached: [] } };
      return answer({ dry_run: false, state: held.length === 0 ? 'in_step' : 'behind', done, held });
    },
  };
  const withDaemon = (work: (control: unknown) => unknown) => work({ client });
  return { asked, context: { withDaemon } as unknown as Context };
}

async function run(context: Context): Promise<string | SitewardError> {
  const plan = await registerStep.ask(context);
  if (!('run' in plan)) throw new Error(plan.words);
  let ended: string | SitewardError | undefined;
  const running = plan.run().then(
    (words) => {
      ended = words;
    },
    (error) => {
      ended = error;
    },
  );
  while (ended === undefined) await vi.advanceTimersByTimeAsync(1000);
  await running;
  return ended;
}

const recorder: Held = { external_id: 'rec', kind: 'nvr', reason: 'unknown', message: 'the reply was lost' };

test('a recorder of which nobody knows whether it is there is not registered again by setup', async () => {
  const { asked, context } = daemonWith([recorder], () => [recorder]);
  const error = await run(context);
  expect(asked).toEqual([false]);
  expect(error).toMatchObject({
    code: 'cloud_outcome_unknown',
    message: expect.stringContaining('nvr sync --register-lost'),
  });
  expect(whatToDo(error as SitewardError)).toBe('');
});

test('where too much is asked of the service the waits are kept, and the person is told to run it again', async () => {
  const busy: Held = { external_id: 'yard', kind: 'device', reason: 'waiting', status: 429, message: 'slow down' };
  const { asked, context } = daemonWith([], () => [busy]);
  const error = await run(context);
  expect(asked[0]).toBe(true);
  expect(asked.slice(1)).not.toContain(true);
  expect(asked.length).toBeLessThan(10);
  expect(error).toMatchObject({ code: 'cloud_unreachable' });
  expect(whatToDo(error as SitewardError)).toMatch(/run this again in some minutes$/);
  const later = daemonWith([busy], () => []);
  expect(await run(later.context)).toContain('created: none');
  expect(later.asked).toEqual([false]);
});

test('what was refused is tried once more, and told where it is refused again', async () => {
  const refused: Held = {
    external_id: 'yard',
    kind: 'device',
    reason: 'refused',
    status: 422,
    message: 'no such zone',
  };
  const { asked, context } = daemonWith([refused], () => [{ ...recorder, reason: 'waiting' }, refused]);
  expect(await run(context)).toMatchObject({ code: 'cloud_refused', message: '2 devices held; yard: no such zone' });
  expect(asked).toEqual([true]);
});
