import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { useLink, usePage } from './context.ts';
import { useWork } from './parts.tsx';

/** What the bridge answers to a question, asked when it is first shown, again with `again`. */
export function useAsked<T>(path: string): {
  value: T | undefined;
  busy: boolean;
  error: unknown;
  again: () => void;
  /** It is known otherwise. */
  put: (value: T) => void;
} {
  const { api } = usePage();
  const [value, setValue] = useState<T | undefined>(undefined);
  const { busy, error, run } = useWork();
  const again = useCallback(() => run(async () => setValue(await api.ask<T>(path))), [api, path]);
  const link = useLink();
  const lost = useRef(false);
  useEffect(again, [again]);
  // What was shown before the line was cut may not be so any more.
  useEffect(() => {
    if (link === 'live' && lost.current) again();
    lost.current = link === 'lost';
  }, [link, again]);
  return { value, busy, error, again, put: setValue };
}
