import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { Encrypter } from 'age-encryption';
import { packTar, type TarHeader } from 'modern-tar';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { never } from '#lib/wait.ts';
import { type Entry, readArchive, writeArchive } from '../../../src/cli/backup/archive.ts';

const passphrase = 'five words, none of them rare';

const entry = (name: string, body: Uint8Array): Entry => ({ name, size: body.length, mode: 0o600, body });
async function* each(entries: readonly Entry[]) {
  yield* entries;
}

const large = randomBytes(700_000);
const entries = [
  entry('manifest.json', Buffer.from('{}')),
  entry('state/empty', Buffer.alloc(0)),
  { ...entry('state/bulk.db', large), body: pieces(large) },
  entry(`files/${'very/long/'.repeat(40)}name`, Buffer.from('x')),
];
async function* pieces(body: Buffer) {
  for (let at = 0; at < body.length; at += 60_000) yield body.subarray(at, at + 60_000);
}

let sealed: Buffer;
beforeAll(async () => {
  const out: Uint8Array[] = [];
  await writeArchive(async (piece) => out.push(piece), passphrase, each(entries), never());
  sealed = Buffer.concat(out);
});

function laid(bytes: Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-archive-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'box.age');
  writeFileSync(path, bytes);
  return path;
}

async function read(path: string, words = passphrase): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  const file = await open(path, 'r');
  try {
    const take = async ({ name, body }: { name: string; body: AsyncIterable<Uint8Array> }) => {
      const parts: Uint8Array[] = [];
      for await (const piece of body) parts.push(piece);
      found.set(name, Buffer.concat(parts));
      return 'go on' as const;
    };
    await readArchive(file, words, take, never());
    return found;
  } finally {
    await file.close();
  }
}

describe('a sealed archive', () => {
  it('gives back what went in, by names of any length', async () => {
    const found = await read(laid(sealed));
    expect([...found.keys()]).toEqual(entries.map(({ name }) => name));
    expect(found.get('state/bulk.db')?.equals(large)).toBe(true);
  });

  it('does not show what is in it', () => {
    expect(sealed.includes('manifest')).toBe(false);
    expect(sealed.subarray(0, 21).toString()).toBe('age-encryption.org/v1');
  });

  it('is not opened by another passphrase', async () => {
    await expect(read(laid(sealed), 'five words, some of them rare')).rejects.toMatchObject({
      code: 'backup_passphrase',
      message: expect.stringContaining('wrong'),
    });
  });

  it('with a flipped bit in what the passphrase opens says that it may be either', async () => {
    const path = laid(sealed);
    // Still a letter of base64, of another value.
    const bytes = readFileSync(path);
    bytes[60] = bytes[60] === 0x41 ? 0x42 : 0x41;
    writeFileSync(path, bytes);
    await expect(read(path)).rejects.toMatchObject({
      code: 'backup_passphrase',
      message: expect.stringContaining('or the first bytes of the file are damaged'),
    });
  });

  it.each<[string, (path: string) => void]>([
    ['is empty', (path) => truncateSync(path, 0)],
    ['ends in its head', (path) => truncateSync(path, 90)],
    ['ends in the middle', (path) => truncateSync(path, 200_000)],
    ['ends after a whole piece', (path) => truncateSync(path, sealed.indexOf('\n--- ') + 1 + 48 + 16 + 65_552 * 3)],
    ['lacks its last byte', (path) => truncateSync(path, sealed.length - 1)],
    ['has a flipped bit in the middle', (path) => flip(path, 300_000)],
    ['has a flipped bit at its end', (path) => flip(path, sealed.length - 1)],
    ['has something behind its end', (path) => writeFileSync(path, Buffer.concat([sealed, Buffer.from('x')]))],
    ['is something else', (path) => writeFileSync(path, randomBytes(5000))],
  ])('that %s is refused, and says so', async (_, spoil) => {
    const path = laid(sealed);
    spoil(path);
    await expect(read(path)).rejects.toMatchObject({
      code: 'backup_unreadable',
      message: expect.stringMatching(/^the backup cannot be used: /),
    });
  });

  it('that is another file by mistake is not repeated, as that of the passphrase', async () => {
    const refused = await read(laid(Buffer.from(`${passphrase}\n`))).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'backup_unreadable' });
    expect(inspect(refused)).not.toContain(passphrase);
  });

  const hostile: readonly TarHeader[] = [
    { name: '../outside', size: 0 },
    { name: 'state/../../outside', size: 0 },
    { name: '/etc/passwd', size: 0 },
    { name: 'state//x', size: 0 },
    { name: './state/x', size: 0 },
    { name: 'state/link', size: 0, type: 'symlink', linkname: '/etc/shadow' },
    { name: 'state/link', size: 0, type: 'link', linkname: '/etc/shadow' },
    { name: 'state/fifo', size: 0, type: 'fifo' },
    { name: 'state/disk', size: 0, type: 'block-device' },
  ];
  it.each(hostile)('with $type $name is refused', async (header) => {
    const tar = await packTar([{ header: { ...header, mtime: new Date(0) }, body: '' }]);
    const age = new Encrypter();
    age.setPassphrase(passphrase);
    age.setScryptWorkFactor(10);
    const path = laid(await age.encrypt(gzipSync(tar)));
    await expect(read(path)).rejects.toMatchObject({
      code: 'backup_unreadable',
      message: expect.stringContaining('no file of a backup'),
    });
  });

  it('ends with the reason of what could not be put in', async () => {
    async function* failing() {
      yield entry('a', Buffer.from('a'));
      throw new Error('the cable was pulled');
    }
    await expect(writeArchive(async () => undefined, passphrase, failing(), never())).rejects.toThrow(
      'the cable was pulled',
    );
    const full = async () => {
      throw new Error('no room');
    };
    await expect(writeArchive(full, passphrase, each([entry('b', large)]), never())).rejects.toThrow('no room');
  });
});

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}
