import { useEffect, useState } from 'preact/hooks';
import { useLive, usePage, useWords } from './context.ts';
import { ageText } from './error-text.ts';

/** What the phone and the bridge may differ by before it is said: an answer takes its time, too. */
const noticedS = 5;

/** How long ago the bridge told its status, in milliseconds; counted on every second as long as the line stands. */
function useStatusAge(): number {
  const { statusMs, link } = useLive();
  const { feed } = usePage();
  const [now, setNow] = useState(feed.now);
  const isLive = link === 'live';
  useEffect(() => {
    setNow(feed.now());
    if (!isLive) return;
    const timer = setInterval(() => setNow(feed.now()), 1000);
    return () => clearInterval(timer);
  }, [feed, isLive, statusMs]);
  return statusMs === undefined ? 0 : Math.max(0, now - statusMs);
}

/** The clock of the bridge as it runs, and how far it is from that of this phone. */
export function Clock() {
  const { feed } = usePage();
  const words = useWords();
  useStatusAge();
  const atMs = feed.bridgeMs();
  if (atMs === undefined) return null;
  const aheadS = Math.round((atMs - Date.now()) / 1000);
  const length = ageText(Math.abs(aheadS), words);
  return (
    <>
      {words.time(new Date(atMs).toISOString())}
      {Math.abs(aheadS) > noticedS && `, ${words.t(aheadS > 0 ? 'now.clockAhead' : 'now.clockBehind', { length })}`}
    </>
  );
}

export function Uptime() {
  const { status } = useLive();
  const words = useWords();
  const ageMs = useStatusAge();
  return <span>{ageText(Math.floor((status?.uptime_s ?? 0) + ageMs / 1000), words)}</span>;
}
