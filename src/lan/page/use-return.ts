import { useEffect, useState } from 'preact/hooks';
import { usePage } from './context.ts';

/**
 * Asks every second whether the bridge is back, and tells the seconds so far. A session lives in the memory of the bridge:
 * the one that has started anew refuses it, which leads to the login. One that `answers` to it has not ended yet.
 */
export function useReturn(): { seconds: number; answers: boolean } {
  const { api } = usePage();
  const [seconds, setSeconds] = useState(0);
  const [answers, setAnswers] = useState(true);
  useEffect(() => {
    const ending = new AbortController();
    const timer = setInterval(() => {
      setSeconds((old) => old + 1);
      void api.ask('/api/v1/access/self', { signal: ending.signal, deadlineMs: 5000 }).then(
        () => setAnswers(true),
        () => setAnswers(false),
      );
    }, 1000);
    return () => {
      ending.abort();
      clearInterval(timer);
    };
  }, [api]);
  return { seconds, answers };
}
