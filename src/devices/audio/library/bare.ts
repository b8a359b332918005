import { SitewardError } from '#errors.ts';
import type { Builtin } from './builtin.ts';
import type { Library } from './library.ts';

/** The built-in messages alone, until those of the site can be read. What would change the folder is refused. */
export function bareLibrary(builtins: readonly Builtin[]): Library {
  const messages = builtins
    .map(({ message }) => ({ ...message, source: 'builtin' as const }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const refuse = async (): Promise<never> => {
    throw new SitewardError('audio_refused', 'the messages of the site cannot be read now; siteward status says why');
  };
  return {
    list: () => messages,
    find: (key) => messages.find((message) => message.key === key),
    async load(sha256) {
      const found = builtins.find(({ message }) => message.sha256 === sha256);
      if (found === undefined)
        throw new SitewardError('audio_gone', 'the messages of the site cannot be read now; siteward status says why');
      return found.load();
    },
    ...{ import: refuse, change: refuse, match: refuse, remove: refuse },
    problems: [],
    stats: { messages: messages.length, imported: 0, bytes: 0 },
  };
}
