import { describe, expect, it } from 'vitest';
import { keyed } from '#site/users/hashing.ts';
import { scryptHash } from '#site/users/index.ts';

describe('the slow hash', () => {
  it('is the same for the same secret and salt, and another for another', async () => {
    const hash = scryptHash();
    const [a, b, c, d] = await Promise.all([
      hash.derive(Buffer.from('one'), Buffer.alloc(16, 1)),
      hash.derive(Buffer.from('one'), Buffer.alloc(16, 1)),
      hash.derive(Buffer.from('one'), Buffer.alloc(16, 2)),
      hash.derive(Buffer.from('two'), Buffer.alloc(16, 1)),
    ]);
    expect(a).toHaveLength(32);
    expect(a).toEqual(b);
    expect(new Set([a, c, d].map((bytes) => bytes.toString('hex'))).size).toBe(3);
  });

  it('takes what may wait and refuses the rest, and all of it again when it is through', async () => {
    const hash = scryptHash();
    const secret = Buffer.from('one');
    const salt = Buffer.alloc(16);
    const done = await Promise.allSettled(Array.from({ length: 70 }, () => hash.derive(secret, salt)));
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(66);
    for (const one of done.slice(66)) expect(one).toMatchObject({ status: 'rejected', reason: { code: 'queue_full' } });
    expect(await hash.derive(secret, salt)).toHaveLength(32);
  });

  it('leaves the main thread free', async () => {
    let turns = 0;
    const beat = setInterval(() => {
      turns += 1;
    }, 1);
    await Promise.all(Array.from({ length: 4 }, () => scryptHash().derive(Buffer.from('x'), Buffer.alloc(16))));
    clearInterval(beat);
    expect(turns).toBeGreaterThan(0);
  });
});

describe('the keyed hash', () => {
  it('finds and hides by the key, and never with one hash for two uses', () => {
    const [one, other] = [keyed(Buffer.alloc(32, 1)), keyed(Buffer.alloc(32, 2))];
    expect(one.find('2580')).toBe(keyed(Buffer.alloc(32, 1)).find('2580'));
    expect(one.find('2580')).not.toBe(other.find('2580'));
    expect(one.find('2580')).not.toBe(one.secret('2580').toString('base64url'));
    expect(one.mark).not.toBe(other.mark);
    expect(one.find('').startsWith(one.mark)).toBe(false);
  });
});
