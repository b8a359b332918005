import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { maxUsers, scryptHash } from '#site/users/index.ts';
import { configured, person, type Rig, refusal, rig } from './rig.ts';

const file = (site: Rig, name: string) => join(site.dir, name);

describe('the list of users on disk', () => {
  it('is made with the first user, for this user of the machine alone', async () => {
    const site = rig();
    const users = await site.open();
    await users.check('2580');
    await users.list();
    expect(readdirSync(site.dir)).toEqual([]);
    await users.add(person('anna', '2580'), 'test');
    expect(readdirSync(site.dir).sort()).toEqual(['user-key', 'users.json']);
    for (const name of readdirSync(site.dir)) expect(statSync(file(site, name)).mode & 0o777).toBe(0o600);
    expect(readFileSync(file(site, 'user-key'))).toHaveLength(32);
  });

  it('holds no code, and what it holds of codes is worth nothing under another key', async () => {
    const [one, other] = [rig(), rig()];
    for (const site of [one, other]) {
      const users = await site.open();
      await users.add(person('anna', '29041738', { duressCode: '65092814' }), 'test');
    }
    for (const code of ['29041738', '65092814']) expect(one.text() + other.text()).not.toContain(code);
    const kept = (site: Rig) => JSON.parse(site.text()).users[0];
    expect(kept(one).code.find).not.toBe(kept(other).code.find);
    expect(kept(one).code.hash).not.toBe(kept(other).code.hash);
  });

  it('takes 500 users and refuses one more', async () => {
    const site = rig();
    const users = await site.open();
    for (let n = 0; n < maxUsers; n += 1) await users.add(person(`u${n}`, String(10_000_003 + n * 137)), 'test');
    expect((await refusal(users.add(person('late', '2580'), 'test'))).message).toMatch(/there are 500 already/);
    const again = await site.open();
    expect(await again.list()).toHaveLength(maxUsers);
    expect(again.health()).toEqual({ state: 'ok', facts: { users: maxUsers, configured: 0 } });
  });

  it('loses who is removed, for good', async () => {
    const site = rig();
    const users = await site.open();
    await users.add(person('anna', '2580'), 'test');
    await users.add(person('ben', '3691'), 'test');
    await users.remove('anna');
    for (const book of [users, await site.open()]) {
      expect(await book.check('2580')).toMatchObject({ code: 'bad' });
      expect(await book.check('3691')).toMatchObject({ code: 'ok', actor: 'ben' });
    }
    expect(await refusal(users.remove('anna'))).toMatchObject({ code: 'user_unknown' });
    await users.add(person('cleo', '2580'), 'test');
    expect(await users.check('2580')).toMatchObject({ actor: 'cleo' });
  });

  it('keeps the last owner unless it is meant, and leaves those of the configuration alone', async () => {
    const users = await rig().open({ configured: [configured('carl', '4711')] });
    await users.add(person('anna', '2580', { role: 'owner' }), 'test');
    await users.add(person('ben', '3691', { role: 'owner', consent: '2580' }), 'test');
    await users.remove('ben');
    expect(await refusal(users.remove('anna'))).toMatchObject({ code: 'last_owner' });
    expect(await users.check('2580')).toMatchObject({ code: 'ok' });
    await users.remove('anna', { lastOwner: true });
    expect(await users.list()).toEqual([{ id: 'carl', name: 'Name of carl', role: 'user', source: 'configuration' }]);
    expect(await refusal(users.remove('carl'))).toEqual({
      code: 'user_refused',
      message: expect.stringMatching(/stands in the configuration file/),
    });
  });

  it('has the users in the order they came, however many come at once, up to a bound', async () => {
    const users = await rig().open();
    const ids = Array.from({ length: 10 }, (_, n) => `u${n}`);
    const done = await Promise.allSettled(
      ids.map((id, n) => users.add(person(id, String(7_000_003 + n * 71)), 'test')),
    );
    expect(done.map(({ status }) => status)).toEqual([...Array(8).fill('fulfilled'), 'rejected', 'rejected']);
    expect((await users.list()).map(({ id }) => id)).toEqual(ids.slice(0, 8));
  });
});

describe('a list of users that is damaged', () => {
  const damages: [string, (path: string) => void][] = [
    ['is empty', (path) => truncateSync(path, 0)],
    ['is cut', (path) => truncateSync(path, statSync(path).size - 40)],
    ['is of another version', (path) => replace(path, '"version":1', '"version":2')],
    ['has a word for a role that nobody knows', (path) => replace(path, '"role":"user"', '"role":"king"')],
    ['has a hash that is too short', (path) => replace(path, /"hash":"../, '"hash":"')],
    ['is no text', (path) => writeFileSync(path, Buffer.alloc(4096, 0xff))],
    ['is larger than it may be', (path) => writeFileSync(path, Buffer.alloc(3 * 1024 * 1024, 0x20))],
    ['names a user twice', (path) => replace(path, '"users":[{', `"users":[${userOf(path)},{`)],
  ];
  const replace = (path: string, from: string | RegExp, to: string) =>
    writeFileSync(path, readFileSync(path, 'utf8').replace(from, to));
  const userOf = (path: string) => JSON.stringify(JSON.parse(readFileSync(path, 'utf8')).users[0]);

  it.each(damages)('and %s is set aside and told until it is looked after', async (_what, damage) => {
    const site = rig();
    await (await site.open()).add(person('anna', '2580'), 'test');
    damage(file(site, 'users.json'));
    const left = readFileSync(file(site, 'users.json'));
    const users = await site.open({ configured: [configured('carl', '4711')] });
    expect(readFileSync(file(site, 'users.json.damaged'))).toEqual(left);
    expect(await users.check('2580')).toEqual({ code: 'bad', refused: { why: 'unknown' } });
    expect(await users.check('4711')).toMatchObject({ code: 'ok', actor: 'carl' });
    expect(await users.check('')).toEqual({ code: 'none' });
    await users.add(person('anna', '2580'), 'test');
    const told = { state: 'degraded', reason: expect.stringMatching(/set aside as .*users\.json\.damaged on 2/) };
    const again = await site.open();
    for (const book of [users, again]) expect(book.health()).toEqual(told);
    expect(await again.check('2580')).toMatchObject({ code: 'ok', actor: 'anna' });
    rmSync(file(site, 'users.json.damaged'));
    site.clock.advance(10_000);
    await again.list();
    expect(again.health()).toMatchObject({ state: 'ok' });
  });

  it('opens nothing and is not written over while its key is gone, and comes back with it', async () => {
    const site = rig();
    await (await site.open()).add(person('anna', '2580'), 'test');
    const before = site.text();
    const key = readFileSync(file(site, 'user-key'));
    for (const wrong of [undefined, Buffer.alloc(32, 7), key.subarray(0, 31)]) {
      rmSync(file(site, 'user-key'));
      if (wrong !== undefined) writeFileSync(file(site, 'user-key'), wrong);
      const users = await site.open({ configured: [configured('carl', '4711')] });
      expect(users.health()).toEqual({ state: 'degraded', reason: expect.stringMatching(/user-key/) });
      expect(await users.check('2580')).toMatchObject({ code: 'bad' });
      expect(await users.check('4711')).toMatchObject({ code: 'ok' });
      for (const work of [users.list(), users.remove('anna'), users.add(person('ben', '3691'), 'test')])
        expect(await refusal(work)).toMatchObject({ code: 'users_unusable' });
      expect(site.text()).toBe(before);
      writeFileSync(file(site, 'user-key'), key);
      site.clock.advance(10_000);
      expect(await users.check('2580')).toMatchObject({ code: 'ok', actor: 'anna' });
    }
  });

  it('is held, not set aside, when it cannot be read', async () => {
    const site = rig();
    mkdirSync(file(site, 'users.json'));
    const users = await site.open();
    expect(users.health()).toEqual({
      state: 'degraded',
      reason: expect.stringMatching(/EISDIR.*no code of it counts/),
    });
    expect(await users.check('2580')).toMatchObject({ code: 'bad' });
    expect(existsSync(file(site, 'users.json.damaged'))).toBe(false);
  });

  it('does not hold up a code of the configuration when its disk hangs', async () => {
    const site = rig();
    const path = file(site, 'users.json');
    mkdirSync(path);
    const users = await site.open({ configured: [configured('carla', '97531')] });
    rmSync(path, { recursive: true });
    // Opening a FIFO waits for whoever writes to it, as a dead disk waits.
    execFileSync('mkfifo', [path]);
    site.clock.advance(10_000);
    expect(await users.check('97531')).toMatchObject({ code: 'ok', actor: 'carla' });
    expect(users.health()).toMatchObject({ state: 'degraded' });
    // The look that hung is over, and finds what cannot be read.
    writeFileSync(path, 'not json');
  });

  it('stays as it was, in memory too, when a change cannot be written', async () => {
    const site = rig();
    const users = await site.open();
    await users.add(person('anna', '2580'), 'test');
    const before = site.text();
    mkdirSync(file(site, 'users.json.part'));
    const said = await refusal(users.add(person('ben', '36914'), 'test'));
    expect(said).toEqual({ code: 'users_unusable', message: 'the list of users could not be written' });
    expect(site.text()).toBe(before);
    expect(await users.check('36914')).toMatchObject({ code: 'bad' });
    expect(await users.check('2580')).toMatchObject({ code: 'ok' });
    rmSync(file(site, 'users.json.part'), { recursive: true });
    await users.add(person('ben', '36914'), 'test');
    expect(await users.check('36914')).toMatchObject({ code: 'ok', actor: 'ben' });
  });
});

describe('the key', () => {
  it('of the credential store goes before ours, and no other is made then', async () => {
    const site = rig();
    const credential = file(site, 'given-key');
    writeFileSync(credential, Buffer.alloc(32, 9));
    const users = await site.open({ credential });
    await users.add(person('anna', '2580'), 'test');
    expect(existsSync(file(site, 'user-key'))).toBe(false);
    expect(await (await site.open({ credential })).check('2580')).toMatchObject({ code: 'ok' });
    expect((await site.open()).health()).toMatchObject({ state: 'degraded' });
  });

  it('that is there and cannot be used is not replaced', async () => {
    const site = rig();
    const users = await site.open();
    writeFileSync(file(site, 'user-key'), 'short');
    expect(await refusal(users.add(person('anna', '2580'), 'test'))).toMatchObject({ code: 'users_unusable' });
    expect(readFileSync(file(site, 'user-key'), 'utf8')).toBe('short');
    chmodSync(file(site, 'user-key'), 0o600);
  });
});

describe('users of the configuration', () => {
  it('go before others with their id or code, which is told', async () => {
    const site = rig();
    const users = await site.open();
    await users.add(person('anna', '2580', { duressCode: '2586' }), 'test');
    for (const clash of [configured('carl', '2580'), configured('carl', '2586'), configured('anna', '4711')]) {
      users.replace([clash]);
      expect(users.health()).toEqual({ state: 'degraded', reason: expect.stringContaining(`code: ${clash.id};`) });
      expect(await users.check(clash.code.reveal())).toEqual({ code: 'ok', actor: clash.id, role: 'user' });
    }
    users.replace([]);
    expect(users.health()).toMatchObject({ state: 'ok' });
  });
});

describe('a process that ends while a user is added', () => {
  const script = join(import.meta.dirname, 'add-user.ts');
  const add = (site: Rig, id: string, code: string, at?: string) =>
    spawnSync(process.execPath, [script, site.dir, id, code], {
      env: { PATH: process.env.PATH, ...(at !== undefined && { SITEWARD_CRASH_AT: at }) },
      encoding: 'utf8',
      timeout: 30_000,
    });
  const steps = ['file.part', 'file.synced', 'file.renamed', 'file.dirsynced'];

  it.each(steps.flatMap((step) => [`${step}:1`, `${step}:2`]))(
    'at %s, for key and list, leaves nothing or the first user whole',
    async (at) => {
      const site = rig();
      const { signal, stdout } = add(site, 'anna', '2580', at);
      expect({ signal, stdout }).toEqual({ signal: 'SIGKILL', stdout: '' });
      await isOldOrNew(site, []);
    },
  );

  it.each(steps)('at %s leaves the old list or the new one', async (at) => {
    const site = rig();
    expect(add(site, 'anna', '2580').stdout).toBe('added\n');
    expect(add(site, 'ben', '3691', at).signal).toBe('SIGKILL');
    await isOldOrNew(site, ['anna']);
  });

  /** And the book goes on from there. */
  async function isOldOrNew(site: Rig, old: readonly string[]): Promise<void> {
    const users = await site.open({ hash: scryptHash() });
    expect(users.health()).toMatchObject({ state: 'ok' });
    const ids = (await users.list()).map(({ id }) => id);
    const next = old.length === 0 ? 'anna' : 'ben';
    expect([[...old], [...old, next]]).toContainEqual(ids);
    for (const [id, code] of [
      ['anna', '2580'],
      ['ben', '3691'],
    ] as const)
      expect(await users.check(code)).toMatchObject(ids.includes(id) ? { code: 'ok', actor: id } : { code: 'bad' });
    await users.add(person('cleo', '91827'), 'test');
    expect(await users.check('91827')).toMatchObject({ code: 'ok', actor: 'cleo' });
  }
});
