/** What this browser keeps of its own for the page; one that keeps nothing is no poorer. */
export function kept(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // It is asked of the browser again next time.
  }
}
