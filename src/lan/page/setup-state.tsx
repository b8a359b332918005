import { useLive, usePage, useWords } from './context.ts';
import { Badge, Card } from './parts.tsx';

/** Whose this bridge is, under which address and certificate it answers, and what its clock says. */
export function SetupState() {
  const { status } = useLive();
  const { self } = usePage();
  const { t, word, time } = useWords();
  if (status === undefined) return <p>{t('waiting')}</p>;
  const { parts, clock } = status;
  const { listen, fingerprint, certificate_until: until } = parts.find(({ name }) => name === 'http')?.facts ?? {};
  const tone = { synced: 'good', holdover: 'note', doubtful: 'bad' } as const;
  return (
    <Card title={t('now.bridge')} aside={<Badge tone="good">{t('setup.claimed')}</Badge>}>
      <dl>
        <dt>{t('setup.you')}</dt>
        <dd>
          {self.id} ({word('role', self.role ?? '')})
        </dd>
        <dt>{t('setup.address')}</dt>
        <dd>
          {location.host}
          {listen !== undefined && `, ${t('setup.listens', { listen: `${listen}` })}`}
        </dd>
        {typeof fingerprint === 'string' && (
          <>
            <dt>{t('setup.fingerprint')}</dt>
            <dd>
              <code>{fingerprint}</code>
              {typeof until === 'string' && ` ${t('setup.until', { time: time(until) })}`}
            </dd>
          </>
        )}
        <dt>{t('now.clockIs')}</dt>
        <dd>
          {time(clock.now)} <Badge tone={tone[clock.quality]}>{word('clock', clock.quality)}</Badge>
        </dd>
      </dl>
    </Card>
  );
}
