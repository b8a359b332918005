import { parseConfig } from './document.ts';

/** Id of a site that is nobody's yet. */
export const firstDayId = 'first-day';

/** What the package begins a configuration with: siteward runs and its page can be claimed; it watches nothing and tells nobody. */
export const firstDayText = `# The configuration of the first day: siteward runs, watches nothing and tells nobody.
# "siteward setup" begins the real one in its place; docs/configuration.md and siteward.yaml(5) describe every key.
site:
  id: unknown
  external_id: ${firstDayId}
  timezone: UTC
bridge:
  external_id: ${firstDayId}
http:
  listen: 0.0.0.0:8443
partitions:
  - id: p1
    name: Partition 1
`;

const sections = new Set(['site', 'bridge', 'http', 'partitions']);

/** Whether it still is that of the first day, so that nothing is lost where another one takes its place. */
export function isFirstDay(text: string): boolean {
  const { value } = parseConfig('', text);
  if (typeof value !== 'object' || value === null) return false;
  const { site } = value as { readonly site?: { readonly external_id?: unknown } | null };
  return site?.external_id === firstDayId && Object.keys(value).every((name) => sections.has(name));
}
