/**
 * Milliseconds that also run while the phone sleeps, which `performance.now()` does not everywhere; and they never run
 * backwards when somebody sets the clock.
 */
export function awakeClock(): () => number {
  let wall = Date.now();
  let mono = performance.now();
  let total = 0;
  return () => {
    const [nextWall, nextMono] = [Date.now(), performance.now()];
    total += Math.max(nextMono - mono, nextWall - wall);
    [wall, mono] = [nextWall, nextMono];
    return total;
  };
}

/**
 * Calls back when the page is looked at again, or the network comes or goes; `isCut`: a connection of before is dead, though
 * nothing may say so. Returns how to end that.
 */
export function onWake(wake: (isCut: boolean) => void): () => void {
  const seen = () => {
    if (document.visibilityState === 'visible') wake(false);
  };
  const resumed = () => wake(false);
  const cut = () => wake(true);
  document.addEventListener('visibilitychange', seen);
  document.addEventListener('resume', resumed);
  addEventListener('online', cut);
  addEventListener('offline', cut);
  return () => {
    document.removeEventListener('visibilitychange', seen);
    document.removeEventListener('resume', resumed);
    removeEventListener('online', cut);
    removeEventListener('offline', cut);
  };
}
