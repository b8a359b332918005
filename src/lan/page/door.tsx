import { useLayoutEffect, useState } from 'preact/hooks';
import type { SelfAnswer } from '#lan/http/index.ts';
import { type Api, ApiError } from './api.ts';
import { useWords } from './context.ts';
import { OwnPassword } from './own-password.tsx';
import { Card, Field, Trouble, useWork } from './parts.tsx';

type Shown = 'looking' | 'login' | 'claim' | 'password' | 'unusable' | 'away';

const doors = { yes: 'login', no: 'claim', unusable: 'unusable' } as const satisfies Record<string, Shown>;

/** The ways in: a session that is still open, a login, the first claim, a password of one's own. */
export function Door({
  api,
  self,
  ended,
  onIn,
  onOut,
}: {
  api: Api;
  self: SelfAnswer | undefined;
  /** There was a session, which the bridge does not take any more. */
  ended: boolean;
  onIn: (self: SelfAnswer) => void;
  onOut: () => void;
}) {
  const { t } = useWords();
  const [shown, setShown] = useState<Shown>('looking');
  const work = useWork();

  async function look(): Promise<void> {
    // Both at once: who has to log in waits for one answer and not for two.
    const identity = api
      .ask<{ claimed?: keyof typeof doors }>('/.well-known/siteward')
      .catch(() => ({ claimed: undefined }));
    try {
      onIn(await api.ask<SelfAnswer>('/api/v1/access/self'));
    } catch (error) {
      if (!(error instanceof ApiError)) return setShown('away');
      const { claimed } = await identity;
      setShown(claimed === undefined ? 'away' : doors[claimed]);
    }
  }

  // Asked before the first frame is drawn, which on a phone takes a while.
  useLayoutEffect(() => {
    work.run(look);
  }, []);

  const leave = () =>
    work.run(async () => {
      await api.ask('/api/v1/access/logout', { method: 'POST' });
      setShown('login');
      onOut();
    });

  const what = self?.must_change === true ? 'password' : shown;
  return (
    <main id="content" class="door">
      <h1>siteward</h1>
      {ended && what === 'login' && <p role="status">{t('door.ended')}</p>}
      {what === 'looking' && <p>{t('door.looking')}</p>}
      {(what === 'away' || what === 'unusable') && (
        <Card>
          <p role="alert">{t(what === 'away' ? 'error.offline' : 'door.unusable')}</p>
          <button type="button" disabled={work.busy} onClick={() => work.run(look)}>
            {t('door.again')}
          </button>
        </Card>
      )}
      {what === 'login' && <Login api={api} onIn={onIn} />}
      {what === 'claim' && <Claim api={api} onIn={onIn} />}
      {what === 'password' && (
        <Card title={t('password.title')}>
          <p>{t('password.about')}</p>
          <OwnPassword api={api} onIn={onIn} />
          <button type="button" disabled={work.busy} onClick={leave}>
            {t('own.logout')}
          </button>
          <Trouble error={work.error} />
        </Card>
      )}
    </main>
  );
}

interface Way {
  readonly api: Api;
  readonly onIn: (self: SelfAnswer) => void;
}

function Login({ api, onIn }: Way) {
  const { t } = useWords();
  const [id, setId] = useState('');
  const [password, setPassword] = useState('');
  const work = useWork();
  const send = () =>
    work.run(async () => {
      onIn(await api.ask<SelfAnswer>('/api/v1/access/login', { method: 'POST', body: { id, password } }));
    });
  return (
    <Card title={t('login.title')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <Field name="id" label={t('login.id')} value={id} onInput={setId} autocomplete="username" />
        <Field
          {...{ name: 'password', type: 'password', label: t('login.password'), value: password }}
          onInput={setPassword}
          autocomplete="current-password"
        />
        <Trouble error={work.error} meanings={{ access_needed: 'login.wrong' }} />
        <button type="submit" class="main" disabled={work.busy}>
          {t('login.send')}
        </button>
      </form>
    </Card>
  );
}

function Claim({ api, onIn }: Way) {
  const { t } = useWords();
  const [fields, setFields] = useState({ code: '', id: '', name: '', password: '' });
  const [role, setRole] = useState<'installer' | 'owner'>('installer');
  const work = useWork();
  const set = (name: keyof typeof fields) => (value: string) => setFields({ ...fields, [name]: value });
  const send = () =>
    work.run(async () => {
      const body = { ...fields, code: fields.code.trim(), role };
      onIn(await api.ask<SelfAnswer>('/api/v1/access/claim', { method: 'POST', body }));
    });
  return (
    <Card title={t('claim.title')}>
      <p>{t('claim.about')}</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <Field
          {...{ name: 'code', label: t('claim.code'), value: fields.code, hint: t('claim.codeHint') }}
          onInput={set('code')}
          autocomplete="off"
        />
        <Field
          {...{ name: 'id', label: t('login.id'), value: fields.id, hint: t('claim.idHint') }}
          onInput={set('id')}
          autocomplete="username"
        />
        <Field
          {...{ name: 'name', label: t('claim.name'), value: fields.name }}
          onInput={set('name')}
          autocomplete="name"
        />
        <Field
          {...{
            name: 'password',
            type: 'password',
            label: t('login.password'),
            value: fields.password,
            hint: t('password.hint'),
          }}
          onInput={set('password')}
          autocomplete="new-password"
        />
        <fieldset>
          <legend>{t('claim.role')}</legend>
          {(['installer', 'owner'] as const).map((one) => (
            <label key={one}>
              <input type="radio" name="role" checked={role === one} onChange={() => setRole(one)} />{' '}
              {t(one === 'installer' ? 'claim.installer' : 'claim.owner')}
            </label>
          ))}
        </fieldset>
        <Trouble error={work.error} meanings={{ access_needed: 'claim.wrong' }} />
        <button type="submit" class="main" disabled={work.busy}>
          {t('claim.send')}
        </button>
      </form>
    </Card>
  );
}
