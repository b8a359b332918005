import type { OutboxDocument, ParkedEntry } from '#lan/http/index.ts';
import { usePage, useWords } from './context.ts';
import { OutboxDay } from './outbox-day.tsx';
import { Badge, Card, Trouble, useWork } from './parts.tsx';
import { useAsked } from './use-asked.ts';

/** What waits for the cloud, why, and what it refused. */
export function OutboxScreen() {
  const { may } = usePage();
  const { t } = useWords();
  const outbox = useAsked<OutboxDocument>('/api/v1/outbox');
  const parked = useAsked<{ items: ParkedEntry[] }>('/api/v1/outbox/parked?limit=50');
  const again = () => {
    outbox.again();
    parked.again();
  };
  return (
    <>
      <h1>{t('nav.outbox')}</h1>
      <button type="button" disabled={outbox.busy} onClick={again}>
        {t('refresh')}
      </button>
      <Trouble error={outbox.error ?? parked.error} />
      {outbox.value !== undefined && <Depth outbox={outbox.value} />}
      {may('getOutboxHistory') && <OutboxDay />}
      {parked.value !== undefined && <Parked items={parked.value.items} onDone={again} />}
    </>
  );
}

function Depth({ outbox }: { outbox: OutboxDocument }) {
  const { t, word, time, number } = useWords();
  const { lanes, link, sending, hints, media } = outbox;
  return (
    <Card
      title={t('outbox.waits')}
      aside={
        <Badge tone={link.state === 'up' ? 'good' : link.state === 'down' ? 'bad' : 'plain'}>
          {word('link', link.state)}
        </Badge>
      }
    >
      {link.reason !== undefined && <p class="why">{link.reason}</p>}
      <ul class="rows">
        {lanes.map(({ lane, waiting, oldest, lost }) => (
          <li key={lane}>
            <span>{word('lane', lane)}</span>
            <span>
              {number(waiting)}
              {oldest !== null && ` (${t('now.since', { time: time(oldest) })})`}
              {lost > 0 && `, ${t('outbox.lost', { count: lost })}`}
            </span>
          </li>
        ))}
        <li>
          <span>{t('outbox.media')}</span>
          <span>{number(media.waiting)}</span>
        </li>
        <li>
          <span>{t('outbox.rate')}</span>
          <span>{number(sending.per_min)}</span>
        </li>
      </ul>
      {hints.map((hint) => (
        <p key={hint} class="remedy">
          {hint}
        </p>
      ))}
    </Card>
  );
}

function Parked({ items, onDone }: { items: readonly ParkedEntry[]; onDone: () => void }) {
  const { api, may } = usePage();
  const { t, word, time } = useWords();
  const work = useWork();
  const retry = (seqs: readonly number[]) =>
    work.run(async () => {
      await api.ask('/api/v1/outbox/parked/retry', { method: 'POST', body: { seqs } });
      onDone();
    });
  return (
    <Card title={t('outbox.parked')}>
      {items.length === 0 && <p>{t('outbox.noParked')}</p>}
      <Trouble error={work.error} />
      <ul class="findings">
        {items.map(({ seq, event, at, reason, means, remedy }) => (
          <li key={seq}>
            <Badge tone="bad">
              {seq} {word('event', event.kind)}
            </Badge>
            <p class="why">
              {time(at)}: {reason}
            </p>
            <p>{means}</p>
            <p class="remedy">{remedy}</p>
            {may('retryParked') && (
              <button type="button" disabled={work.busy} onClick={() => retry([seq])}>
                {t('outbox.retry')}
              </button>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}
