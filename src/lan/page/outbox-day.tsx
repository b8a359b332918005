import type { OutboxHistory } from '#lan/http/index.ts';
import { hoursOf } from './chart.ts';
import { Chart } from './chart.tsx';
import { useWords } from './context.ts';
import { Card, Trouble } from './parts.tsx';
import { useAsked } from './use-asked.ts';

/** How much waited over the last day, and how long it took. */
export function OutboxDay() {
  const { t } = useWords();
  const { value, error } = useAsked<OutboxHistory>('/api/v1/outbox/history');
  return (
    <Card title={t('day.title')}>
      <Trouble error={error} />
      {value?.items.length === 0 && <p>{t('day.none')}</p>}
      {value !== undefined && value.items.length > 0 && <Day history={value} />}
    </Card>
  );
}

function Day({ history: { items, every_s: everyS } }: { history: OutboxHistory }) {
  const { t, number, hour } = useWords();
  const everyMs = everyS * 1000;
  const now = Date.parse(items.at(-1)?.at ?? '') + everyMs;
  const shared = { steps: items, everyMs, now };
  const latency = (ms: number) =>
    ms > 0 && ms < 1000
      ? t('day.ms', { ms: number(ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)) })
      : t('day.seconds', { seconds: number(Math.round(ms / 100) / 10) });
  return (
    <>
      <Chart
        {...shared}
        title={t('day.waiting')}
        lines={[{ name: t('day.waiting'), value: ({ waiting }) => waiting }]}
        whole
        shown={number}
      />
      <Chart
        {...shared}
        title={t('day.latency')}
        lines={[
          { name: t('day.p50'), value: ({ latency_ms: ms }) => ms?.p50 ?? null },
          { name: t('day.p95'), value: ({ latency_ms: ms }) => ms?.p95 ?? null },
        ]}
        shown={latency}
      />
      <details>
        <summary>{t('day.table')}</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">{t('day.from')}</th>
              <th scope="col">{t('day.waiting')}</th>
              <th scope="col">{t('day.accepted')}</th>
              <th scope="col">{t('day.slowest')}</th>
            </tr>
          </thead>
          <tbody>
            {hoursOf(items).map(({ at, waiting, accepted, p95 }) => (
              <tr key={at}>
                <th scope="row">{hour(at)}</th>
                <td>{waiting === null ? t('unknown') : number(waiting)}</td>
                <td>{number(accepted)}</td>
                <td>{p95 === null ? '–' : latency(p95)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </>
  );
}
