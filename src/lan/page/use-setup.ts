import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { ConfigChange, ConfigSaved, ConfigShown } from '#lan/http/index.ts';
import { ApiError } from './api.ts';
import { usePage } from './context.ts';
import { useWork } from './parts.tsx';
import { type Members, withChange } from './pending.ts';
import { isSaved } from './rebase.ts';
import { useAsked } from './use-asked.ts';

export interface Setup {
  /** In force, as written. */
  readonly config: Members;
  readonly changes: readonly ConfigChange[];
  put(change: ConfigChange): void;
  /** What the bridge says against a member, such as `site.timezone`. */
  against(path: string): string | undefined;
}

/** What came of it. `preview`: it was only asked what would be written; `found`: the answer was lost, and the file is as was wanted. */
export type SaveAnswer = (ConfigSaved & { readonly kind: 'preview' | 'saved' }) | { readonly kind: 'found' };

/** What was sent, and the configuration it was for. */
interface Sent {
  readonly changes: readonly ConfigChange[];
  readonly config: Members;
}

const savingMs = 60_000;

/** The configuration, what is to be changed of it, and the ways to have that written. */
export function useSetup() {
  const { api, draft } = usePage();
  const { value: shown, error: unread, again, put: show } = useAsked<ConfigShown>('/api/v1/config');
  const [answer, setAnswer] = useState<SaveAnswer | undefined>(undefined);
  const { busy, error, run, clear } = useWork();
  /** Nobody knows whether it was written. */
  const doubt = useRef<Sent | undefined>(undefined);
  const { changes, edit, rebase, saved } = draft;
  const config: Members = shown?.config ?? {};

  function settle(now: Members): boolean {
    const sent = doubt.current;
    if (sent === undefined || !isSaved(sent.changes, sent.config, now)) return false;
    doubt.current = undefined;
    saved(sent.changes);
    setAnswer({ kind: 'found' });
    return true;
  }

  useEffect(() => {
    if (shown === undefined) return;
    if (settle(shown.config)) clear();
    rebase(shown.config);
  }, [shown, rebase]);

  const put = useCallback(
    (change: ConfigChange) => {
      setAnswer(undefined);
      edit((old) => withChange(old, change, config));
    },
    [config, edit],
  );

  /** Looks at what there is by now, if the bridge says so; whether that is what was wanted. */
  async function look(): Promise<boolean> {
    const now = await api.ask<ConfigShown>('/api/v1/config').catch(() => undefined);
    if (now === undefined) return false;
    const isThere = settle(now.config);
    show(now);
    return isThere;
  }

  const send = (dryRun: boolean) =>
    run(async () => {
      setAnswer(undefined);
      const body = { version: shown?.version ?? '', changes, dry_run: dryRun };
      try {
        const told = await api.ask<ConfigSaved>('/api/v1/config/changes', {
          method: 'POST',
          body,
          deadlineMs: savingMs,
        });
        if (!dryRun) {
          doubt.current = undefined;
          saved(changes);
          await look();
        }
        setAnswer({ ...told, kind: dryRun ? 'preview' : 'saved' });
      } catch (failure) {
        const isRefused = failure instanceof ApiError;
        // One of before whose answer was lost may be what has changed the file.
        if (!dryRun && !isRefused) doubt.current = { changes, config };
        if (dryRun || (isRefused && failure.problem.code !== 'config_changed')) throw failure;
        if (!(await look())) throw failure;
      }
    });

  const faults = error instanceof ApiError ? (error.problem.errors ?? []) : [];
  return {
    shown,
    unread,
    again,
    setup: { config, changes, put, against: (path) => faults.find(({ field }) => field === path)?.detail } as Setup,
    saving: { busy, error, answer, send },
    /** Without it all of them. */
    discard: (change?: ConfigChange) => {
      clear();
      setAnswer(undefined);
      doubt.current = undefined;
      edit((old) => (change === undefined ? [] : old.filter((one) => one !== change)));
    },
  };
}
