const betweenMs = 200;
const hiddenMs = 1000;

/**
 * Runs the work with the next frame, but no sooner than a fifth of a second after the work before: who taps and scrolls in a
 * storm of events is heard in between. Frames come only while the page is drawn; a hidden one catches up within a second.
 */
export function drawings(env: { isShown(): boolean; frame(work: () => void): void }): (work: () => void) => void {
  let drawnMs = Number.NEGATIVE_INFINITY;
  return (work) => {
    const draw = () => {
      drawnMs = performance.now();
      work();
    };
    const dueMs = drawnMs + betweenMs - performance.now();
    if (!env.isShown()) setTimeout(draw, hiddenMs);
    else if (dueMs <= 0) env.frame(draw);
    else setTimeout(() => env.frame(draw), dueMs);
  };
}
