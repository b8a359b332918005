import type { ConfigChange, ConfigSaved } from '#lan/http/index.ts';
import { ApiError } from './api.ts';
import { useWords } from './context.ts';
import { errorText } from './error-text.ts';
import { Trouble } from './parts.tsx';
import { keyOf, textOf } from './pending.ts';
import type { Words } from './text.ts';
import type { SaveAnswer } from './use-setup.ts';

/** What is not saved yet, what saving it would write, and what came of it. */
export function SetupPending(props: {
  changes: readonly ConfigChange[];
  /** The file can be read, so that there is something to be changed. */
  writable: boolean;
  saving: { busy: boolean; error: unknown; answer: SaveAnswer | undefined; send(dryRun: boolean): void };
  discard: (change?: ConfigChange) => void;
  again: () => void;
}) {
  const words = useWords();
  const { t } = words;
  const { changes, writable, discard, again } = props;
  const { busy, error, answer, send } = props.saving;
  const idle = changes.length === 0;
  return (
    <section class={`card pending ${idle ? '' : 'open'}`} aria-label={t('pending.title')}>
      <p role="status">
        {busy
          ? t('pending.busy')
          : answer !== undefined && answer.kind !== 'preview'
            ? [savedText(answer, words), ...(idle ? [] : [t('pending.more', { count: changes.length })])].join(' ')
            : idle
              ? t('pending.none')
              : t('pending.count', { count: changes.length })}
      </p>
      {!idle && (
        <details>
          <summary>{t('pending.which')}</summary>
          <ul class="rows">
            {changes.map((change) => (
              <li key={keyOf(change)}>
                <span>{changeText(change, words)}</span>
                <button
                  type="button"
                  disabled={busy}
                  aria-label={t('pending.drop', { what: changeText(change, words) })}
                  onClick={() => discard(change)}
                >
                  {t('pending.discard')}
                </button>
              </li>
            ))}
          </ul>
        </details>
      )}
      {answer?.kind === 'preview' && <Patch patch={answer.patch} />}
      <Failure error={error} again={again} />
      {!writable && <p class="trouble">{t('pending.unreadable')}</p>}
      {!idle && (
        <div class="buttons">
          <button type="button" class="main" disabled={busy || !writable} onClick={() => send(false)}>
            {t('pending.save')}
          </button>
          <button type="button" disabled={busy || !writable} onClick={() => send(true)}>
            {t('pending.preview')}
          </button>
          <button type="button" disabled={busy} onClick={() => discard()}>
            {t('pending.discardAll')}
          </button>
        </div>
      )}
    </section>
  );
}

const savedText = (answer: SaveAnswer, { t }: Words): string => {
  if (answer.kind === 'found') return t('pending.found');
  const { taken, reason } = answer;
  return taken ? t('pending.taken') : t('pending.notTaken', { reason: reason ?? '' });
};

const names = { cameras: 'setup.camera', nvrs: 'setup.camera', site: 'setup.site', cloud: 'setup.cloud' } as const;

/** What a change is, without a value: secrets are among them. */
function changeText(change: ConfigChange, { t, word }: Words): string {
  const { section } = change;
  const kind = names[section as keyof typeof names] ?? section;
  const members = (all: object) =>
    Object.keys(all)
      .map((name) => word(kind, name))
      .join(', ');
  const what = word('pending.section', section);
  if (change.do === 'set') return `${what}: ${members(change.members)}`;
  const id = change.do === 'add' ? textOf(change.entry, 'id') : change.id;
  if (change.do === 'change') return `${what} ${id}: ${members(change.members)}`;
  return `${what} ${id}: ${t(change.do === 'add' ? 'pending.new' : 'pending.removed')}`;
}

/** Lines that come and go; a screen reader hears the sign. */
function Patch({ patch }: { patch: ConfigSaved['patch'] }) {
  const { t } = useWords();
  if (patch.length === 0) return <p>{t('pending.nothing')}</p>;
  return (
    <>
      <p>{t('pending.wouldWrite')}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section class="log patch" tabIndex={0} aria-label={t('pending.lines')}>
        <ol>
          {patch.map(({ sign, line, text }) => (
            <li key={`${sign}${line}`} class={sign === '+' ? 'in' : 'out'}>
              <span>{sign === '+' ? '+' : '−'} </span>
              {text}
            </li>
          ))}
        </ol>
      </section>
    </>
  );
}

function Failure({ error, again }: { error: unknown; again: () => void }) {
  const words = useWords();
  const { t } = words;
  if (error instanceof ApiError && error.problem.code === 'config_changed')
    return (
      <div class="trouble" role="alert">
        <p>{t('pending.changedMeanwhile')}</p>
      </div>
    );
  if (!(error instanceof ApiError)) {
    return error === undefined ? null : (
      <>
        <Trouble error={error} />
        <button type="button" onClick={again}>
          {t('refresh')}
        </button>
      </>
    );
  }
  const { errors, detail: whole = '' } = error.problem;
  // The sentence above has told the first of them.
  const further = errors?.filter(({ detail }) => !whole.includes(detail)) ?? [];
  return (
    <div class="trouble" role="alert">
      <p>{errorText(error, words)}</p>
      {whole !== '' && further.length > 0 && (
        <ul>
          {further.map(({ field, detail }) => (
            <li key={`${field} ${detail}`}>
              {field}: {detail}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
