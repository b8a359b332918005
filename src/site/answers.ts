import { BoundedMap } from '#lib/bounded.ts';
import { callKey, type Effect } from './core/index.ts';
import type { CommandResult, PanicCall } from './model/index.ts';

export type Reply = (result: CommandResult) => void;

/** Who waits for which answer. */
export interface Answers {
  expect(client: string, commandId: string, reply: Reply): void;
  /** Of a call for help; another command under its id has an answer of its own. */
  expectCall(call: PanicCall, reply: Reply): void;
  /** `isSaved`: what the decision made is on disk. */
  give(effect: Extract<Effect, { kind: 'reply' }>, isSaved: boolean): void;
  /** Calls for help that are not on disk, as the core names them: at most as many as commits may wait. */
  readonly unsaved: ReadonlySet<string>;
  /** The commit of what came of a call, where the effect answers one, is on its way. */
  saving(effect: Effect, saved: Promise<void>): void;
}

export function createAnswers(): Answers {
  const waiting = new BoundedMap<string, Reply>(1000);
  const unsaved = new Set<string>();

  function give(key: string, result: CommandResult): void {
    waiting.get(key)?.(result);
    if (result.final) waiting.delete(key);
  }

  return {
    expect: (client, commandId, reply) => waiting.set(`${client} ${commandId}`, reply),
    expectCall: (call, reply) => waiting.set(`${call.client} ${callKey(call)}`, reply),
    give({ result, client, call }, isSaved) {
      if (call === undefined) {
        give(`${client} ${result.commandId}`, result);
        return;
      }
      const key = `${client} ${call}`;
      // Whoever calls for help must not stop calling before it is certain that the call is kept (safety 1).
      if (isSaved && !unsaved.has(call)) give(key, result);
      else give(key, { ...result, outcome: 'failed', error: { code: 'BUSY', retryAfterS: 1 } });
    },
    unsaved,
    saving(effect, saved) {
      if (effect.kind !== 'reply' || effect.call === undefined) return;
      const { call } = effect;
      unsaved.add(call);
      const done = () => void unsaved.delete(call);
      saved.then(done, done);
    },
  };
}
