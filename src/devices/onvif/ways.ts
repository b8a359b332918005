import { type Style, styles } from './subscription.ts';

/** Where and how this camera is asked for a pull point. */
export interface Way {
  readonly url: URL;
  readonly style: Style;
}

/** Event services that live at one of these answer there though the camera names none, or a wrong one. */
const usualPaths = ['/onvif/event_service', '/onvif/Events', '/onvif/eventing_service', '/onvif/events_service'];
/** So often in a row what worked before must fail until it counts as unproven: firmware was changed. */
const proofLost = 6;

/**
 * The ways to ask, tried rather than believed: first what worked, then the address the camera names in every style, then
 * the device service and the usual paths.
 */
export interface Ways {
  /** Begins a round with what the camera names now; undefined when it names no event service. */
  begin(named: URL | undefined): void;
  readonly current: Way;
  /**
   * What is worth remembering of the present way: path and style, never the host, which the configuration says; undefined
   * for the way that is tried first anyway.
   */
  readonly learned: { readonly path: string; readonly style: number } | undefined;
  /** Events came this way. */
  worked(): void;
  /** The camera refused this way; the next one's turn. */
  refused(): void;
}

export function createWays(base: URL, learned?: { readonly path: string; readonly style: number }): Ways {
  let proven = learned && wayOf(base, learned);
  let all: readonly Way[] = proven ? [proven] : [];
  let first: Way | undefined;
  let named = '';
  let at = 0;
  let misses = 0;
  const fallback: Way = { url: base, style: firstStyle };
  return {
    begin(address) {
      const key = address?.href ?? 'none';
      if (key !== named) {
        named = key;
        at = 0;
      }
      if (misses >= proofLost) proven = undefined;
      const tries = waysTo(base, address);
      first = tries[0];
      all = unique([...(proven ? [proven] : []), ...tries]);
      at = proven ? 0 : at % all.length;
    },
    get current() {
      return all[at] ?? fallback;
    },
    get learned() {
      const { url, style } = all[at] ?? fallback;
      const learned = { path: `${url.pathname}${url.search}`, style: Math.max(0, styles.indexOf(style)) };
      return first?.url.href === url.href && first.style === style ? undefined : learned;
    },
    worked() {
      proven = all[at] ?? fallback;
      misses = 0;
    },
    refused() {
      misses += 1;
      at = (at + 1) % Math.max(1, all.length);
    },
  };
}

const firstStyle: Style = styles[0] ?? { addressing: true, time: 'duration' };

function waysTo(base: URL, named: URL | undefined): readonly Way[] {
  const styled = styles.map((style) => ({ url: named ?? base, style }));
  const guesses = [base, ...usualPaths.map((path) => new URL(path, base))];
  const others = guesses.map((url) => ({ url, style: firstStyle }));
  return named === undefined ? [...others, ...styled] : [...styled, ...others];
}

function unique(ways: readonly Way[]): readonly Way[] {
  const seen = new Set<string>();
  return ways.filter(({ url, style }) => {
    const key = `${url.href} ${styles.indexOf(style)}`;
    return !seen.has(key) && seen.add(key);
  });
}

function wayOf(base: URL, { path, style }: { readonly path: string; readonly style: number }): Way {
  const url = new URL(base);
  const [pathname = '', search = ''] = path.split(/(?=\?)/);
  url.pathname = pathname;
  url.search = search;
  return { url, style: styles[style] ?? firstStyle };
}
