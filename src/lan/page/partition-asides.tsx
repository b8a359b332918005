import type { PartitionStatus, ZoneEntry } from '#lan/http/index.ts';
import { useLive, useWords } from './context.ts';
import { testEnds } from './findings.ts';
import { Badge } from './parts.tsx';
import { isolated } from './text.ts';

/** What of a partition is not watched now, and what was in alarm: arming alone does not tell it. */
export function Asides(props: { partition: PartitionStatus; zones: readonly ZoneEntry[] }) {
  const { status } = useLive();
  const { t, hour } = useWords();
  const { id, test, memory, alarm } = props.partition;
  const mine = props.zones.filter(({ partitions }) => partitions.includes(id));
  const named = (zones: readonly ZoneEntry[]) => zones.map(({ name }) => isolated(name)).join(', ');
  const left = mine.filter(({ bypassed }) => bypassed);
  const remembered = mine.filter(({ number }) => memory.includes(number));
  return (
    <>
      {test !== undefined && status !== undefined && (
        <p class="aside">
          <Badge tone="note">
            <a href="#/walk">{t('partitions.test', { time: hour(testEnds(status, test.left_s)) })}</a>
          </Badge>
        </p>
      )}
      {left.length > 0 && (
        <p class="aside">
          <Badge tone="note">{t('partitions.leftOut', { zones: named(left) })}</Badge>
        </p>
      )}
      {alarm === null && remembered.length > 0 && (
        <p class="aside">
          <Badge tone="note">{t('partitions.memory', { zones: named(remembered) })}</Badge>
        </p>
      )}
    </>
  );
}
