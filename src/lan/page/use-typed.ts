import { type Dispatch, type StateUpdater, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { usePage } from './context.ts';

/** What is typed or found and is not among the changes yet, by its name. */
export type Typed = Map<string, unknown>;

const most = 100;

/** As `useState`, but what was set is there again when its screen is. `keeps` makes of it what is kept: never a secret. */
export function useTyped<T>(
  name: string,
  start: T,
  keeps: (value: T) => T = (value) => value,
): readonly [T, Dispatch<StateUpdater<T>>] {
  const { typed } = usePage().draft;
  const [value, setValue] = useState<T>(() => (typed.has(name) ? (typed.get(name) as T) : start));
  const first = useRef(value);
  useLayoutEffect(() => {
    if (value !== first.current || typed.has(name)) keepTyped(typed, name, keeps(value));
  }, [value]);
  return [value, setValue];
}

/** At most a hundred: the oldest goes. */
function keepTyped(typed: Typed, name: string, value: unknown): void {
  typed.delete(name);
  typed.set(name, value);
  for (const oldest of typed.keys()) {
    if (typed.size <= most) return;
    typed.delete(oldest);
  }
}
