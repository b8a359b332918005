import { useState } from 'preact/hooks';
import type { ConfigShown, ZoneEntry } from '#lan/http/index.ts';
import { usePage, useWords } from './context.ts';
import { mapOf, textOf } from './pending.ts';
import { save } from './save.ts';
import { isolated } from './text.ts';
import { type WalkTestResult, walkReport } from './walks.ts';

/** What a walk test has shown, with the zones that nobody tripped by name, and a file of it for whoever asks later. */
export function WalkResult(props: { result: WalkTestResult; name: string; zones: readonly ZoneEntry[] }) {
  const { api, self, may, feed } = usePage();
  const { t } = useWords();
  const { result, name, zones } = props;
  const [saved, setSaved] = useState(false);
  const [at] = useState(() => new Date(feed.bridgeMs() ?? Date.now()).toISOString());
  const named = (numbers: readonly string[]) =>
    numbers
      .map((number) => `${number} ${isolated(zones.find((zone) => zone.number === number)?.name ?? '')}`.trim())
      .join(', ');

  async function file(): Promise<void> {
    const shown = may('getConfig') ? await api.ask<ConfigShown>('/api/v1/config').catch(() => undefined) : undefined;
    const site = mapOf(shown?.config ?? {}, 'site');
    const about = { at, bridge: location.host, person: self.id ?? '', name, zones };
    const report = walkReport(result, { ...about, site: textOf(site, 'name') || textOf(site, 'external_id') });
    save(new Blob([JSON.stringify(report, null, 2)]), `walk-test-${result.partition}-${at.slice(0, 10)}.json`);
    setSaved(true);
  }

  return (
    <>
      <p>{t('walk.result', { count: result.walked, missed: result.missed })}</p>
      {result.missed_zones.length > 0 && (
        <p class="trouble">{t('walk.missed', { zones: named(result.missed_zones) })}</p>
      )}
      <button type="button" onClick={() => void file()}>
        {t('walk.save')}
      </button>
      <p role="status">{saved && t('saved')}</p>
    </>
  );
}
