import { useEffect, useRef, useState } from 'preact/hooks';
import { usePage, useWords } from './context.ts';
import { deadlineOf } from './deadline.ts';
import { Trouble, useWork } from './parts.tsx';
import { untilHidden } from './until-hidden.ts';

const everyMs = 2000;
const longestMs = 60_000;

/** One picture, or pictures one after the other while somebody can see them, for a minute at most. */
export function Picture({ id, name, isOff }: { id: string; name: string; isOff: boolean }) {
  const { api } = usePage();
  const { t } = useWords();
  const place = useRef<HTMLDivElement>(null);
  const [url, setUrl] = useState<string | undefined>(undefined);
  const [live, setLive] = useState<AbortController | undefined>(undefined);
  const work = useWork();
  useEffect(() => () => (url === undefined ? undefined : URL.revokeObjectURL(url)), [url]);
  useEffect(() => () => live?.abort(), [live]);

  const take = async (signal?: AbortSignal) => {
    const path = `/api/v1/cameras/${encodeURIComponent(id)}/snapshot`;
    const picture = await api.bytes(path, { method: 'POST', ...(signal && { signal }) });
    if (signal?.aborted !== true) setUrl(URL.createObjectURL(picture));
  };
  const follow = () => {
    const ends = new AbortController();
    setLive(ends);
    const { signal } = deadlineOf(longestMs, ends.signal, untilHidden(place.current));
    work.run(async () => {
      try {
        while (!signal.aborted) {
          await take(signal);
          await pause(everyMs, signal);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        ends.abort();
        setLive(undefined);
      }
    });
  };
  return (
    <div ref={place}>
      {url !== undefined && (
        <img src={url} alt={t(live === undefined ? 'devices.pictureOf' : 'devices.liveOf', { name })} />
      )}
      <div class="buttons">
        <button type="button" disabled={work.busy || isOff} onClick={() => work.run(() => take())}>
          {t(work.busy && live === undefined ? 'devices.taking' : 'devices.picture')}
        </button>
        {live === undefined ? (
          <button type="button" disabled={work.busy || isOff} onClick={follow}>
            {t('devices.live')}
          </button>
        ) : (
          <button type="button" onClick={() => live.abort()}>
            {t('devices.liveStop')}
          </button>
        )}
      </div>
      <p role="status">{live !== undefined && t('devices.liveIs')}</p>
      <Trouble error={work.error} />
    </div>
  );
}

/** Resolves after the time, or as soon as the signal says. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
