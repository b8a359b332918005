import type { Settings } from './schema.ts';

/** What is allowed in rules and speakers, and most likely not meant. */
export const audioWarnings = ({ speakers, rules }: Pick<Settings, 'speakers' | 'rules'>): string[] => [
  ...rules.flatMap(({ id, play }) => [
    ...(play.speakers?.some((name) => speakers.some((one) => one.id === name && one.enabled)) === false
      ? [`rule ${id} names only speakers that are not used (enabled: false): only life safety sounds, on all others`]
      : []),
    ...(play.volume === 0 ? [`rule ${id} has volume: 0, which nobody hears`] : []),
  ]),
  ...speakers.flatMap(({ id, push, trigger, stop, status }) =>
    Object.entries({ push, trigger, stop, status })
      .filter(([, call]) => call !== undefined && hasSecret(call.url))
      .map(
        ([key]) =>
          `speaker ${id}: what looks like a password stands in ${key}.url, where everybody reads it who reads this file; use username and password`,
      ),
  ),
];

const secretName = /^(pass|passwd|password|pwd|token|access_token|secret|api_?key)$/i;

const hasSecret = (url: string): boolean =>
  [...(URL.parse(url)?.searchParams.keys() ?? [])].some((name) => secretName.test(name));
