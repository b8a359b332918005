import { useState } from 'preact/hooks';
import type { PartitionStatus, ZoneEntry } from '#lan/http/index.ts';
import { useWords } from './context.ts';
import { Field, Trouble } from './parts.tsx';
import { isolated } from './text.ts';
import { useCommand } from './use-command.ts';
import { Zones } from './zones.tsx';

type Mode = NonNullable<PartitionStatus['mode']>;

/** The one that is wanted most often comes first. */
const allModes = Object.keys({
  away: true,
  home: true,
  night: true,
  vacation: true,
  custom: true,
} satisfies Record<Mode, true>) as readonly Mode[];

/** Arming, disarming and leaving zones out, all with the one code that is typed above them. */
export function Commands({ partition, zones }: { partition: PartitionStatus; zones: readonly ZoneEntry[] }) {
  const { t, word } = useWords();
  const [force, setForce] = useState(false);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  // What was refused stays chosen.
  const { code, setCode, give, busy, error, said, refused } = useCommand({
    onDone(done) {
      if ('zone' in done) setChosen((old) => old.filter((zone) => zone !== done.zone));
    },
  });
  const { id, state, modes = allModes, authority } = partition;
  const isOff = state === 'disarmed';
  const notReady = zones.filter(
    ({ open, tamper, online, bypassed }) => !bypassed && (open === true || tamper || !online),
  );
  const isNotReady = notReady.length > 0;
  // A panel does not say why it did not arm.
  const isUnexplained = refused?.outcome === 'unconfirmed' || refused?.error?.code === 'UNCONFIRMED';
  const likely =
    isUnexplained && isOff && isNotReady
      ? t('answer.likely', { zones: notReady.map(({ name }) => isolated(name)).join(', ') })
      : '';
  const arm = (mode: Mode) => give({ verb: 'arm', partition: id, mode, ...(force && isNotReady && { force }) });
  const each = (verb: 'bypass' | 'unbypass') => give(...chosen.map((zone) => ({ verb, zone })));

  return (
    <form onSubmit={(event) => event.preventDefault()}>
      <Field
        {...{ name: `code-${id}`, type: 'password', label: t('partitions.code'), value: code }}
        {...{ inputMode: 'numeric', autocomplete: 'off', required: false }}
        onInput={setCode}
      />
      {isOff && isNotReady && (
        <label class="check">
          <input type="checkbox" checked={force} onChange={(event) => setForce(event.currentTarget.checked)} />{' '}
          {t('partitions.force')}
        </label>
      )}
      <div class="buttons">
        {!isOff && (
          <button type="button" class="main" disabled={busy} onClick={() => give({ verb: 'disarm', partition: id })}>
            {t('partitions.disarm')}
          </button>
        )}
        {isOff &&
          allModes
            .filter((mode) => modes.includes(mode))
            .map((mode, nth) => (
              <button
                key={mode}
                type="button"
                disabled={busy}
                {...(nth === 0 && { class: 'main' })}
                onClick={() => arm(mode)}
              >
                {word('mode', mode)}
              </button>
            ))}
      </div>
      <p role="status" class={refused === undefined ? '' : 'trouble'}>
        {busy ? t(authority === 'panel' ? 'partitions.waiting' : 'loading') : said} {!busy && likely}
      </p>
      <Trouble error={error} />
      <Zones zones={zones} chosen={chosen} onChosen={setChosen} />
      {chosen.length > 0 && (
        <div class="buttons">
          <button type="button" disabled={busy} onClick={() => each('bypass')}>
            {t('partitions.bypass')}
          </button>
          <button type="button" disabled={busy} onClick={() => each('unbypass')}>
            {t('partitions.unbypass')}
          </button>
        </div>
      )}
    </form>
  );
}
