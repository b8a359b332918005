import { useState } from 'preact/hooks';
import type { SelfAnswer } from '#lan/http/index.ts';
import { usePage, useWords } from './context.ts';
import { OwnPassword } from './own-password.tsx';
import { Trouble, useWork } from './parts.tsx';

/** Who is logged in, the ways out, and a password of one's own. */
export function Own(props: { onIn: (self: SelfAnswer) => void; onOut: () => void }) {
  const { api, self, draft } = usePage();
  const { t, word } = useWords();
  const [isSet, setIsSet] = useState(false);
  const work = useWork();
  const leave = async () => {
    await api.ask('/api/v1/access/logout', { method: 'POST' });
    draft.clear();
    props.onOut();
  };
  /** This one last: without it nothing more could be asked. */
  const leaveAll = async () => {
    const { items } = await api.ask<{ items: { id: string; current: boolean }[] }>('/api/v1/access/self/sessions');
    for (const { id } of items.filter(({ current }) => !current))
      await api.ask(`/api/v1/access/self/sessions/${id}`, { method: 'DELETE' });
    await leave();
  };
  return (
    <>
      <p>
        {t('own.who', { id: self.id ?? '', role: word('role', self.role ?? '') })}{' '}
        <button type="button" disabled={work.busy} onClick={() => work.run(leave)}>
          {t('own.logout')}
        </button>
      </p>
      <Trouble error={work.error} />
      <details>
        <summary>{t('own.account')}</summary>
        <section class="card" aria-label={t('own.account')}>
          <p class="hint">{t('own.passwordAbout')}</p>
          <OwnPassword
            api={api}
            onIn={(next) => {
              setIsSet(true);
              props.onIn(next);
            }}
          />
          <p role="status">{isSet && t('own.passwordSet')}</p>
          <button type="button" disabled={work.busy} onClick={() => work.run(leaveAll)}>
            {t('own.logoutAll')}
          </button>
        </section>
      </details>
    </>
  );
}
