import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { EventEntry } from '#lan/http/index.ts';
import { useLive, usePage, useWords } from './context.ts';
import { EventRow } from './event-row.tsx';
import { olderFrom, type SiteEvent } from './events.ts';
import { mostEvents } from './live.ts';
import { Card, Trouble, useWork } from './parts.tsx';

interface PageOfEvents {
  readonly items: readonly EventEntry[];
  readonly next_before: number | null;
}

const classes = Object.keys({
  alarm: true,
  trouble: true,
  arming: true,
  bypass: true,
  test: true,
  camera: true,
  audio: true,
  verification: true,
  command: true,
  system: true,
} satisfies Record<SiteEvent['class'], true>);

/** What happened, newest first: live, and further back on demand; of each the way to the cloud and its pictures. */
export function EventsScreen() {
  const { events } = useLive();
  const { t, word } = useWords();
  const [paused, setPaused] = useState<readonly SiteEvent[] | undefined>(undefined);
  const [only, setOnly] = useState('');
  const live = (paused ?? events).filter((event) => only === '' || event.class === only);
  return (
    <>
      <h1>{t('nav.events')}</h1>
      <Card
        aside={
          <div class="buttons">
            <label>
              {t('events.only')}{' '}
              <select value={only} onChange={(event) => setOnly(event.currentTarget.value)}>
                <option value="">{t('events.all')}</option>
                {classes.map((one) => (
                  <option key={one} value={one}>
                    {word('class', one)}
                  </option>
                ))}
              </select>
            </label>
            <button
              type="button"
              aria-pressed={paused !== undefined}
              onClick={() => setPaused(paused === undefined ? events : undefined)}
            >
              {t(paused === undefined ? 'events.pause' : 'events.go')}
            </button>
          </div>
        }
      >
        <EventList
          key={only}
          {...{ only, live, isFull: (paused ?? events).length >= mostEvents }}
          // Else events that come would push out what is read.
          onOlder={() => setPaused(paused ?? events)}
        />
      </Card>
    </>
  );
}

/** `isFull`: older ones have left the live list. */
function EventList(props: { only: string; live: readonly SiteEvent[]; isFull: boolean; onOlder: () => void }) {
  const { only, live, isFull, onOlder } = props;
  const { api } = usePage();
  const { t } = useWords();
  const [older, setOlder] = useState<readonly EventEntry[]>([]);
  const [next, setNext] = useState<number | null | undefined>(undefined);
  /** All before it that were asked for stand in `older`. */
  const [reach, setReach] = useState(0);
  const work = useWork();
  const names = useNames();
  const rowOf = useRows(names);

  const more = (known: readonly EventEntry[], before?: number) =>
    work.run(async () => {
      const query = `limit=50${before === undefined ? '' : `&before=${before}`}${only === '' ? '' : `&class=${only}`}`;
      const page = await api.ask<PageOfEvents>(`/api/v1/events?${query}`);
      setOlder([...known, ...page.items]);
      if (known.length === 0) setReach(before ?? (page.items[0]?.seq ?? -1) + 1);
      setNext(page.next_before);
    });
  useEffect(() => more([]), []);

  const last = live.at(-1);
  const { isApart, from } = olderFrom(last?.seq, isFull, { reach, next });
  const behind = isApart ? [] : older.filter(({ seq }) => last === undefined || seq < last.seq);
  return (
    <>
      <ol class="events">
        {live.map(rowOf)}
        {behind.map(({ seq, event }) => (
          <EventRow key={seq} event={event} name={names.get(event.partition ?? '')} />
        ))}
      </ol>
      {next === null && live.length === 0 && behind.length === 0 && <p>{t('events.none')}</p>}
      <Trouble error={work.error} />
      {typeof from === 'number' && (
        <button
          type="button"
          disabled={work.busy}
          onClick={() => {
            onOlder();
            more(behind, from);
          }}
        >
          {t('events.more')}
        </button>
      )}
    </>
  );
}

/** Names of the partitions; the same map as long as they are the same. */
function useNames(): ReadonlyMap<string, string> {
  const { partitions } = useLive();
  const told = JSON.stringify(partitions.map(({ id, name }) => [id, name]));
  return useMemo(() => new Map(JSON.parse(told) as [string, string][]), [told]);
}

/** The same row again for the same event: at two hundred events a second only those are drawn that are new. */
function useRows(names: ReadonlyMap<string, string>): (event: SiteEvent) => VNode {
  const words = useWords();
  return useMemo(() => {
    void words;
    const rows = new WeakMap<SiteEvent, VNode>();
    return (event) => {
      const row = rows.get(event) ?? <EventRow key={event.seq} event={event} name={names.get(event.partition ?? '')} />;
      rows.set(event, row);
      return row;
    };
  }, [words, names]);
}
