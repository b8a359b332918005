import { useState } from 'preact/hooks';
import type { CommandAnswer, CommandBody } from '#lan/http/index.ts';
import { StrangeError } from './api.ts';
import { answerText } from './command-answer.ts';
import { useLive, usePage, useWords } from './context.ts';
import { useWork } from './parts.tsx';

/** What is asked for, without what every command has. */
export type Wish<B = CommandBody> = B extends CommandBody ? Omit<B, 'id' | 'issued_at' | 'code'> : never;

/**
 * Commands with a code that is typed beside them; it is forgotten as soon as it is sent. Several are given one after the other, up to
 * the first that is refused. `onDone` is told each that was not; `said`: what came of the last one; `done`: that one, where
 * nothing more has to be said of it.
 */
export function useCommand({
  onDone,
  path = '/api/v1/commands',
}: {
  onDone?: (wish: Wish) => void;
  path?: string;
} = {}) {
  const { api, feed } = usePage();
  const { zones } = useLive();
  const words = useWords();
  const [code, setCode] = useState('');
  const [answer, setAnswer] = useState<CommandAnswer | undefined>(undefined);
  const [wished, setWished] = useState<Wish | undefined>(undefined);
  const { busy, error, run } = useWork();
  const give = (...wishes: readonly Wish[]) =>
    run(async () => {
      setAnswer(undefined);
      setCode('');
      for (const wish of wishes) {
        // By the clock of the bridge, which judges by it whether a command comes too late.
        const issuedAt = new Date(feed.bridgeMs() ?? Date.now()).toISOString();
        const body = { id: crypto.randomUUID(), issued_at: issuedAt, ...wish };
        const given = code === '' ? body : { ...body, code };
        const said = await api.ask<CommandAnswer>(path, { method: 'POST', body: given });
        if (typeof said.outcome !== 'string') throw new StrangeError(200);
        setAnswer(said);
        setWished(wish);
        if (said.error !== undefined) return;
        onDone?.(wish);
      }
    });
  const isDone = answer?.outcome === 'done' && answer.error === undefined;
  return {
    ...{ code, setCode, give, busy, error, tests: answer?.tests },
    said: answer && answerText(answer, words, zones),
    refused: answer?.error !== undefined || answer?.outcome === 'unconfirmed' ? answer : undefined,
    done: isDone ? wished : undefined,
  };
}
