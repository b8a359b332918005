import { useEffect, useState } from 'preact/hooks';
import { useLive, usePage, useWords } from './context.ts';

/** Says so while what is shown is not of now. */
export function Banner() {
  const { link, heardMs, crowded } = useLive();
  const { feed } = usePage();
  const { t } = useWords();
  const [now, setNow] = useState(feed.now);
  const isLost = link === 'lost';

  useEffect(() => {
    if (!isLost) return;
    setNow(feed.now());
    const timer = setInterval(() => setNow(feed.now()), 1000);
    return () => clearInterval(timer);
  }, [feed, isLost]);

  const ageS = heardMs === undefined ? 0 : Math.max(0, Math.round((now - heardMs) / 1000));
  useEffect(() => {
    document.body.classList.toggle('stale', isLost && ageS >= 30);
    return () => document.body.classList.remove('stale');
  }, [isLost, ageS]);

  return (
    <div class="banner" role="status">
      {isLost && <p>{t(crowded ? 'banner.crowded' : 'banner.lost', { count: ageS })}</p>}
    </div>
  );
}
