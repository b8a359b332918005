import type { Settings } from './schema.ts';

/**
 * Entries that log in at one device as one user. Each of them tries a wrong password twice, and many devices lock an account after five
 * wrong tries, whoever made them.
 */
export function sameDevice({ cameras, nvrs }: Pick<Settings, 'cameras' | 'nvrs'>): string[] {
  const entries = [...cameras, ...nvrs].filter(({ username }) => username !== undefined);
  const byLogin = Map.groupBy(entries, ({ url, username }) => JSON.stringify([placeOf(url), username]));
  return [...byLogin.values()]
    .filter((same) => same.length > 1)
    .map((same) => {
      const [place] = same.map(({ url }) => placeOf(url));
      return `${same.map(({ id }) => id).join(' and ')} are one device (${place}) and one user: each tries a wrong password by itself, which may lock the account; make it one entry, with several pictures one of nvrs (docs/cameras.md)`;
    });
}

/** The path tells no device from another; http and https of one host do not either. */
function placeOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port === '' || port === '443' ? 80 : port}`;
}
