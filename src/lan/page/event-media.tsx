import { useEffect, useState } from 'preact/hooks';
import type { MediaDetail, MediaFile } from '#lan/http/index.ts';
import { usePage, useWords } from './context.ts';
import { exportOf, fileName, fileOf, offsetText, whyNot } from './media.ts';
import { Badge, Trouble, useWork } from './parts.tsx';
import { save } from './save.ts';
import { useAsked } from './use-asked.ts';

/** Pictures and clips of an event, for whoever may see them. */
export function EventMedia({ seq, count }: { seq: number; count: number }) {
  const { may } = usePage();
  const { t } = useWords();
  return (
    <section aria-label={t('media.title')}>
      <h3>{t('media.title')}</h3>
      {may('getMedia') ? <Files seq={seq} /> : <p class="hint">{t('media.notYours', { count })}</p>}
    </section>
  );
}

function Files({ seq }: { seq: number }) {
  const { api, may } = usePage();
  const words = useWords();
  const { t, word } = words;
  const { value, busy, error, again } = useAsked<MediaDetail>(`/api/v1/media/${seq}`);
  const [given, setGiven] = useState<string | undefined>(undefined);
  const work = useWork();
  const show = () => work.run(async () => setGiven((await exportOf(api, seq)).export ?? undefined));
  const canShow = value?.items.some((file) => whyNot(file, words) === undefined) === true;
  return (
    <>
      {canShow && given === undefined && may('exportMedia') && (
        <>
          <button type="button" disabled={work.busy} onClick={show}>
            {t('media.show')}
          </button>
          <p class="hint">{t('media.audited')}</p>
        </>
      )}
      {canShow && !may('exportMedia') && <p class="hint">{t('media.listOnly')}</p>}
      <Trouble error={error ?? work.error} />
      <ul class="media">
        {value?.items.map((file) => {
          const why = whyNot(file, words);
          return (
            <li key={file.index}>
              <p>
                {word('media', file.kind)} {file.camera}, {offsetText(file.offset_ms, words)}{' '}
                {why === undefined ? (
                  <Badge tone="plain">{word('mediaState', file.state)}</Badge>
                ) : (
                  <Badge tone={file.state === 'failed' ? 'bad' : 'note'}>{why}</Badge>
                )}
              </p>
              {why === undefined && given !== undefined && <Shown seq={seq} file={file} given={given} />}
            </li>
          );
        })}
      </ul>
      {value?.items.some(({ state }) => state === 'planned' || state === 'ready') === true && (
        <button type="button" disabled={busy} onClick={again}>
          {t('refresh')}
        </button>
      )}
    </>
  );
}

/** A picture is shown; a clip is saved, since not every phone can play what a camera records. */
function Shown({ seq, file, given }: { seq: number; file: MediaFile; given: string }) {
  const { api } = usePage();
  const words = useWords();
  const { t } = words;
  const [url, setUrl] = useState<string | undefined>(undefined);
  const work = useWork();
  const isPicture = file.kind === 'snapshot';
  useEffect(() => {
    if (!isPicture) return;
    const leaving = new AbortController();
    let made: string | undefined;
    work.run(async () => {
      const picture = await fileOf(api, given, file, leaving.signal).catch((failure: unknown) => {
        if (!leaving.signal.aborted) throw failure;
      });
      if (picture === undefined || leaving.signal.aborted) return;
      made = URL.createObjectURL(picture);
      setUrl(made);
    });
    return () => {
      leaving.abort();
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [api, given, file, isPicture]);
  const take = () => work.run(async () => save(await fileOf(api, given, file), fileName(seq, file)));
  return (
    <>
      {isPicture && url === undefined && work.error === undefined && <p>{t('loading')}</p>}
      {url !== undefined && (
        <img src={url} alt={t('media.alt', { camera: file.camera, when: offsetText(file.offset_ms, words) })} />
      )}
      <button type="button" disabled={work.busy} onClick={take}>
        {t(isPicture ? 'media.save' : 'media.saveClip')}
      </button>
      <Trouble error={work.error} />
    </>
  );
}
