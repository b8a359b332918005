import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readBuiltins } from '#devices/audio/library/builtin.ts';
import { openLibrary } from '#devices/audio/library/library.ts';
import { limits } from '#devices/audio/library/limits.ts';
import { type ImportFields, slug } from '#devices/audio/library/message.ts';
import { readWav } from '#devices/audio/wav.ts';
import { never } from '#lib/wait.ts';
import { wavOf } from './fixtures.ts';

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'siteward-library-')), 'audio');
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

const open = async (inUse: (key: string) => boolean = () => false) =>
  openLibrary({ folder, builtins: await readBuiltins(), inUse });
const one = wavOf();
const other = wavOf({ hertz: 700 });
type Opened = Awaited<ReturnType<typeof open>>;
const bring = (library: Opened, fields: ImportFields, wav: Buffer = one, replace = false) =>
  library.import({ source: [wav], fields, replace }, never());
const sounds = () => readdirSync(folder).filter((name) => name.endsWith('.wav'));
const keys = (library: Opened) =>
  library
    .list()
    .filter(({ source }) => source === 'imported')
    .map(({ key }) => key);

describe('importing', () => {
  it('keeps the sound under the digest of its contents, and what is said of it', async () => {
    const library = await open();
    const message = await bring(library, {
      name: ' Front gate, closed! ',
      description: 'Says it.',
      language: 'en-US',
      category: 'announcement',
    });
    expect(message).toMatchObject({
      key: 'front-gate-closed',
      name: 'Front gate, closed!',
      description: 'Says it.',
      language: 'en-US',
      category: 'announcement',
      source: 'imported',
      duration_seconds: 1,
      peak_db: -1,
    });
    const bytes = readFileSync(join(folder, `${message.sha256}.wav`));
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(message.sha256);
    expect(readWav(bytes)).toMatchObject({ rate: 48_000, channels: 1 });
    expect(readdirSync(folder).sort()).toEqual([`${message.sha256}.wav`, 'index.json'].sort());
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(await library.load(message.sha256)).toMatchObject({ rate: 48_000, samples: readWav(bytes).samples });
    expect(library.stats).toMatchObject({ imported: 1, bytes: bytes.length });
  });

  it('is there after a restart', async () => {
    const message = await bring(await open(), { name: 'Gate' });
    const library = await open();
    expect(library.find('gate')).toEqual(message);
    expect((await library.load(message.sha256)).samples.length).toBe(48_000);
    expect(library.problems).toEqual([]);
  });

  it('of what is there already changes nothing', async () => {
    const library = await open();
    const message = await bring(library, { name: 'Gate' });
    const before = statSync(join(folder, 'index.json')).mtimeMs;
    expect(await bring(library, { name: 'Gate' })).toEqual(message);
    expect(statSync(join(folder, 'index.json')).mtimeMs).toBe(before);
  });

  it('keeps the same sound once, however many messages have it', async () => {
    const library = await open();
    const first = await bring(library, { name: 'One' });
    const second = await bring(library, { name: 'Two' });
    expect(second.sha256).toBe(first.sha256);
    expect(sounds()).toHaveLength(1);
    await library.remove('one');
    expect((await library.load(second.sha256)).samples.length).toBe(48_000);
    await library.remove('two');
    expect(sounds()).toEqual([]);
    await expect(library.load(second.sha256)).rejects.toMatchObject({ code: 'audio_gone' });
  });

  it('under a key that is taken needs to be told to replace it', async () => {
    const library = await open();
    const old = await bring(library, { name: 'Gate' });
    await expect(bring(library, { name: 'Gate' }, other)).rejects.toMatchObject({
      code: 'audio_refused',
      facts: { field: 'key' },
    });
    await expect(bring(library, { name: 'Gate', key: 'gate' }, other)).rejects.toMatchObject({ code: 'audio_refused' });
    expect(library.find('gate')).toEqual(old);
    const replaced = await bring(library, { name: 'Gate' }, other, true);
    expect(replaced.sha256).not.toBe(old.sha256);
    expect(sounds()).toEqual([`${replaced.sha256}.wav`]);
    expect(keys(library)).toEqual(['gate']);
  });

  it('hides a built-in message of the same key until it is removed', async () => {
    const library = await open();
    const siren = library.find('alarm.siren');
    expect(siren).toMatchObject({ source: 'builtin', category: 'alarm' });
    const fields = { name: 'Our siren', key: 'alarm.siren' };
    await expect(bring(library, fields)).rejects.toMatchObject({
      code: 'audio_refused',
      message:
        'alarm.siren is built in; --replace puts yours in its place, "siteward audio remove alarm.siren" brings the built-in one back',
    });
    expect(library.find('alarm.siren')).toEqual(siren);
    const own = await bring(library, fields, one, true);
    expect(own).toMatchObject({ source: 'imported', category: 'alarm' });
    expect(await bring(library, fields)).toEqual(own);
    expect(await bring(library, fields, other, true)).toMatchObject({ category: 'alarm' });
    expect(await bring(library, { ...fields, category: 'test' }, one, true)).toMatchObject({ category: 'test' });
    await bring(library, fields, one, true);
    expect(library.list().filter(({ key }) => key === 'alarm.siren')).toEqual([own]);
    await library.remove('alarm.siren');
    expect(library.find('alarm.siren')).toEqual(siren);
  });

  it('finds no key for a name without letters of its own accord', async () => {
    const library = await open();
    await expect(bring(library, { name: '警报' })).rejects.toMatchObject({ facts: { field: 'name' } });
    expect(await bring(library, { name: '警报', key: 'alarm.own' })).toMatchObject({ name: '警报', key: 'alarm.own' });
  });

  it.each<[string, Record<string, unknown>]>([
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(65) }],
    ['name', { name: 'two\nlines' }],
    ['name', {}],
    ['key', { name: 'a', key: '../../etc/passwd' }],
    ['key', { name: 'a', key: 'Upper' }],
    ['key', { name: 'a', key: 'x'.repeat(65) }],
    ['description', { name: 'a', description: 'x'.repeat(501) }],
    ['description', { name: 'a', description: 'a\u0007b' }],
    ['language', { name: 'a', language: 'english' }],
    ['category', { name: 'a', category: 'music' }],
    ['volume', { name: 'a', volume: 3 }],
  ])('names the field that is wrong: %s', async (field, fields) => {
    const library = await open();
    await expect(bring(library, fields as unknown as ImportFields)).rejects.toMatchObject({
      code: 'audio_invalid',
      facts: { field },
      message: expect.stringContaining(field),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('takes no more messages than it may', async () => {
    const library = await open();
    for (let at = 0; at < limits.messages; at += 1) await bring(library, { name: `Message ${at}` });
    await expect(bring(library, { name: 'One more' })).rejects.toMatchObject({
      code: 'audio_refused',
      facts: { field: 'file' },
    });
    await bring(library, { name: 'Message 3' }, other, true);
    expect(keys(library)).toHaveLength(limits.messages);
  });

  it('is done one after the other, and only so many wait', async () => {
    const library = await open();
    const all = await Promise.allSettled(
      Array.from({ length: 7 }, (_, at) => bring(library, { name: `Message ${at}` })),
    );
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
    expect(all.at(-1)).toMatchObject({ reason: { code: 'queue_full' } });
    expect(keys(await open())).toHaveLength(4);
    await bring(library, { name: 'Later' });
  });

  it('of a file that is too large ends as soon as it is', async () => {
    const library = await open();
    let sent = 0;
    const source = (async function* () {
      for (; sent < 1_000; sent += 1) yield Buffer.alloc(1_000_000);
    })();
    await expect(library.import({ source, fields: { name: 'Gate' } }, never())).rejects.toMatchObject({
      code: 'audio_invalid',
      facts: { field: 'file', reason: 'too_large' },
      message: expect.stringContaining('10 MB'),
    });
    expect(sent).toBe(10);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('waits for nobody who sends slowly, and ends when it is told to', async () => {
    const library = await open();
    const stop = new AbortController();
    const letGo = vi.fn(async () => ({ done: true as const, value: undefined }));
    const source = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined), return: letGo }),
    };
    const slow = library.import({ source, fields: { name: 'Slow' } }, stop.signal);
    await bring(library, { name: 'Gate' });
    stop.abort(new Error('enough'));
    await expect(slow).rejects.toThrow('enough');
    expect(letGo).toHaveBeenCalledOnce();
    expect(keys(library)).toEqual(['gate']);
  });

  it('of one whose sending fails leaves nothing', async () => {
    const library = await open();
    const source = (async function* () {
      yield one.subarray(0, 100);
      throw new Error('the line broke');
    })();
    await expect(library.import({ source, fields: { name: 'Gate' } }, never())).rejects.toThrow('the line broke');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('that is cancelled leaves nothing', async () => {
    const library = await open();
    const stop = new AbortController();
    const source = (async function* () {
      yield one.subarray(0, 100);
      stop.abort(new Error('enough'));
      yield one.subarray(100);
    })();
    await expect(library.import({ source, fields: { name: 'Gate' } }, stop.signal)).rejects.toThrow('enough');
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a message', () => {
  it('in use is neither removed, replaced nor changed', async () => {
    const library = await open((key) => key === 'gate');
    await bring(library, { name: 'Gate' });
    const refusal = {
      code: 'audio_refused',
      facts: { field: 'key' },
      message: expect.stringContaining('Stop it first'),
    };
    await expect(library.remove('gate')).rejects.toMatchObject(refusal);
    await expect(library.change('gate', { name: 'Door' })).rejects.toMatchObject(refusal);
    await expect(bring(library, { name: 'Gate' }, other, true)).rejects.toMatchObject(refusal);
    expect(sounds()).toHaveLength(1);
  });

  it('that is built in is neither removed nor changed', async () => {
    const library = await open();
    await expect(library.remove('alarm.siren')).rejects.toMatchObject({ code: 'audio_refused' });
    await expect(library.change('alarm.siren', { name: 'Ours' })).rejects.toMatchObject({ code: 'audio_refused' });
    await expect(library.remove('nothing')).rejects.toMatchObject({ code: 'audio_unknown', facts: { field: 'key' } });
  });

  it('is renamed at once, and keeps what it stands for', async () => {
    const library = await open();
    await bring(library, { name: 'Gate' });
    await library.match('gate', 'msg-7');
    await library.change('gate', { key: 'door', name: 'Door', category: 'reminder' });
    const again = await open();
    expect(again.find('gate')).toBeUndefined();
    expect(again.find('door')).toMatchObject({ name: 'Door', category: 'reminder', audio_message_id: 'msg-7' });
    expect(sounds()).toHaveLength(1);
    await bring(library, { name: 'Gate' });
    await expect(library.change('gate', { key: 'door' })).rejects.toMatchObject({ facts: { field: 'key' } });
    await expect(library.change('gate', { language: 'x' })).rejects.toMatchObject({ facts: { field: 'language' } });
  });

  it('stands for one id of the service, a built-in one too, and no two for the same', async () => {
    const library = await open();
    await bring(library, { name: 'Gate' });
    expect(await library.match('alarm.siren', 'msg-intruder')).toMatchObject({ audio_message_id: 'msg-intruder' });
    const refusal = { code: 'audio_refused', facts: { field: 'audio_message_id' } };
    await expect(library.match('gate', 'msg-intruder')).rejects.toMatchObject(refusal);
    await expect(library.match('gate', 'test.sweep')).rejects.toMatchObject(refusal);
    await expect(library.match('gate', '')).rejects.toMatchObject({ facts: { field: 'audio_message_id' } });
    await expect(bring(library, { name: 'msg intruder' })).rejects.toMatchObject({ facts: { field: 'key' } });
    expect((await open()).find('alarm.siren')).toMatchObject({ audio_message_id: 'msg-intruder' });
    expect(await library.match('alarm.siren', undefined)).not.toHaveProperty('audio_message_id');
    await library.match('gate', 'msg-intruder');
    expect((await open()).find('gate')).toMatchObject({ audio_message_id: 'msg-intruder' });
  });
});

describe('the folder of the library', () => {
  it('is rid of what a crash left behind, and of nothing else', async () => {
    const message = await bring(await open(), { name: 'Gate' });
    const kept = [`${message.sha256}.wav`, 'index.json', 'notes.txt'];
    writeFileSync(join(folder, 'notes.txt'), 'ours');
    for (const name of ['import.part', 'index.json.part', `${'b'.repeat(64)}.wav`, `${'c'.repeat(64)}.wav.part`])
      writeFileSync(join(folder, name), 'half');
    await open();
    expect(readdirSync(folder).sort()).toEqual(kept.sort());
  });

  it.each(['', '{', '{"version":2}', '{"version":1,"messages":[{"key":"../x"}],"matches":[]}'])(
    'with a damaged list (%s) keeps list and sounds for whoever can mend them, and says so',
    async (text) => {
      const message = await bring(await open(), { name: 'Gate' });
      copyFileSync(join(folder, 'index.json'), join(folder, '..', 'good.json'));
      writeFileSync(join(folder, 'index.json'), text);
      const library = await open();
      expect(keys(library)).toEqual([]);
      expect(library.problems.join()).toContain('index.json.damaged');
      await bring(library, { name: 'Another' }, other);
      // Nor does a later start remove anything.
      expect((await open()).problems).toHaveLength(1);
      expect(sounds()).toHaveLength(2);
      copyFileSync(join(folder, '..', 'good.json'), join(folder, 'index.json'));
      rmSync(join(folder, 'index.json.damaged'));
      const mended = await open();
      expect(mended.problems).toEqual([]);
      expect(mended.find('gate')).toEqual(message);
    },
  );

  it('that lost or holds a damaged sound says so, until it is imported again', async () => {
    const message = await bring(await open(), { name: 'Gate' });
    const path = join(folder, `${message.sha256}.wav`);
    const bytes = readFileSync(path);
    rmSync(path);
    const library = await open();
    expect(library.problems).toEqual([expect.stringContaining('gate')]);
    await expect(library.load(message.sha256)).rejects.toMatchObject({ code: 'audio_gone', facts: { key: 'gate' } });
    await bring(library, { name: 'Gate' });
    expect(library.problems).toEqual([]);
    bytes.writeUInt8(bytes.readUInt8(1_000) ^ 1, 1_000);
    writeFileSync(path, bytes);
    await expect(library.load(message.sha256)).rejects.toMatchObject({ code: 'audio_gone' });
    expect(library.problems).toEqual([expect.stringContaining('gate')]);
    await bring(library, { name: 'Gate' });
    expect(library.problems).toEqual([]);
    expect((await library.load(message.sha256)).samples.length).toBe(48_000);
  });

  const program = `
    import { openLibrary } from '#devices/audio/library/library.ts';
    import { readFileSync } from 'node:fs';
    const [folder, wav, name] = process.argv.slice(-3);
    const library = await openLibrary({ folder, builtins: [] });
    await library.import({ source: [readFileSync(wav)], fields: { name }, replace: true }, new AbortController().signal);
  `;
  const points = ['file.part', 'file.synced', 'file.renamed', 'file.dirsynced'];
  const places = points.flatMap((point) => [`${point}:1`, `${point}:2`]);

  it.each(places)('after a crash at %s holds the old message or the new one', async (at) => {
    const old = await bring(await open(), { name: 'Gate' });
    const wav = join(folder, '..', 'new.wav');
    writeFileSync(wav, other);
    const run = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', program, folder, wav, 'Gate'], {
      cwd: join(import.meta.dirname, '..', '..', '..', '..'),
      env: { ...process.env, SITEWARD_CRASH_AT: at },
      encoding: 'utf8',
      timeout: 50_000,
    });
    expect([run.signal, run.stderr]).toEqual(['SIGKILL', '']);
    const library = await open();
    const found = library.find('gate');
    expect(library.problems).toEqual([]);
    expect(found?.sha256 === old.sha256).toBe(!(at === 'file.renamed:2' || at === 'file.dirsynced:2'));
    expect((await library.load(found!.sha256)).samples.length).toBe(48_000);
    expect(readdirSync(folder).sort()).toEqual([`${found!.sha256}.wav`, 'index.json'].sort());
  });
});

it.each([
  ['Front gate, closed!', 'front-gate-closed'],
  ['Tür schließen', 'tur-schliessen'],
  ['  --Ça va?--  ', 'ca-va'],
  ['ﬁre ①', 'fire-1'],
  ['警报', ''],
  [`${'a'.repeat(63)} b`, 'a'.repeat(63)],
])('the key made of %s is %s', (name, key) => {
  expect(slug(name)).toBe(key);
});
