import { useEffect, useRef, useState } from 'preact/hooks';
import type { LogPage } from '#lan/http/index.ts';
import { useWords } from './context.ts';
import { lastFault, linesAbout, lineText } from './log-lines.ts';
import { Badge, Trouble } from './parts.tsx';
import { useAsked } from './use-asked.ts';

/** What the log says of one device. */
export function DeviceLog({ id, name }: { id: string; name: string }) {
  const { t } = useWords();
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t('devices.log')}</summary>
      {open && <LogLines id={id} name={name} />}
    </details>
  );
}

function LogLines({ id, name }: { id: string; name: string }) {
  const { t, word, time, clock } = useWords();
  const list = useRef<HTMLDivElement>(null);
  const { value, busy, error, again } = useAsked<LogPage>('/api/v1/log?limit=1000');
  const about = value && linesAbout(value.items, id);
  const fault = about && lastFault(about);
  useEffect(() => {
    // The newest are at the bottom.
    list.current?.scrollTo(0, list.current.scrollHeight);
  }, [value]);
  return (
    <>
      <Trouble error={error} />
      {about !== undefined && (
        <p>
          {fault === undefined
            ? t('devices.noFault')
            : t('devices.lastFault', { time: fault.time === undefined ? '' : time(fault.time), text: lineText(fault) })}
        </p>
      )}
      {about?.length === 0 && <p>{t('devices.noLog')}</p>}
      {about !== undefined && about.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <section ref={list} class="log" tabIndex={0} aria-label={t('devices.logOf', { name })}>
          <ol>
            {about.map((line) => (
              <li key={line.seq}>
                {line.time !== undefined && <time dateTime={line.time}>{clock(line.time)}</time>}{' '}
                <Badge tone={line.level === 'error' ? 'bad' : line.level === 'warn' ? 'note' : 'plain'}>
                  {word('level', line.level)}
                </Badge>{' '}
                {lineText(line)}
              </li>
            ))}
          </ol>
        </section>
      )}
      <button type="button" disabled={busy} onClick={again}>
        {t('refresh')}
      </button>
    </>
  );
}
