import { usePage, useWords } from './context.ts';
import { Card, Trouble } from './parts.tsx';
import { SetupCameras } from './setup-cameras.tsx';
import { SetupCloud } from './setup-cloud.tsx';
import { SetupPending } from './setup-pending.tsx';
import { SetupSite } from './setup-site.tsx';
import { SetupState } from './setup-state.tsx';
import { useSetup } from './use-setup.ts';

/** The configuration as a technician sets it up. Nothing of it is written but by the button that says so. */
export function SetupScreen() {
  const { may } = usePage();
  const { t } = useWords();
  const { shown, unread, again, setup, saving, discard } = useSetup();
  return (
    <>
      <h1>{t('nav.setup')}</h1>
      <SetupState />
      <Trouble error={unread} />
      {shown?.error !== undefined && (
        <Card title={t('setup.lastGood')}>
          <p class="why">{shown.error}</p>
          <p>{t('now.lastGoodRemedy')}</p>
        </Card>
      )}
      {shown !== undefined && may('changeConfig') && (
        <>
          <SetupSite setup={setup} />
          <SetupCloud setup={setup} />
          <SetupCameras setup={setup} />
          <SetupPending {...{ changes: setup.changes, writable: shown.version !== null, saving, discard, again }} />
        </>
      )}
    </>
  );
}
