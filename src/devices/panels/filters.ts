import type { Compiled } from './compile.ts';

/** The topics a panel's bridge tells on, and those it takes commands on, as MQTT filters. */
export function filtersOfPanel({ filters, out }: Compiled): { tells: readonly string[]; takes: readonly string[] } {
  const takes = [...out.values()].map(({ topic }) =>
    topic
      .split('/')
      .map((level) => (level.includes('{') ? '+' : level))
      .join('/'),
  );
  return { tells: filters, takes: [...new Set(takes)].sort() };
}
