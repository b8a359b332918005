import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Page, usePage } from './context.ts';
import { focusScreen } from './focus.ts';
import { DangerScreen } from './screen-danger.tsx';
import { DevicesScreen } from './screen-devices.tsx';
import { EventsScreen } from './screen-events.tsx';
import { NowScreen } from './screen-now.tsx';
import { OutboxScreen } from './screen-outbox.tsx';
import { PartitionsScreen } from './screen-partitions.tsx';
import { ReportScreen } from './screen-report.tsx';
import { SetupScreen } from './screen-setup.tsx';
import { SpeakersScreen } from './screen-speakers.tsx';
import { UsersScreen } from './screen-users.tsx';
import { WalkTestScreen } from './screen-walk-test.tsx';
import type { TextKey } from './text.ts';

interface Screen {
  readonly name: string;
  readonly title: TextKey;
  /** The operation that it takes. */
  readonly needs: string;
  readonly draw: () => VNode;
}

const screens: readonly Screen[] = [
  { name: 'now', title: 'nav.now', needs: 'getStatus', draw: () => <NowScreen /> },
  { name: 'partitions', title: 'nav.partitions', needs: 'listPartitions', draw: () => <PartitionsScreen /> },
  { name: 'devices', title: 'nav.devices', needs: 'listDevices', draw: () => <DevicesScreen /> },
  { name: 'events', title: 'nav.events', needs: 'listEvents', draw: () => <EventsScreen /> },
  { name: 'walk', title: 'nav.walk', needs: 'giveTestCommand', draw: () => <WalkTestScreen /> },
  { name: 'speakers', title: 'nav.speakers', needs: 'listSpeakers', draw: () => <SpeakersScreen /> },
  { name: 'outbox', title: 'nav.outbox', needs: 'getOutbox', draw: () => <OutboxScreen /> },
  { name: 'users', title: 'nav.users', needs: 'listPeople', draw: () => <UsersScreen /> },
  { name: 'setup', title: 'nav.setup', needs: 'getConfig', draw: () => <SetupScreen /> },
  { name: 'report', title: 'nav.report', needs: 'listBundleContents', draw: () => <ReportScreen /> },
  { name: 'danger', title: 'nav.danger', needs: 'restart', draw: () => <DangerScreen /> },
];

const routeNow = (): string => location.hash.replace(/^#\/?/, '').split('/')[0] || 'now';

export function useRoute(): string {
  const [route, setRoute] = useState(routeNow);
  useEffect(() => {
    const changed = () => setRoute(routeNow());
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return route;
}

/** An address of old, or of somebody with other rights, says so. */
export function screenOf(route: string, { may, words: { t } }: Page): VNode {
  const found = screens.find(({ name }) => name === route);
  if (found !== undefined && may(found.needs)) return found.draw();
  return (
    <>
      <h1>{t(found === undefined ? 'nav.unknown' : found.title)}</h1>
      <p>{t(found === undefined ? 'nav.unknownAbout' : 'nav.notYours')}</p>
      <p>
        <a href="#/now">{t('nav.toNow')}</a>
      </p>
    </>
  );
}

export function Navigation({ route }: { route: string }) {
  const { may, words } = usePage();
  const shown = useRef(route);
  const title = screens.find(({ name }) => name === route)?.title;

  useEffect(() => {
    document.title = title === undefined ? 'siteward' : `${words.t(title)} · siteward`;
  }, [title, words]);
  // On a phone the row of screens is longer than the page is wide.
  useEffect(
    () => document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' }),
    [route],
  );
  useEffect(() => {
    if (shown.current === route) return;
    shown.current = route;
    focusScreen();
  }, [route]);

  return (
    <nav aria-label={words.t('nav.label')}>
      <ul>
        {screens
          .filter(({ needs }) => may(needs))
          .map(({ name, title }) => (
            <li key={name}>
              <a href={`#/${name}`} {...(route === name && { 'aria-current': 'page' })}>
                {words.t(title)}
              </a>
            </li>
          ))}
      </ul>
    </nav>
  );
}
