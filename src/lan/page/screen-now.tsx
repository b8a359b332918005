import { useLive, usePage, useWords } from './context.ts';
import { findingsOf, hasNoCloud, waitingIn } from './findings.ts';
import { Clock, Uptime } from './now-clock.tsx';
import { Asides } from './partition-asides.tsx';
import { Badge, Card } from './parts.tsx';
import { useAsked } from './use-asked.ts';

/** What is wrong, in words, with what to do next: readable in ten seconds in a plant room. */
export function NowScreen() {
  const { status, zones } = useLive();
  const { self } = usePage();
  const words = useWords();
  const { t, word, number } = words;
  if (status === undefined) return <p>{t('waiting')}</p>;
  const findings = findingsOf(status, words, zones);
  const worst = findings.some(({ tone }) => tone === 'bad') ? 'bad' : findings.length > 0 ? 'note' : 'good';
  const waiting = waitingIn(status.outbox);
  const link = status.links.find(({ kind }) => kind === 'cloud');
  return (
    <>
      <h1>{t('nav.now')}</h1>
      <div class={`tile ${worst}`} aria-live={worst === 'bad' ? 'assertive' : 'polite'}>
        <strong>{t(worst === 'good' ? 'now.allGood' : 'now.found', { count: findings.length })}</strong>
      </div>
      {findings.length > 0 && (
        <ul class="findings">
          {findings.map(({ key, tone, text, why, remedy, at }) => (
            <li key={key} class={tone}>
              <Badge tone={tone}>{at === undefined ? text : <a href={`#/${at}`}>{text}</a>}</Badge>
              {why !== undefined && <p class="why">{why}</p>}
              {remedy !== undefined && <p class="remedy">{remedy}</p>}
            </li>
          ))}
        </ul>
      )}
      {self.role === 'installer' && <HandOver />}
      <Card title={t('now.partitions')}>
        <ul class="rows">
          {status.partitions.map((partition) => (
            <li key={partition.id}>
              <span>{partition.name}</span>
              <span class={partition.stale ? 'old' : ''}>
                {word('arming', partition.state)}
                {partition.stale && ` (${t('stale')})`}
              </span>
              <Asides partition={partition} zones={zones} />
            </li>
          ))}
        </ul>
      </Card>
      <Card title={t('now.bridge')}>
        <dl>
          <dt>{t('now.cloud')}</dt>
          <dd>
            {t(hasNoCloud(link) ? 'now.noCloud' : link?.up === true ? 'up' : link?.up === false ? 'down' : 'unknown')}
          </dd>
          <dt>{t('now.queue')}</dt>
          <dd>{status.outbox === null ? t('unknown') : number(waiting)}</dd>
          <dt>{t('now.clockIs')}</dt>
          <dd>
            <Clock /> ({word('clock', status.clock.quality)})
          </dd>
          <dt>{t('now.uptime')}</dt>
          <dd>
            <Uptime />
          </dd>
          <dt>{t('now.version')}</dt>
          <dd>{status.version}</dd>
        </dl>
      </Card>
    </>
  );
}

/** What an installer who has claimed a new bridge does next. */
function HandOver() {
  const { t } = useWords();
  const { value } = useAsked<{ handed_over: string | null }>('/api/v1/access/people');
  if (value?.handed_over !== null) return null;
  return (
    <Card title={t('now.handOver')}>
      <p>{t('accounts.handOver')}</p>
      <p>
        <a href="#/users">{t('accounts.add')}</a>
      </p>
    </Card>
  );
}
