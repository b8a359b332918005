import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SitewardError } from '#errors.ts';
import { syncFolder } from '#lib/durable-file.ts';
import { createTurns } from '#lib/turns.ts';
import { type Builtin, type Loaded, loadFile } from './builtin.ts';
import { convert } from './convert.ts';
import { createDecoder, type Decoder } from './decode.ts';
import { gather, type Source } from './gather.ts';
import { damagedName } from './index-file.ts';
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
import { openRegister, type Register, refused } from './register.ts';
import { openSounds, type Sounds } from './sounds.ts';

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

export async function openLibrary(options: {
  readonly folder: string;
  readonly builtins: readonly Builtin[];
  readonly decoder?: Decoder;
  /** Whether a message waits to be played, or is being played. */
  readonly inUse?: (key: string) => boolean;
}): Promise<Library> {
  const { folder, builtins, decoder = createDecoder(), inUse = () => false } = options;
  const turns = createTurns();
  let pending = 0;

  await mkdir(folder, { recursive: true, mode: 0o700 });
  const register = await openRegister({ folder, builtins, inUse });
  const { list, find, stored, must, mustImported, mustBeFree } = register;
  const sounds = await openSounds(folder, register.index.messages);

  async function dropUnused(sha256: string): Promise<void> {
    if (!register.uses(sha256)) await sounds.drop(sha256);
  }

  async function take(request: Omit<ImportRequest, 'source'>, bytes: Buffer, signal: AbortSignal): Promise<Message> {
    signal.throwIfAborted();
    const { fields, replace = false, ...file } = request;
    const { key: named, category: said, ...words } = checked(importFields, fields);
    const key = named ?? slug(words.name);
    // An alarm stays one, whoever's voice it has.
    const category = said ?? register.builtin(key)?.category ?? 'custom';
    if (key === '') throw invalidName();
    const again = stored(key);
    if (again === undefined || replace) register.mustHavePlace(key, named !== undefined, replace);
    const samples = await convert({ ...file, bytes, decoder, part: join(folder, 'import.part') }, signal);
    const { wav, facts } = await measured(samples);
    const message: StoredMessage = { key, ...words, category, ...facts };
    if (again !== undefined && sameMessage(again, message)) {
      await sounds.keep(facts.sha256, wav);
      return must(key);
    }
    // Once more: what it is to replace may have begun to play meanwhile.
    register.mustHavePlace(key, named !== undefined, replace);
    try {
      await sounds.keep(facts.sha256, wav);
      await register.save({
        ...register.index,
        messages: [...register.index.messages.filter((other) => other.key !== key), message],
      });
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

  return {
    list,
    find,
    async load(sha256) {
      const own = builtins.find((one) => one.message.sha256 === sha256);
      const message = register.index.messages.find((one) => one.sha256 === sha256);
      const load = own?.load ?? (message && (() => loadFile(sounds.pathOf(sha256), message)));
      if (load === undefined) throw new SitewardError('audio_gone', 'the message was removed. Import it again');
      return sounds.read(sha256, load);
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
        await register.save({
          ...register.index,
          messages: register.index.messages.map((message) => (message === old ? changed : message)),
          matches: register.index.matches.map((match) => (match.key === key ? { ...match, key: changed.key } : match)),
        });
        return must(changed.key);
      }),
    match: (key, audioMessageId) =>
      next(async () => {
        must(key);
        const others = register.index.matches.filter((match) => match.key !== key);
        if (audioMessageId === undefined) await register.save({ ...register.index, matches: others });
        else {
          const audio_message_id = checked(serviceId, audioMessageId, 'audio_message_id');
          const taken =
            others.find((match) => match.audio_message_id === audio_message_id)?.key ??
            (audio_message_id === key ? undefined : find(audio_message_id)?.key);
          if (taken !== undefined)
            throw refused('audio_message_id', `message ${taken} stands for the id ${audio_message_id} already`);
          // Those of keys that are gone make room.
          const known = others.filter((match) => find(match.key) !== undefined);
          await register.save({ ...register.index, matches: [...known, { key, audio_message_id }] });
        }
        return must(key);
      }),
    remove: (key) =>
      next(async () => {
        const { sha256 } = mustImported(key, 'removed');
        await register.save({
          ...register.index,
          messages: register.index.messages.filter((message) => message.key !== key),
          matches: register.index.matches.filter((match) => match.key !== key),
        });
        await dropUnused(sha256);
        await syncFolder(folder);
      }),
    get problems() {
      return problemsOf(register, sounds, builtins);
    },
    get stats() {
      return { messages: list().length, imported: register.index.messages.length, bytes: sounds.bytes };
    },
  };
}

function problemsOf({ index }: Register, sounds: Sounds, builtins: readonly Builtin[]): string[] {
  const isBad = ({ sha256 }: StoredMessage) => sounds.isUnreadable(sha256);
  const texts = [
    ...index.messages
      .filter((message) => !sounds.has(message.sha256) || isBad(message))
      .map(({ key }) => `the sound of message ${key} is gone or damaged. Import it again`),
    ...builtins
      .filter(({ message }) => isBad(message))
      .map(({ message }) => `the sound of message ${message.key} is gone or damaged. Install siteward again`),
  ];
  if (!sounds.isUnsure) return texts;
  return [
    `the list of imported messages was damaged. Mend ${damagedName} and restart, or remove it and import them again`,
    ...texts,
  ];
}

const sameMessage = (a: StoredMessage, b: StoredMessage): boolean =>
  (Object.keys(b) as (keyof StoredMessage)[]).every((field) => a[field] === b[field] || field === 'loudness_lufs');

const invalidName = (): SitewardError =>
  new SitewardError('audio_invalid', 'name: holds no letter or digit of the Latin alphabet. Say a key as well', {
    facts: { field: 'name' },
  });
