import { useState } from 'preact/hooks';
import type { InspectedCamera } from '#lan/http/index.ts';
import { CameraAsked } from './camera-asked.tsx';
import { CameraChannels } from './camera-channels.tsx';
import { addition, type CameraWish, type ChannelWish, channelsOf, deviceUrl } from './camera-entry.ts';
import { PlaceFields } from './camera-fields.tsx';
import { usePage, useWords } from './context.ts';
import { Field, Trouble, useWork } from './parts.tsx';
import type { Setup } from './use-setup.ts';
import { useTyped } from './use-typed.ts';

const askingMs = 60_000;

/** A form that is left keeps no password; what was said to that one, it says again when asked. */
const withoutSecret = <W extends CameraWish & { hadPassword: boolean }>(wish: W): W => ({
  ...wish,
  ...{ password: '', fingerprint: '', hadPassword: wish.hadPassword || wish.password !== '' },
});

/** A camera or recorder before it is added: what it is called, how it is asked, what it says of itself. */
export function CameraForm(props: {
  setup: Setup;
  start: CameraWish;
  /** Of the ids of its fields. */
  prefix: string;
  ids: ReadonlySet<string>;
  zones: ReadonlySet<string>;
  /** Null: not told. */
  recorder: boolean | null;
  onDone: () => void;
}) {
  const { api, draft } = usePage();
  const { t } = useWords();
  const { setup, prefix, ids, zones, onDone } = props;
  const kept = `camera.${prefix}`;
  const [wish, setWish] = useTyped(kept, { ...props.start, hadPassword: false }, withoutSecret);
  const [asked, setAsked] = useState<InspectedCamera | undefined>(undefined);
  const [channels, setChannels] = useState<readonly ChannelWish[] | undefined>(undefined);
  const work = useWork();
  const set = (name: keyof CameraWish) => (value: string) => setWish({ ...wish, [name]: value });
  /** What it said counts no more when another one is asked. */
  const setAnew = (name: 'url' | 'username' | 'password') => (value: string) => {
    setWish({ ...wish, [name]: value, fingerprint: '', hadPassword: name !== 'password' && wish.hadPassword });
    setAsked(undefined);
    setChannels(undefined);
  };
  const ask = () =>
    work.run(async () => {
      const { username, password } = wish;
      const url = deviceUrl(wish.url);
      const body = { url, ...(username !== '' && { username }), ...(password !== '' && { password }) };
      const said = await api.ask<InspectedCamera>('/api/v1/cameras/inspect', {
        ...{ method: 'POST', body, deadlineMs: askingMs },
      });
      setAsked(said);
      setWish((old) => ({ ...old, url }));
      setChannels(said.sources.length > 1 && props.recorder !== false ? channelsOf(wish.id, said, ids) : undefined);
    });
  const add = () => {
    setup.put(addition({ ...wish, url: deviceUrl(wish.url) }, channels));
    draft.typed.delete(kept);
    onDone();
  };
  const idFault = ids.has(wish.id) ? t('setup.camera.idTaken') : undefined;
  const mustApprove = asked !== undefined && asked.tls_fingerprint !== null && wish.fingerprint === '';
  const text = { autocomplete: 'off', required: false } as const;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        add();
      }}
    >
      <Field
        {...{ name: `${prefix}-url`, label: t('setup.camera.url'), value: wish.url, autocomplete: 'off' }}
        hint={t('setup.camera.urlHint')}
        onInput={setAnew('url')}
      />
      <Field
        {...text}
        {...{ name: `${prefix}-user`, label: t('setup.camera.username'), value: wish.username }}
        onInput={setAnew('username')}
      />
      <Field
        {...{ name: `${prefix}-password`, label: t('setup.camera.password'), value: wish.password, required: false }}
        {...{ type: 'password', autocomplete: 'new-password' }}
        fault={wish.hadPassword ? t('setup.camera.passwordGone') : undefined}
        onInput={setAnew('password')}
      />
      <button type="button" disabled={work.busy || wish.url.trim() === ''} onClick={ask}>
        {t(work.busy ? 'setup.asking' : 'setup.ask')}
      </button>
      <Trouble error={work.error} />
      {asked !== undefined && (
        <CameraAsked {...{ asked, prefix, approved: wish.fingerprint !== '' }} onApprove={set('fingerprint')} />
      )}
      <Field
        {...{ name: `${prefix}-id`, label: t('setup.camera.id'), value: wish.id, autocomplete: 'off' }}
        hint={t('setup.camera.idHint')}
        fault={idFault}
        onInput={set('id')}
      />
      {asked !== undefined && asked.sources.length > 1 && (
        <label class="check">
          <input
            type="checkbox"
            checked={channels !== undefined}
            onChange={({ currentTarget: { checked } }) =>
              setChannels(checked ? channelsOf(wish.id, asked, ids) : undefined)
            }
          />{' '}
          {t('setup.isRecorder', { count: asked.sources.length })}
        </label>
      )}
      {channels === undefined ? (
        <PlaceFields {...{ prefix, place: wish, taken: zones }} onPlace={(place) => setWish({ ...wish, ...place })} />
      ) : (
        <>
          <Field
            {...text}
            {...{ name: `${prefix}-name`, label: t('setup.camera.name'), value: wish.name, onInput: set('name') }}
          />
          <CameraChannels {...{ asked, channels, zones, prefix, id: wish.id, ids, onChannels: setChannels }} />
        </>
      )}
      {mustApprove && <p class="hint">{t('setup.approveFirst')}</p>}
      <button
        type="submit"
        class="main"
        disabled={wish.url.trim() === '' || idFault !== undefined || mustApprove || channels?.length === 0}
      >
        {t('setup.add')}
      </button>
    </form>
  );
}
