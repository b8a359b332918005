import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createKeeping } from '#lan/access/keeping.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { bookOf, folder, kept, refusal, text } from './rig.ts';

async function opened(dir: string, clock = manualClock()) {
  const keeping = createKeeping({ dir, clock });
  await keeping.read();
  return { keeping, clock };
}
const at = '2026-11-27T20:00:00.000Z';
const olga = bookOf([kept('olga', 'owner')], { handedOver: at });

describe('the file of accounts', () => {
  it('is made at the first start with a claim code, for siteward alone, and stays at the next', async () => {
    const dir = folder();
    const { keeping } = await opened(dir);
    const { claim } = keeping.book();
    expect(claim).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/);
    expect(statSync(join(dir, 'access.json')).mode & 0o777).toBe(0o600);
    expect((await opened(dir)).keeping.book()).toEqual({ version: 1, claim, people: [], keys: [] });
  });

  it('holds what was changed when the change resolves', async () => {
    const dir = folder();
    const { keeping } = await opened(dir);
    await keeping.change(() => olga);
    expect((await opened(dir)).keeping.book()).toEqual(olga);
    expect(statSync(join(dir, 'access.json')).mode & 0o777).toBe(0o600);
  });

  it('is changed one after the other, each time on what was left; what fails changes nothing', async () => {
    const dir = folder();
    const { keeping } = await opened(dir);
    const add = (id: string) =>
      keeping.change((book) => {
        const { claim: _, ...rest } = book;
        return { ...rest, people: [...book.people, kept(id, 'owner')] };
      });
    const failed = keeping.change(() => {
      throw new Error('not this');
    });
    const done = await Promise.allSettled([add('a'), failed, add('b'), add('c')]);
    expect(done.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect((await opened(dir)).keeping.book().people.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  it('takes eight changes at once, and all of them again when they are through', async () => {
    const { keeping } = await opened(folder());
    const done = await Promise.allSettled(Array.from({ length: 12 }, () => keeping.change((book) => ({ ...book }))));
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(8);
    for (const one of done.slice(8)) expect(one).toMatchObject({ reason: { code: 'queue_full' } });
    await keeping.change((book) => ({ ...book }));
  });

  it('that others could read is closed to them, and told', async () => {
    const dir = folder();
    await opened(dir);
    chmodSync(join(dir, 'access.json'), 0o644);
    const { keeping } = await opened(dir);
    expect(statSync(join(dir, 'access.json')).mode & 0o777).toBe(0o600);
    expect(keeping.note()).toContain('could read');
    expect((await opened(dir)).keeping.note()).toBeUndefined();
  });
});

const secret = 'hash-nobody-may-see';
describe.each<[string, string | Buffer]>([
  ['empty', ''],
  ['cut', JSON.stringify(olga).slice(0, -20)],
  ['no JSON', secret],
  ['no text', Buffer.from([0xff, 0xfe, 0x00])],
  ['of another version', JSON.stringify({ ...olga, version: 2 })],
  ['with a member more', JSON.stringify({ ...olga, [secret]: secret })],
  [
    'with a wrong hash',
    JSON.stringify({ ...olga, people: [{ ...olga.people[0], password: { salt: secret, hash: secret } }] }),
  ],
  ['with an account twice', JSON.stringify({ ...olga, people: [olga.people[0], olga.people[0]] })],
  ['with a claim code beside accounts', JSON.stringify({ ...olga, claim: '01ABCD10' })],
  ['without accounts and without a claim code', JSON.stringify({ version: 1, people: [], keys: [] })],
  ['far too long', JSON.stringify({ ...olga, pad: 'x'.repeat(200_000) })],
])('a file that is %s', (_, content) => {
  it('lets nobody in, is not written over and says what to do, without a piece of it', async () => {
    const dir = folder();
    writeFileSync(join(dir, 'access.json'), content);
    const { keeping } = await opened(dir);
    const told = await refusal(() => keeping.book());
    expect(told).toMatchObject({ code: 'access_unusable', message: expect.stringContaining('siteward reset-access') });
    expect(keeping.held()).toBe(told.message);
    expect(told.message).not.toContain(secret);
    expect(await refusal(() => keeping.change(() => olga))).toMatchObject({ code: 'access_unusable' });
    expect(readFileSync(join(dir, 'access.json'))).toEqual(Buffer.from(content));
  });

  it('is set aside by a reset, after which only an owner claims', async () => {
    const dir = folder();
    writeFileSync(join(dir, 'access.json'), content);
    const { keeping } = await opened(dir);
    await keeping.reset(at);
    expect(keeping.book()).toMatchObject({ claim: expect.any(String), handedOver: at, people: [] });
    expect(readFileSync(join(dir, 'access.json.damaged'))).toEqual(Buffer.from(content));
    expect((await opened(dir)).keeping.book()).toEqual(keeping.book());
  });
});

describe('a reset', () => {
  it('takes all accounts and keys, and remembers a hand-over, and that there was none', async () => {
    const dir = folder();
    const { keeping } = await opened(dir);
    const first = keeping.book().claim;
    await keeping.reset('2027-01-01T00:00:00.000Z');
    expect(keeping.book()).not.toHaveProperty('handedOver');
    expect(keeping.book().claim).not.toBe(first);
    await keeping.change(() => olga);
    await keeping.reset('2027-01-01T00:00:00.000Z');
    expect(keeping.book()).toMatchObject({ handedOver: at, people: [], keys: [] });
    expect(existsSync(join(dir, 'access.json.damaged'))).toBe(false);
  });
});

describe('a folder that cannot be written', () => {
  it('at the first start holds everything, and is looked at again', async () => {
    const dir = join(folder(), 'not-yet');
    const { keeping, clock } = await opened(dir);
    expect(keeping.held()).toContain('ENOENT');
    mkdirSync(dir);
    await keeping.lookAgain();
    expect(keeping.held()).toContain('ENOENT');
    clock.advance(10_000);
    await keeping.lookAgain();
    expect(keeping.book().claim).toBeDefined();
  });

  it('later leaves what was known', async () => {
    const dir = folder();
    const { keeping } = await opened(dir);
    const before = text(dir);
    mkdirSync(join(dir, 'access.json.part'));
    expect(await refusal(() => keeping.change(() => olga))).toMatchObject({ code: 'access_unusable' });
    expect(text(dir)).toBe(before);
    expect(keeping.book().people).toEqual([]);
    rmSync(join(dir, 'access.json.part'), { recursive: true });
    await keeping.change(() => olga);
    expect(keeping.book()).toEqual(olga);
  });
});

it('what the folder says counts after a write that failed', async () => {
  const dir = folder();
  const { keeping } = await opened(dir);
  rmSync(join(dir, 'access.json'));
  mkdirSync(join(dir, 'access.json'));
  expect(await refusal(() => keeping.change(() => olga))).toMatchObject({ code: 'access_unusable' });
  expect(keeping.held()).toContain('access.json cannot be used');
});

describe('a process that ends while it writes', () => {
  const script = join(import.meta.dirname, 'add-owner.ts');
  const run = (dir: string, at?: string) =>
    spawnSync(process.execPath, [script, dir], {
      env: { PATH: process.env.PATH, ...(at !== undefined && { SITEWARD_CRASH_AT: at }) },
      encoding: 'utf8',
      timeout: 30_000,
    });

  it.each(['file.part', 'file.synced', 'file.renamed', 'file.dirsynced'])(
    'at %s leaves the old file or the new one',
    async (step) => {
      const dir = folder();
      const claim = (await opened(dir)).keeping.book().claim;
      expect(run(dir, step).signal).toBe('SIGKILL');
      const { people, claim: still } = (await opened(dir)).keeping.book();
      expect([{ ids: [], still: claim }, { ids: ['olga'] }]).toContainEqual({
        ids: people.map(({ id }) => id),
        ...(still !== undefined && { still }),
      });
      expect(run(dir).stdout).toBe('added\n');
      expect((await opened(dir)).keeping.book().people).toHaveLength(1);
    },
  );
});
