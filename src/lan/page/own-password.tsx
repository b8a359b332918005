import { useState } from 'preact/hooks';
import type { SelfAnswer } from '#lan/http/index.ts';
import type { Api } from './api.ts';
import { useWords } from './context.ts';
import { Field, Trouble, useWork } from './parts.tsx';

/** Another password of one's own: all other sessions of the account end. */
export function OwnPassword({ api, onIn }: { api: Api; onIn: (self: SelfAnswer) => void }) {
  const { t } = useWords();
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const work = useWork();
  const send = () =>
    work.run(async () => {
      const body = { current, password };
      onIn(await api.ask<SelfAnswer>('/api/v1/access/self/password', { method: 'PUT', body }));
      setCurrent('');
      setPassword('');
    });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Field
        {...{ name: 'current', type: 'password', label: t('password.current'), value: current }}
        onInput={setCurrent}
        autocomplete="current-password"
      />
      <Field
        {...{ name: 'new-password', type: 'password', label: t('password.new'), value: password }}
        hint={t('password.hint')}
        onInput={setPassword}
        autocomplete="new-password"
      />
      <Trouble error={work.error} />
      <button type="submit" class="main" disabled={work.busy}>
        {t('password.send')}
      </button>
    </form>
  );
}
