import { useEffect } from 'preact/hooks';
import type { PartitionStatus, ZoneEntry } from '#lan/http/index.ts';
import { useLive, usePage, useWords } from './context.ts';
import { testEnds } from './findings.ts';
import { Badge, Card, Field, Trouble } from './parts.tsx';
import { useCommand } from './use-command.ts';
import { WalkResult } from './walk-result.tsx';
import { resultOf } from './walks.ts';

const minutes = 30;
const path = '/api/v1/commands/walk-test';

/** Zones are tripped one after the other and ticked off; it ends by itself. */
export function WalkTestScreen() {
  const { partitions, zones, status } = useLive();
  const { t } = useWords();
  const isOthers = status?.arming_sync?.security_type === 4;
  return (
    <>
      <h1>{t('nav.walk')}</h1>
      <p>{t('walk.about', { minutes })}</p>
      {partitions.map((partition) =>
        isOthers || partition.authority !== 'engine' ? (
          <Card key={partition.id} title={partition.name}>
            <p class="hint">{t(partition.authority === 'panel' ? 'walk.panels' : 'walk.others')}</p>
          </Card>
        ) : (
          <Walk
            key={partition.id}
            partition={partition}
            zones={zones.filter((zone) => zone.partitions.includes(partition.id))}
          />
        ),
      )}
    </>
  );
}

function Walk({ partition, zones }: { partition: PartitionStatus; zones: readonly ZoneEntry[] }) {
  const { t, hour } = useWords();
  const { code, setCode, give, busy, error, said, tests, done } = useCommand({ path });
  const { id, name, test, state } = partition;
  const { feed } = usePage();
  const { walks, status } = useLive();
  const seen = walks.get(id);
  const ended = seen?.over === true && tests === undefined && !busy ? resultOf(id, seen) : undefined;
  useEffect(() => {
    for (const one of tests ?? []) feed.dropWalk(one.partition);
  }, [feed, tests]);
  const results = ended === undefined ? tests : [ended];

  return (
    <Card
      title={name}
      aside={
        test !== undefined && <Badge tone="note">{t('walk.left', { minutes: Math.ceil(test.left_s / 60) })}</Badge>
      }
    >
      {test !== undefined && status !== undefined && (
        <p>{t('partitions.test', { time: hour(testEnds(status, test.left_s)) })}</p>
      )}
      {test !== undefined && (
        <ul class="rows">
          {zones.map(({ number, name: zone }) => {
            const isWalked = test.walked.includes(number);
            return (
              <li key={number}>
                <span>
                  {number} <bdi>{zone}</bdi>
                </span>
                <Badge tone={isWalked ? 'good' : 'plain'}>{t(isWalked ? 'walk.walked' : 'walk.missing')}</Badge>
              </li>
            );
          })}
        </ul>
      )}
      {test === undefined && state !== 'disarmed' && <p class="hint">{t('walk.disarmFirst')}</p>}
      {test === undefined && (
        <Field
          {...{ name: `walk-code-${id}`, type: 'password', label: t('partitions.code'), value: code }}
          {...{ inputMode: 'numeric', autocomplete: 'off', required: false, hint: t('walk.codeHint') }}
          onInput={setCode}
        />
      )}
      <button
        type="button"
        class="main"
        disabled={busy || (test === undefined && state !== 'disarmed')}
        onClick={() =>
          give(test === undefined ? { verb: 'test', partition: id, minutes } : { verb: 'end_test', partition: id })
        }
      >
        {t(test === undefined ? 'walk.begin' : 'walk.end')}
      </button>
      <p role="status">
        {done?.verb === 'test'
          ? test !== undefined && t('walk.begun')
          : done?.verb === 'end_test'
            ? t('walk.over')
            : said}{' '}
        {ended !== undefined && t('walk.ended')}
      </p>
      <Trouble error={error} />
      {results?.map((one) => (
        <WalkResult key={one.partition} result={one} name={name} zones={zones} />
      ))}
    </Card>
  );
}
