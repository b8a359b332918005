import { useState } from 'preact/hooks';
import type { ConfigSaved, ConfigShown } from '#lan/http/index.ts';
import { ApiError } from './api.ts';
import { useLive, usePage, useWords } from './context.ts';
import { waitingIn } from './findings.ts';
import { Card, Trouble, useWork } from './parts.tsx';
import { mapOf, textOf } from './pending.ts';
import { TypedConfirmation } from './setup-fields.tsx';
import type { TextKey } from './text.ts';
import { useAsked } from './use-asked.ts';
import { useReturn } from './use-return.ts';

const deadlineMs = 60_000;
const dangers = [
  { name: 'restart', operation: 'restart', path: '/api/v1/danger/restart' },
  { name: 'forget', operation: 'forgetCloud', path: '/api/v1/danger/forget-cloud' },
  { name: 'reset', operation: 'factoryReset', path: '/api/v1/danger/factory-reset' },
] as const;
type Danger = (typeof dangers)[number];

/** What stops the bridge or cannot be undone; each takes the name of the site, typed. */
export function DangerScreen() {
  const { may } = usePage();
  const { t } = useWords();
  const { value, error } = useAsked<ConfigShown>('/api/v1/config');
  const [isAway, setAway] = useState(false);
  const site = textOf(mapOf(value?.config ?? {}, 'site'), 'external_id');
  return (
    <>
      <h1>{t('nav.danger')}</h1>
      <Trouble error={error} />
      {isAway && <Coming />}
      {site !== '' &&
        !isAway &&
        dangers
          .filter(({ operation }) => may(operation))
          .map((danger) => <Dangerous key={danger.name} {...{ danger, site, onAway: () => setAway(true) }} />)}
    </>
  );
}

function Dangerous({ danger, site, onAway }: { danger: Danger; site: string; onAway: () => void }) {
  const { api, draft } = usePage();
  const { t } = useWords();
  const [typed, setTyped] = useState('');
  const [saved, setSaved] = useState<ConfigSaved | undefined>(undefined);
  const [evenSo, setEvenSo] = useState(false);
  const work = useWork();
  const { name, path } = danger;
  const key = <K extends 'title' | 'does' | 'lost' | 'stays' | 'do'>(part: K) => t(`danger.${name}.${part}` as TextKey);
  const act = () =>
    work.run(async () => {
      setSaved(undefined);
      const body = { confirm: typed, ...(name === 'reset' && evenSo && { even_undelivered: true }) };
      const answer = await api.ask<ConfigSaved | { restarting: true }>(path, { method: 'POST', body, deadlineMs });
      setTyped('');
      if (name === 'reset') draft.clear();
      if ('restarting' in answer) onAway();
      else setSaved(answer);
    });
  const isHeldBack =
    work.error instanceof ApiError &&
    work.error.problem.errors?.some(({ field }) => field === 'even_undelivered') === true;
  return (
    <Card title={key('title')}>
      <p>{key('does')}</p>
      <dl>
        <dt>{t('danger.lost')}</dt>
        <dd>{key('lost')}</dd>
        <dt>{t('danger.stays')}</dt>
        <dd>{key('stays')}</dd>
      </dl>
      <TypedConfirmation
        {...{
          name: `danger-${name}`,
          label: <SetOff text={t('danger.type', { site })} word={site} />,
          wanted: site,
          typed,
          busy: work.busy,
        }}
        {...{ action: key('do'), onTyped: setTyped, onAction: act }}
      >
        {name === 'reset' && <Waiting shown={isHeldBack || evenSo} checked={evenSo} onCheck={setEvenSo} />}
        <Trouble error={work.error} />
      </TypedConfirmation>
      <p role="status">
        {saved !== undefined &&
          (saved.taken ? t('danger.forget.done') : t('pending.notTaken', { reason: saved.reason ?? '' }))}
      </p>
    </Card>
  );
}

/** The word that is to be typed is told apart from what is said of it. */
function SetOff({ text, word }: { text: string; word: string }) {
  const at = text.indexOf(word);
  return (
    <>
      {text.slice(0, at)}
      <strong class="word">{word}</strong>
      {text.slice(at + word.length)}
    </>
  );
}

/** Events that the cloud would never learn of: shown once the bridge has refused for them. */
function Waiting({ shown, checked, onCheck }: { shown: boolean; checked: boolean; onCheck: (on: boolean) => void }) {
  const { status } = useLive();
  const { t } = useWords();
  const count = waitingIn(status?.outbox);
  if (!shown) return null;
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onCheck(event.currentTarget.checked)} />{' '}
      {t(count === 0 ? 'danger.evenSoUnknown' : 'danger.evenSo', { count })}
    </label>
  );
}

/** Sessions end with the bridge, so that its first answer leads to the login, or to the claim. */
function Coming() {
  const { t } = useWords();
  const { seconds, answers } = useReturn();
  return (
    <Card title={t('danger.away')}>
      <p role="status">{t('danger.awayAbout')}</p>
      <p>{t('danger.since', { count: seconds })}</p>
      {seconds >= 60 && (
        <>
          <p class="trouble">{t(answers ? 'danger.notEnded' : 'danger.long')}</p>
          <button type="button" onClick={() => location.reload()}>
            {t('danger.reload')}
          </button>
        </>
      )}
    </Card>
  );
}
