import { SitewardError } from '#errors.ts';
import type { Builtin } from './builtin.ts';
import { type LibraryIndex, readIndex, writeIndex } from './index-file.ts';
import { limits } from './limits.ts';
import type { Message, StoredMessage } from './message.ts';

/** Which messages there are, built-in and imported, and which key is free. What is called `must` throws `audio_unknown` or `audio_refused`. */
export interface Register {
  readonly index: LibraryIndex;
  /** One write: after a power cut there is the old index or the new one. */
  save(next: LibraryIndex): Promise<void>;
  /** By key. */
  list(): readonly Message[];
  find(key: string): Message | undefined;
  builtin(key: string): StoredMessage | undefined;
  /** An imported one. */
  stored(key: string): StoredMessage | undefined;
  uses(sha256: string): boolean;
  must(key: string): Message;
  /** One that is to be `what`, such as removed: imported, and not in use. */
  mustImported(key: string, what: string): StoredMessage;
  /** Neither another message nor an id of the service is called so. */
  mustBeFree(key: string): void;
  /** Of a message that is imported; `named`: its key was said, not made of the name. */
  mustHavePlace(key: string, named: boolean, replace: boolean): void;
}

export async function openRegister(options: {
  readonly folder: string;
  readonly builtins: readonly Builtin[];
  /** Whether a message waits to be played, or is being played. */
  readonly inUse: (key: string) => boolean;
}): Promise<Register> {
  const { folder, builtins, inUse } = options;
  let index = await readIndex(folder);

  const builtin = (key: string) => builtins.find(({ message }) => message.key === key)?.message;
  const stored = (key: string) => index.messages.find((message) => message.key === key);

  function shown(message: StoredMessage, source: Message['source']): Message {
    const match = index.matches.find(({ key }) => key === message.key);
    return { ...message, source, ...(match && { audio_message_id: match.audio_message_id }) };
  }

  function find(key: string): Message | undefined {
    const imported = stored(key);
    if (imported !== undefined) return shown(imported, 'imported');
    const own = builtin(key);
    return own && shown(own, 'builtin');
  }

  function must(key: string): Message {
    const message = find(key);
    if (message !== undefined) return message;
    throw new SitewardError('audio_unknown', `there is no message "${key}"`, { facts: { field: 'key', key } });
  }

  function mustImported(key: string, what: string): StoredMessage {
    must(key);
    const message = stored(key);
    if (message === undefined) throw refused('key', `message ${key} is built in and is not ${what}`);
    if (inUse(key)) throw refused('key', `message ${key} is being played or waits for it. Stop it first`);
    return message;
  }

  function mustBeFree(key: string): void {
    if (stored(key) !== undefined)
      throw refused('key', `there is a message ${key} already. Choose another key, or --replace`);
    const taken = index.matches.find((match) => match.audio_message_id === key && match.key !== key);
    if (taken !== undefined) throw refused('key', `message ${taken.key} stands for the id ${key}. Choose another key`);
  }

  function mustHavePlace(key: string, named: boolean, replace: boolean): void {
    const old = stored(key);
    if (old !== undefined && replace) mustImported(key, 'replaced');
    else {
      if (!named && find(key) !== undefined)
        throw refused('key', `there is a message ${key} already. Choose another name, or --key, or --replace`);
      mustBeFree(key);
      if (builtin(key) !== undefined && !replace)
        throw refused(
          'key',
          `${key} is built in; --replace puts yours in its place, "siteward audio remove ${key}" brings the built-in one back`,
        );
      if (index.messages.length >= limits.messages)
        throw refused('file', `${limits.messages} imported messages are the most. Remove one`);
    }
  }

  return {
    get index() {
      return index;
    },
    async save(next) {
      await writeIndex(folder, next);
      index = next;
    },
    list: () =>
      [...new Set([...builtins.map(({ message }) => message.key), ...index.messages.map(({ key }) => key)])]
        .sort()
        .map(must),
    find,
    builtin,
    stored,
    uses: (sha256) => index.messages.some((message) => message.sha256 === sha256),
    must,
    mustImported,
    mustBeFree,
    mustHavePlace,
  };
}

export const refused = (field: string, message: string): SitewardError =>
  new SitewardError('audio_refused', message, { facts: { field } });
