/** Aborted as soon as nobody can see the element: the page is hidden, or it was scrolled out of sight. */
export function untilHidden(element: Element | null): AbortSignal {
  const hidden = new AbortController();
  const looked = () => {
    if (document.visibilityState === 'hidden') end();
  };
  const watch = new IntersectionObserver((entries) => {
    if (entries.at(-1)?.isIntersecting === false) end();
  });
  function end(): void {
    hidden.abort();
    watch.disconnect();
    document.removeEventListener('visibilitychange', looked);
  }
  document.addEventListener('visibilitychange', looked);
  if (element !== null) watch.observe(element);
  looked();
  return hidden.signal;
}
