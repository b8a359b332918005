import type { PartitionStatus, ZoneEntry } from '#lan/http/index.ts';
import { Commands } from './commands.tsx';
import { useLive, usePage, useWords } from './context.ts';
import { dangerZones } from './danger-zones.ts';
import { Asides } from './partition-asides.tsx';
import { Badge, Card } from './parts.tsx';
import { isolated } from './text.ts';
import { Zones } from './zones.tsx';

export function PartitionsScreen() {
  const { partitions, zones } = useLive();
  const { t } = useWords();
  return (
    <>
      <h1>{t('nav.partitions')}</h1>
      {partitions.map((partition) => (
        <Partition
          key={partition.id}
          partition={partition}
          zones={zones.filter((zone) => zone.partitions.includes(partition.id))}
        />
      ))}
    </>
  );
}

function Partition({ partition, zones }: { partition: PartitionStatus; zones: readonly ZoneEntry[] }) {
  const { may } = usePage();
  const { t, word } = useWords();
  const { name, state, stale, alarm, authority } = partition;
  const notClosed = zones.filter(
    ({ type, open, alarm, bypassed }) => open === true && !bypassed && !(alarm && dangerZones.has(type)),
  );
  return (
    <Card
      title={name}
      aside={
        <Badge tone={alarm !== null ? 'bad' : stale ? 'note' : 'plain'}>
          {word('arming', state)}
          {stale && ` (${t('stale')})`}
        </Badge>
      }
    >
      {alarm !== null && <p role="alert">{word('event', alarm.kind)}</p>}
      {notClosed.length > 0 && (
        <p>{t('partitions.open', { zones: notClosed.map((zone) => isolated(zone.name)).join(', ') })}</p>
      )}
      <Asides partition={partition} zones={zones} />
      {authority === 'external' && <p class="hint">{t('partitions.external')}</p>}
      {may('giveCommand') && authority !== 'external' ? (
        <Commands partition={partition} zones={zones} />
      ) : (
        <Zones zones={zones} />
      )}
    </Card>
  );
}
