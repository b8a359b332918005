import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { FoundCamera } from '#lan/http/index.ts';
import { type CameraWish, idFrom, noPlace } from './camera-entry.ts';
import { CameraForm } from './camera-form.tsx';
import { usePage, useWords } from './context.ts';
import { Badge, Card, Field, Trouble, useWork } from './parts.tsx';
import { listOf } from './pending.ts';
import type { Setup } from './use-setup.ts';
import { useTyped } from './use-typed.ts';

const seconds = 6;
const deadlineMs = 90_000;

interface SearchProps {
  readonly setup: Setup;
  /** Ids and zone numbers that are taken. */
  readonly ids: ReadonlySet<string>;
  readonly zones: ReadonlySet<string>;
}

/** Who else is in the networks of the bridge, and a way in for who does not answer to that. */
export function CameraSearch({ setup, ids, zones }: SearchProps) {
  const { api } = usePage();
  const { t } = useWords();
  const [where, setWhere] = useTyped('search.where', '');
  const [found, setFound] = useTyped<readonly FoundCamera[] | undefined>('search.found', undefined);
  const [stop, setStop] = useState<AbortController | undefined>(undefined);
  const work = useWork();
  useEffect(() => () => stop?.abort(), [stop]);
  const look = () =>
    work.run(async () => {
      const ending = new AbortController();
      setStop(ending);
      setFound(undefined);
      const addresses = where.split(/[\s,;]+/).filter((address) => address !== '');
      const body = { seconds, addresses };
      try {
        const ask = { method: 'POST', body, signal: ending.signal, deadlineMs } as const;
        setFound((await api.ask<{ items: FoundCamera[] }>('/api/v1/cameras/discover', ask)).items);
      } catch (error) {
        if (!ending.signal.aborted) throw error;
      } finally {
        setStop(undefined);
      }
    });
  return (
    <>
      <Card title={t('search.title')}>
        <p>{t('search.about')}</p>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            look();
          }}
        >
          <Field
            {...{ name: 'search-where', label: t('search.where'), value: where, required: false, autocomplete: 'off' }}
            hint={t('search.whereHint')}
            onInput={setWhere}
          />
          <div class="buttons">
            <button type="submit" class="main" disabled={work.busy}>
              {t('search.look')}
            </button>
            {work.busy && (
              <button type="button" onClick={() => stop?.abort()}>
                {t('search.stop')}
              </button>
            )}
          </div>
          {work.busy && <Elapsed />}
          <p role="status">{found !== undefined && t('search.found', { count: found.length })}</p>
          <Trouble error={work.error} />
        </form>
      </Card>
      {found?.map((camera) => (
        <Found key={camera.url ?? camera.addresses.join()} {...{ camera, setup, ids, zones }} />
      ))}
      <ByHand {...{ setup, ids, zones }} />
    </>
  );
}

/** Seconds of waiting, in words. */
function Elapsed() {
  const { t } = useWords();
  const [count, setCount] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setCount((old) => old + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return <p>{t('search.looking', { count })}</p>;
}

function Found({ camera, setup, ids, zones }: SearchProps & { camera: FoundCamera }) {
  const { t } = useWords();
  const { url, addresses, name, vendor, model, configured, moved_from: movedFrom } = camera;
  const what = [vendor, model].filter((word) => word !== null).join(' ');
  const title = name ?? (what === '' ? (addresses[0] ?? t('kind.camera')) : what);
  const section = listOf(setup.config, 'nvrs').some(({ id }) => id === movedFrom) ? 'nvrs' : 'cameras';
  return (
    <Card title={title} aside={<FoundState camera={camera} />}>
      <p>
        {[what, t(camera.recorder === true ? 'kind.nvr' : 'kind.camera'), url ?? addresses.join(', ')]
          .filter((word) => word !== '')
          .join(', ')}
      </p>
      {camera.password_needed === true && <p>{t('search.password')}</p>}
      {!camera.answers && <p class="why">{t('search.silent')}</p>}
      {url === null && <p class="why">{t('search.linkLocal')}</p>}
      {movedFrom !== null && url !== null && (
        <>
          <p>{t('search.moved', { id: movedFrom })}</p>
          <button type="button" onClick={() => setup.put({ do: 'change', section, id: movedFrom, members: { url } })}>
            {t('search.takeAddress')}
          </button>
        </>
      )}
      {configured === null && movedFrom === null && url !== null && (
        <Opened name={url} label={t('search.approve', { name: title })}>
          {(close) => (
            <CameraForm
              {...{ setup, ids, zones, recorder: camera.recorder }}
              prefix={url.replaceAll(/\W+/g, '-')}
              start={{ ...empty, url, name: name ?? '', id: idFrom(name ?? model ?? '', ids) }}
              onDone={close}
            />
          )}
        </Opened>
      )}
    </Card>
  );
}

const empty: CameraWish = { ...noPlace, id: '', url: '', username: '', password: '', fingerprint: '' };

function FoundState({ camera: { configured, moved_from: movedFrom, answers } }: { camera: FoundCamera }) {
  const { t } = useWords();
  const id = configured ?? movedFrom;
  if (id !== null) return <Badge tone={configured === null ? 'note' : 'good'}>{t('search.configured', { id })}</Badge>;
  return <Badge tone={answers ? 'plain' : 'note'}>{t(answers ? 'search.new' : 'devices.down')}</Badge>;
}

function ByHand({ setup, ids, zones }: SearchProps) {
  const { t } = useWords();
  return (
    <Card title={t('search.byHand')}>
      <Opened name="by-hand" label={t('search.byHandOpen')}>
        {(close) => (
          <CameraForm
            {...{ setup, ids, zones, recorder: null, prefix: 'by-hand', onDone: close }}
            start={{ ...empty, id: idFrom('', ids) }}
          />
        )}
      </Opened>
    </Card>
  );
}

/** A form behind its button. */
function Opened(props: { name: string; label: string; children: (close: () => void) => ComponentChildren }) {
  const { name, label, children } = props;
  const { t } = useWords();
  const [open, setOpen] = useTyped(`open.${name}`, false);
  const button = useRef<HTMLButtonElement>(null);
  // Whoever was within goes on from here.
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <>
      <button ref={button} type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? t('search.close') : label}
      </button>
      {open && children(close)}
    </>
  );
}
