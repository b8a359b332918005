import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { SelfAnswer } from '#lan/http/index.ts';
import { createApi } from './api.ts';
import { awakeClock, onWake } from './awake.ts';
import { Banner } from './banner.tsx';
import { type Page, PageContext, WordsContext } from './context.ts';
import { Door } from './door.tsx';
import { drawings } from './drawings.ts';
import { focusScreen, keepFocus } from './focus.ts';
import { keep, kept } from './kept.ts';
import { type LiveFeed, liveFeed } from './live.ts';
import { Look } from './look.tsx';
import { Navigation, screenOf, useRoute } from './navigation.tsx';
import { Own } from './own.tsx';
import { preferredLanguage, wordsOf } from './text.ts';
import { useDraft } from './use-draft.ts';

const languageKey = 'siteward.language';
const keepAliveMs = 300_000;

/** `ended`: there was one, and the bridge does not take it any more. */
interface Session {
  readonly self: SelfAnswer | undefined;
  readonly ended: boolean;
}

export function App() {
  const [language, setLanguage] = useState(() => preferredLanguage(navigator.languages, kept(languageKey)));
  const [{ self, ended }, setSession] = useState<Session>({ self: undefined, ended: false });
  const [feed, setFeed] = useState<LiveFeed | undefined>(undefined);
  const [siteZone, setSiteZone] = useState<string | undefined>(undefined);
  const words = useMemo(() => wordsOf(language, siteZone), [language, siteZone]);
  const api = useMemo(
    () => createApi(() => setSession((was) => ({ self: undefined, ended: was.ended || was.self !== undefined }))),
    [],
  );
  const isIn = self !== undefined && self.must_change !== true;
  const route = useRoute();
  const draft = useDraft(self?.id);

  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);

  useEffect(keepFocus, []);

  // Before the next frame, which without it would show nothing.
  useLayoutEffect(() => {
    if (!isIn) return;
    const made = liveFeed({
      soon: drawings({
        isShown: () => document.visibilityState === 'visible',
        frame: (draw) => void requestAnimationFrame(draw),
      }),
      ...{ now: awakeClock(), onWake, open: (url) => new EventSource(url) },
      answers: () =>
        api.ask('/api/v1/access/self').then(
          () => true,
          () => false,
        ),
    });
    setFeed(made);
    made.subscribe(() => setSiteZone(made.state().status?.clock.timezone));
    return () => {
      made.close();
      setFeed(undefined);
    };
  }, [isIn]);

  // A page that is looked at is a session in use; one that is not ends like any other.
  useEffect(() => {
    if (!isIn) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void api.ask('/api/v1/access/self').catch(() => undefined);
    }, keepAliveMs);
    return () => clearInterval(timer);
  }, [api, isIn]);

  const onIn = (next: SelfAnswer) => setSession({ self: next, ended: false });
  const onOut = () => setSession({ self: undefined, ended: false });

  function choose(next: string): void {
    setLanguage(next);
    keep(languageKey, next);
  }

  const page: Page | undefined =
    self === undefined || feed === undefined
      ? undefined
      : { api, words, self, feed, draft, may: (operation) => self.operations.includes(operation) };

  return (
    <WordsContext.Provider value={words}>
      {!isIn && <Door {...{ api, self, ended, onIn, onOut }} />}
      {isIn && page !== undefined && (
        <PageContext.Provider value={page}>
          <button type="button" class="skip" onClick={focusScreen}>
            {words.t('skip')}
          </button>
          <Banner />
          <Navigation route={route} />
          <main id="content" tabIndex={-1}>
            {screenOf(route, page)}
          </main>
        </PageContext.Provider>
      )}
      <footer>
        {isIn && page !== undefined && (
          <PageContext.Provider value={page}>
            <Own onIn={onIn} onOut={onOut} />
          </PageContext.Provider>
        )}
        <Look language={language} onLanguage={choose} />
      </footer>
    </WordsContext.Provider>
  );
}
