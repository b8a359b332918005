import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { SelfAnswer } from '#lan/http/index.ts';
import type { Api } from './api.ts';
import type { LiveFeed, LiveState } from './live.ts';
import { type Words, wordsOf } from './text.ts';
import type { Draft } from './use-draft.ts';

/** What every screen has at hand. */
export interface Page {
  readonly api: Api;
  readonly words: Words;
  readonly self: SelfAnswer;
  readonly feed: LiveFeed;
  readonly draft: Draft;
  /** Whether the account may do this; what it may not is not offered. */
  may(operation: string): boolean;
}

export const PageContext = createContext<Page | undefined>(undefined);
export const WordsContext = createContext<Words>(wordsOf('en'));

export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === undefined) throw new TypeError('a screen was drawn outside of the page');
  return page;
}

export const useWords = (): Words => useContext(WordsContext);

/** What the bridge tells, drawn anew when it changes. */
export function useLive(): LiveState {
  const { feed } = usePage();
  const [state, setState] = useState(feed.state());
  useEffect(() => {
    setState(feed.state());
    return feed.subscribe(() => setState(feed.state()));
  }, [feed]);
  return state;
}

/** Whether what is shown is of now; drawn anew only when that changes. */
export function useLink(): LiveState['link'] {
  const { feed } = usePage();
  const [link, setLink] = useState(feed.state().link);
  useEffect(() => {
    setLink(feed.state().link);
    return feed.subscribe(() => setLink(feed.state().link));
  }, [feed]);
  return link;
}
