import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findKey, type KeptKey, keptKey, makeKey, shownKey } from '#lan/access/keys.ts';

const kept = (id: string, hash: string): KeptKey => ({
  id,
  hash,
  name: 'app',
  scopes: ['state'],
  createdAt: '2026-11-27T20:00:00.000Z',
  createdBy: 'anna',
});
const free = () => false;

describe('an API key', () => {
  it('is sw_, 8 characters that name it and 43 random ones; of these nothing is kept', () => {
    const { id, token, hash } = makeKey(free);
    expect(token).toMatch(/^sw_[0-9a-hjkmnp-tv-z]{8}_[\w-]{43}$/);
    expect(token.slice(3, 11)).toBe(id);
    const record = kept(id, hash);
    expect(keptKey.parse(record)).toEqual(record);
    expect(JSON.stringify(record)).not.toContain(token.slice(12));
    expect(shownKey(record)).not.toHaveProperty('hash');
  });

  it('takes no id that is taken', () => {
    const taken = new Set<string>();
    let asked = 0;
    makeKey((id) => {
      taken.add(id);
      asked += 1;
      return asked < 3;
    });
    expect(taken.size).toBe(3);
  });

  it('is found by the whole of it alone', () => {
    const made = Array.from({ length: 5 }, () => makeKey(free));
    const keys = made.map(({ id, hash }) => kept(id, hash));
    for (const { id, token } of made) {
      expect(findKey(keys, token)?.id).toBe(id);
      expect(
        findKey(
          keys.filter((key) => key.id !== id),
          token,
        ),
      ).toBeUndefined();
    }
    fc.assert(
      fc.property(fc.nat(4), fc.nat(54), fc.string({ minLength: 0, maxLength: 2 }), (n, at, put) => {
        const token = made[n]?.token ?? '';
        const changed = token.slice(0, at) + put + token.slice(at + 1);
        expect(findKey(keys, changed)?.id).toBe(changed === token ? made[n]?.id : undefined);
      }),
    );
    const [one, other] = made as [(typeof made)[0], (typeof made)[0]];
    expect(findKey(keys, one.token.slice(0, 12) + other.token.slice(12))).toBeUndefined();
    for (const nothing of ['', 'sw_', ' ', 'sw_00000000_', '\0'.repeat(55)])
      expect(findKey(keys, nothing)).toBeUndefined();
  });

  it('that is all zeros on the disk opens nothing', () => {
    const { id, token } = makeKey(free);
    expect(findKey([kept(id, 'A'.repeat(43))], token)).toBeUndefined();
  });
});
