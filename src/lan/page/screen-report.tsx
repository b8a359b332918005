import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { usePage, useWords } from './context.ts';
import { Card, Trouble, useWork } from './parts.tsx';
import { save } from './save.ts';
import { useAsked } from './use-asked.ts';

/** The bridge gathers all of it before it answers. */
const makingMs = 60_000;

/** One file for whoever helps from afar; what is in it is shown before it is made. */
export function ReportScreen() {
  const { api, may, feed } = usePage();
  const { t, word, number } = useWords();
  const [saved, setSaved] = useState(false);
  const [got, setGot] = useState(0);
  const { value, error } = useAsked<{ items: { name: string }[] }>('/api/v1/support-bundle/contents');
  const work = useWork();
  const make = () =>
    work.run(async () => {
      setGot(0);
      setSaved(false);
      const file = await api.bytes('/api/v1/support-bundle', { method: 'POST', deadlineMs: makingMs, onBytes: setGot });
      const at = new Date(feed.bridgeMs() ?? Date.now()).toISOString();
      save(file, `siteward-report-${at.replaceAll(/[:.]/g, '-')}.json`);
      setSaved(true);
    });
  return (
    <>
      <h1>{t('nav.report')}</h1>
      <Card title={t('report.holds')}>
        <Trouble error={error} />
        <dl>
          {value?.items.map(({ name }) => (
            <Fragment key={name}>
              <dt>{word('bundle', name)}</dt>
              <dd>{word('report.part', name)}</dd>
            </Fragment>
          ))}
        </dl>
        <p>{t('report.about')}</p>
        <Trouble error={work.error} />
        {may('makeSupportBundle') && (
          <button type="button" class="main" disabled={work.busy} onClick={make}>
            {t(work.busy ? 'report.making' : 'report.make')}
          </button>
        )}
        {work.busy && got > 0 && <p class="hint">{t('report.got', { size: number(Math.ceil(got / 1000)) })}</p>}
        <p role="status">{saved && t('saved')}</p>
      </Card>
    </>
  );
}
