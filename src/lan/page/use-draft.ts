import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { ConfigChange } from '#lan/http/index.ts';
import { fitted, type Members } from './pending.ts';
import { applied, rebased } from './rebase.ts';
import type { Typed } from './use-typed.ts';

/** Changes of the configuration that nobody has saved yet. */
export interface Draft {
  readonly changes: readonly ConfigChange[];
  edit(next: (changes: readonly ConfigChange[]) => readonly ConfigChange[]): void;
  /** They are for this configuration from now on: what nobody changed here is as it is there. */
  rebase(config: Members): void;
  /** These were written: what was typed meanwhile stays. */
  saved(changes: readonly ConfigChange[]): void;
  /** Beside them, without secrets. */
  readonly typed: Typed;
  /** Forgets all of it. */
  clear(): void;
}

interface Kept {
  readonly owner: string | undefined;
  readonly changes: readonly ConfigChange[];
  /** The configuration that the changes were made for. */
  readonly base: Members | undefined;
  readonly typed: Typed;
}

const none: readonly ConfigChange[] = [];
const nothing = (owner: string | undefined): Kept => ({ owner, changes: none, base: undefined, typed: new Map() });

/** They live as long as the page, for whoever made them: nobody else who logs in here finds them. */
export function useDraft(owner: string | undefined): Draft {
  const [kept, keep] = useState(() => nothing(owner));
  const changes = kept.owner === owner ? kept.changes : none;

  useEffect(() => {
    if (owner !== undefined) keep((old) => (old.owner === owner ? old : nothing(owner)));
  }, [owner]);

  useEffect(() => {
    if (changes.length === 0) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [changes.length === 0]);

  const acts = useMemo(() => {
    const put = (next: (old: Kept) => Partial<Kept>) =>
      keep((all) => {
        const old = all.owner === owner ? all : nothing(owner);
        return { ...old, ...next(old) };
      });
    return {
      edit: (next: (changes: readonly ConfigChange[]) => readonly ConfigChange[]) =>
        put((old) => ({ changes: next(old.changes) })),
      rebase: (config: Members) =>
        put((old) => ({
          base: config,
          changes: old.base === undefined ? fitted(old.changes, config) : rebased(old.changes, old.base, config),
        })),
      saved: (written: readonly ConfigChange[]) =>
        put(({ base = {}, ...old }) => ({
          base: applied(base, written),
          changes: old.changes.filter((change) => !written.includes(change)),
        })),
    };
  }, [owner]);
  const clear = useCallback(() => keep((old) => ({ ...nothing(owner), base: old.base })), [owner]);
  const typed = useMemo(() => (kept.owner === owner ? kept.typed : (new Map() as Typed)), [kept, owner]);
  return useMemo(() => ({ changes, ...acts, typed, clear }), [changes, acts, typed, clear]);
}
