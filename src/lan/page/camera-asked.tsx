import { Fragment } from 'preact';
import type { InspectedCamera } from '#lan/http/index.ts';
import { useWords } from './context.ts';

/** What a device says of itself, and its certificate to be approved. */
export function CameraAsked(props: {
  asked: InspectedCamera;
  prefix: string;
  approved: boolean;
  onApprove: (fingerprint: string) => void;
}) {
  const { t, number } = useWords();
  const { asked, approved, onApprove } = props;
  const { tls_fingerprint: fingerprint, clock_offset_s: offset, same_as: same } = asked;
  const rows = [
    ['asked.what', `${asked.manufacturer} ${asked.model}`.trim()],
    ['asked.firmware', asked.firmware],
    ['asked.serial', asked.serial],
    ['asked.clock', offset === null ? t('unknown') : t('asked.offset', { seconds: number(Math.round(offset)) })],
    ['asked.events', t(asked.events ? 'asked.yes' : 'asked.noEvents')],
    ['asked.sources', asked.sources.map(({ token, resolution }) => [token, resolution].join(' ').trim()).join(', ')],
  ] as const;
  return (
    <div role="status">
      <dl>
        {rows.map(([name, value]) => (
          <Fragment key={name}>
            <dt>{t(name)}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
      </dl>
      {!asked.authenticated && <p class="why">{t('asked.noLogin')}</p>}
      {same !== null && <p class="trouble">{t('asked.same', { id: same })}</p>}
      {fingerprint !== null && (
        <>
          <p>{t('asked.certificate')}</p>
          <p>
            <code>{fingerprint}</code>
          </p>
          <label class="check">
            <input
              type="checkbox"
              checked={approved}
              onChange={({ currentTarget: { checked } }) => onApprove(checked ? fingerprint : '')}
            />{' '}
            {t('asked.approve')}
          </label>
        </>
      )}
    </div>
  );
}
