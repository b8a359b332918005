import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SitewardError } from '#errors.ts';
import { syncFolder, writeDurably } from '#lib/durable-file.ts';
import { createTurns } from '#lib/turns.ts';
import { type Builtin, type Loaded, loadFile } from './builtin.ts';
import { convert } from './convert.ts';
import { createDecoder, type Decoder } from './decode.ts';
import { gather, type Source } from './gather.ts';
import { damagedName, type LibraryIndex, readIndex, writeIndex } from './index-file.ts';
import { limits } from './limits.ts';
import { measured } from './measure.ts';
import {
  type ChangeFields,
  changeFields,
  checked,
  type ImportFields,
  importFields,
  type Message,
  type StoredMessage,
  serviceId,
  slug,
} from './message.ts';
import { readRegular } from './regular-file.ts';

export interface ImportRequest {
  readonly source: Source;
  /** As it was called where it comes from; only its ending is looked at. */
  readonly fileName?: string;
  readonly fields: ImportFields;
  /** It takes the place of the message of its key; a built-in one is back once it is removed. */
  readonly replace?: boolean;
}

/**
 * The messages of the site: built-in ones, and those that were imported, whose sound lies in a folder of its own, each file named
 * after its contents. Every change is one write of the index: after a power cut there is the old state or the new one. All
 * methods reject with `audio_invalid`, `audio_refused`, `audio_unknown` or `queue_full`.
 */
export interface Library {
  /** By key. */
  list(): readonly Message[];
  find(key: string): Message | undefined;
  /** The samples of a message. Rejects with `audio_gone`. */
  load(sha256: string): Promise<Loaded>;
  /** What is there already, word for word, stays as it is. */
  import(request: ImportRequest, signal: AbortSignal): Promise<Message>;
  /** Of an imported one; its key, too. */
  change(key: string, change: ChangeFields): Promise<Message>;
  /** Says which message of the service this one stands for, or that it stands for none. Built-in ones may, too. */
  match(key: string, audioMessageId: string | undefined): Promise<Message>;
  remove(key: string): Promise<void>;
  /** What is wrong with the folder, for people. */
  readonly problems: readonly string[];
  readonly stats: { readonly messages: number; readonly imported: number; readonly bytes: number };
}

/** So many changes wait for each other. */
const pendingCap = 4;
const soundName = /^[0-9a-f]{64}\.wav$/;
const partName = /\.part$/;

export async function openLibrary(options: {
  readonly folder: string;
  readonly builtins: readonly Builtin[];
  readonly decoder?: Decoder;
  /** Whether a message waits to be played, or is being played. */
  readonly inUse?: (key: string) => boolean;
}): Promise<Library> {
  const { folder, builtins, decoder = createDecoder(), inUse = () => false } = options;
  const turns = createTurns();
  const sizes = new Map<string, number>();
  /** Those whose sound could not be read when it was last tried. */
  const unreadable = new Set<string>();
  let pending = 0;

  await mkdir(folder, { recursive: true, mode: 0o700 });
  let index = await readIndex(folder);
  const unsure = await tidy();

  const pathOf = (sha256: string) => join(folder, `${sha256}.wav`);
  const builtin = (key: string) => builtins.find(({ message }) => message.key === key)?.message;
  const stored = (key: string) => index.messages.find((message) => message.key === key);
  const uses = (sha256: string) => index.messages.some((message) => message.sha256 === sha256);

  /** Removes what no message uses, unless nobody knows which do. */
  async function tidy(): Promise<boolean> {
    const names = await readdir(folder);
    const unsure = names.includes(damagedName);
    const wanted = new Set(index.messages.map(({ sha256 }) => `${sha256}.wav`));
    for (const name of names)
      if (partName.test(name) || (!unsure && soundName.test(name) && !wanted.has(name)))
        await rm(join(folder, name), { force: true });
    for (const { sha256 } of index.messages) {
      const bytes = await sizeOf(join(folder, `${sha256}.wav`));
      if (bytes !== undefined) sizes.set(sha256, bytes);
    }
    return unsure;
  }

  function problems(): string[] {
    const isBad = ({ sha256 }: StoredMessage) => unreadable.has(sha256);
    const texts = [
      ...index.messages
        .filter((message) => !sizes.has(message.sha256) || isBad(message))
        .map(({ key }) => `the sound of message ${key} is gone or damaged. Import it again`),
      ...builtins
        .filter(({ message }) => isBad(message))
        .map(({ message }) => `the sound of message ${message.key} is gone or damaged. Install siteward again`),
    ];
    if (!unsure) return texts;
    return [
      `the list of imported messages was damaged. Mend ${damagedName} and restart, or remove it and import them again`,
      ...texts,
    ];
  }

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

  /** Neither another message nor an id of the service is called so. */
  function mustBeFree(key: string): void {
    if (stored(key) !== undefined)
      throw refused('key', `there is a message ${key} already. Choose another key, or --replace`);
    const taken = index.matches.find((match) => match.audio_message_id === key && match.key !== key);
    if (taken !== undefined) throw refused('key', `message ${taken.key} stands for the id ${key}. Choose another key`);
  }

  async function save(next: LibraryIndex): Promise<void> {
    await writeIndex(folder, next);
    index = next;
  }

  async function dropUnused(sha256: string): Promise<void> {
    if (uses(sha256)) return;
    sizes.delete(sha256);
    unreadable.delete(sha256);
    await rm(pathOf(sha256), { force: true });
  }

  async function keep(sha256: string, wav: Buffer): Promise<void> {
    const there = await readRegular(pathOf(sha256)).catch(() => undefined);
    if (there === undefined || !wav.equals(there)) await writeDurably(pathOf(sha256), wav);
    sizes.set(sha256, wav.length);
    unreadable.delete(sha256);
  }

  function placeFor(key: string, named: boolean, replace: boolean): void {
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

  async function take(request: Omit<ImportRequest, 'source'>, bytes: Buffer, signal: AbortSignal): Promise<Message> {
    signal.throwIfAborted();
    const { fields, replace = false, ...file } = request;
    const { key: named, category: said, ...words } = checked(importFields, fields);
    const key = named ?? slug(words.name);
    // An alarm stays one, whoever's voice it has.
    const category = said ?? builtin(key)?.category ?? 'custom';
    if (key === '') throw invalidName();
    const again = stored(key);
    if (again === undefined || replace) placeFor(key, named !== undefined, replace);
    const samples = await convert({ ...file, bytes, decoder, part: join(folder, 'import.part') }, signal);
    const { wav, facts } = await measured(samples);
    const message: StoredMessage = { key, ...words, category, ...facts };
    if (again !== undefined && sameMessage(again, message)) {
      await keep(facts.sha256, wav);
      return must(key);
    }
    // Once more: what it is to replace may have begun to play meanwhile.
    placeFor(key, named !== undefined, replace);
    try {
      await keep(facts.sha256, wav);
      await save({ ...index, messages: [...index.messages.filter((other) => other.key !== key), message] });
    } finally {
      await dropUnused(facts.sha256);
    }
    if (again !== undefined) await dropUnused(again.sha256);
    return must(key);
  }

  async function counted<T>(work: () => Promise<T>): Promise<T> {
    if (pending >= pendingCap)
      throw new SitewardError('queue_full', 'too many changes of messages are under way. Ask again');
    pending += 1;
    try {
      return await work();
    } finally {
      pending -= 1;
    }
  }

  /** One change after the other. */
  const next = <T>(work: () => Promise<T>): Promise<T> => counted(() => turns('library', work));

  const list = () =>
    [...new Set([...builtins.map(({ message }) => message.key), ...index.messages.map(({ key }) => key)])]
      .sort()
      .map(must);

  return {
    list,
    find,
    async load(sha256) {
      const own = builtins.find((one) => one.message.sha256 === sha256);
      const message = index.messages.find((one) => one.sha256 === sha256);
      const load = own?.load ?? (message && (() => loadFile(pathOf(sha256), message)));
      if (load === undefined) throw new SitewardError('audio_gone', 'the message was removed. Import it again');
      try {
        const loaded = await load();
        unreadable.delete(sha256);
        return loaded;
      } catch (error) {
        unreadable.add(sha256);
        throw error;
      }
    },
    import: ({ source, ...request }, signal) =>
      counted(async () => {
        // What is wrong in words is told before anything is sent.
        checked(importFields, request.fields);
        // Nobody waits for one who sends slowly.
        const bytes = await gather(source, signal);
        return turns('library', () => take(request, bytes, signal));
      }),
    change: (key, change) =>
      next(async () => {
        const old = mustImported(key, 'changed');
        const changed = { ...old, ...checked(changeFields, change) };
        if (changed.key !== key) mustBeFree(changed.key);
        await save({
          ...index,
          messages: index.messages.map((message) => (message === old ? changed : message)),
          matches: index.matches.map((match) => (match.key === key ? { ...match, key: changed.key } : match)),
        });
        return must(changed.key);
      }),
    match: (key, audioMessageId) =>
      next(async () => {
        must(key);
        const others = index.matches.filter((match) => match.key !== key);
        if (audioMessageId === undefined) await save({ ...index, matches: others });
        else {
          const audio_message_id = checked(serviceId, audioMessageId, 'audio_message_id');
          const taken =
            others.find((match) => match.audio_message_id === audio_message_id)?.key ??
            (audio_message_id === key ? undefined : find(audio_message_id)?.key);
          if (taken !== undefined)
            throw refused('audio_message_id', `message ${taken} stands for the id ${audio_message_id} already`);
          // Those of keys that are gone make room.
          const known = others.filter((match) => find(match.key) !== undefined);
          await save({ ...index, matches: [...known, { key, audio_message_id }] });
        }
        return must(key);
      }),
    remove: (key) =>
      next(async () => {
        const { sha256 } = mustImported(key, 'removed');
        await save({
          ...index,
          messages: index.messages.filter((message) => message.key !== key),
          matches: index.matches.filter((match) => match.key !== key),
        });
        await dropUnused(sha256);
        await syncFolder(folder);
      }),
    get problems() {
      return problems();
    },
    get stats() {
      const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
      return { messages: list().length, imported: index.messages.length, bytes };
    },
  };
}

const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  );

const sameMessage = (a: StoredMessage, b: StoredMessage): boolean =>
  (Object.keys(b) as (keyof StoredMessage)[]).every((field) => a[field] === b[field] || field === 'loudness_lufs');

const refused = (field: string, message: string): SitewardError =>
  new SitewardError('audio_refused', message, { facts: { field } });

const invalidName = (): SitewardError =>
  new SitewardError('audio_invalid', 'name: holds no letter or digit of the Latin alphabet. Say a key as well', {
    facts: { field: 'name' },
  });
