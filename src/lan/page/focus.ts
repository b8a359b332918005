/** To the heading of what is shown, so that the keyboard, and who is read to, goes on from there. */
export function focusScreen(): void {
  const place = document.querySelector('#content h1') ?? document.getElementById('content');
  if (place instanceof HTMLElement) focusOn(place, false);
}

function focusOn(place: HTMLElement, preventScroll: boolean): void {
  if (!place.hasAttribute('tabindex')) place.tabIndex = -1;
  place.focus({ preventScroll });
}

/**
 * Keeps the place of the keyboard, which browsers forget: what only waits for an answer has it again after; where it is
 * gone, what was around it has it. Returns how to end that.
 */
export function keepFocus(): () => void {
  let last: HTMLElement | undefined;
  let around: readonly HTMLElement[] = [];

  const taken = ({ target }: FocusEvent) => {
    if (!(target instanceof HTMLElement)) return;
    last = target;
    around = [...ancestors(target)].filter((one) => one.matches('section, main'));
  };
  // Decided when the change that it is part of is complete: somebody who clicks beside it has left it on purpose.
  const left = ({ target }: FocusEvent) =>
    queueMicrotask(() => {
      if (target === last && last?.isConnected && !last.matches(':disabled')) last = undefined;
    });
  const changed = () => {
    if (last === undefined || document.activeElement !== document.body) return;
    if (last.isConnected) {
      if (!last.matches(':disabled')) last.focus({ preventScroll: true });
      return;
    }
    const place = around.find((one) => one.isConnected);
    if (place === undefined || place.id === 'content') focusScreen();
    else focusOn(place, true);
  };

  const observer = new MutationObserver(changed);
  observer.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ['disabled'] });
  document.addEventListener('focusin', taken);
  document.addEventListener('focusout', left);
  return () => {
    observer.disconnect();
    document.removeEventListener('focusin', taken);
    document.removeEventListener('focusout', left);
  };
}

function* ancestors(of: HTMLElement): Iterable<HTMLElement> {
  for (let one = of.parentElement; one !== null; one = one.parentElement) yield one;
}
