import { useState } from 'preact/hooks';
import type { EventEntry } from '#lan/http/index.ts';
import { useWords } from './context.ts';
import { EventMedia } from './event-media.tsx';
import { type SiteEvent, trailOf } from './events.ts';
import { Badge, Trouble } from './parts.tsx';
import { useAsked } from './use-asked.ts';

/** `name`: of its partition. */
export function EventRow({ event, name = event.partition }: { event: SiteEvent; name?: string | undefined }) {
  const { word, time } = useWords();
  const [open, setOpen] = useState(false);
  const { kind, at, zone = '', data, camera = '', status } = event;
  // What is over, or was none, is not shown as what still is.
  const tone =
    status !== 'active' ? 'plain' : event.class === 'alarm' ? 'bad' : event.class === 'trouble' ? 'note' : 'plain';
  const of = [name, data.zone_name ?? zone, camera].filter((text) => text !== undefined && text !== '');
  const whose = of.length > 0 ? of.join(' ') : kind === 'short_outage' || event.class === 'trouble' ? event.source : '';
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <Badge tone={tone}>
            {word('event', kind)}
            {status !== 'active' && ` (${word('status', status)})`}
          </Badge>{' '}
          {whose} <time dateTime={at}>{time(at)}</time>
        </summary>
        {open && <Details event={event} />}
      </details>
    </li>
  );
}

/** What the stream does not tell is asked for: how far it is on its way, and its pictures. */
function Details({ event: { seq, event_id: id, zone, actor, data } }: { event: SiteEvent }) {
  const words = useWords();
  const { t } = words;
  const { value, busy, error, again } = useAsked<{ items: EventEntry[] }>(`/api/v1/events?limit=1&before=${seq + 1}`);
  const entry = value?.items.find((one) => one.seq === seq);
  return (
    <>
      <dl>
        <dt>{t('events.number')}</dt>
        <dd>{seq}</dd>
        <dt>{t('events.id')}</dt>
        <dd>{id}</dd>
        {zone !== undefined && (
          <>
            <dt>{t('events.zone')}</dt>
            <dd>{zone}</dd>
          </>
        )}
        {actor !== undefined && (
          <>
            <dt>{t('events.actor')}</dt>
            <dd>{actor}</dd>
          </>
        )}
        {data.detail !== undefined && (
          <>
            <dt>{t('events.detail')}</dt>
            <dd>{data.detail.replace(/^[a-z_]+(?=, over)/, (kind) => words.word('event', kind))}</dd>
          </>
        )}
        <dt>{t('events.delivery')}</dt>
        <dd>
          {value === undefined && error === undefined && t('loading')}
          {value !== undefined && entry === undefined && t('events.gone')}
          {entry !== undefined && (
            <ol class="trail">
              {trailOf(entry, words).map((step) => (
                <li key={step}>{step}</li>
              ))}
            </ol>
          )}
        </dd>
      </dl>
      <Trouble error={error} />
      {entry !== undefined && entry.media.length > 0 && <EventMedia seq={seq} count={entry.media.length} />}
      {entry?.delivery === 'waiting' && (
        <button type="button" disabled={busy} onClick={again}>
          {t('refresh')}
        </button>
      )}
    </>
  );
}
