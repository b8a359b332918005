import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountPlaces, addressCap, createDelays, networkOf } from '#lan/access/delays.ts';
import { manualClock } from '#lib/clock.fake.ts';

const network = (n: number) => `192.0.2.${n}`;

/** Seconds to wait after each of so many wrong tries, each made as soon as it may be. */
function waits(count: number, account: () => string, address: () => string): number[] {
  const clock = manualClock();
  const delays = createDelays(clock);
  return Array.from({ length: count }, () => {
    delays.begin(account(), address());
    const wait = delays.waitMs(account(), address());
    clock.advance(wait);
    return wait / 1000;
  });
}

describe('wrong passwords', () => {
  it('are free five times, then cost 1, 2, 4 ... 60 s', () => {
    expect(
      waits(
        14,
        () => 'anna',
        () => network(1),
      ),
    ).toEqual([0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
  });

  it('count by account from any address, and by address for any account', () => {
    let n = 0;
    const next = () => {
      n += 1;
      return `x${n}`;
    };
    expect(waits(7, () => 'anna', next)).toEqual([0, 0, 0, 0, 1, 2, 4]);
    expect(waits(7, next, () => network(1))).toEqual([0, 0, 0, 0, 1, 2, 4]);
  });

  it('are forgotten after a right one, and after a quarter of an hour', () => {
    const clock = manualClock();
    const delays = createDelays(clock);
    for (let n = 0; n < 6; n += 1) delays.begin('anna', network(1));
    clock.advance(delays.waitMs('anna', network(1)));
    delays.begin('anna', network(1)).right();
    expect(delays.waitMs('anna', network(2))).toBe(0);
    for (let n = 0; n < 4; n += 1) delays.begin('anna', network(1));
    expect(delays.waitMs('anna', network(1))).toBe(0);
    for (let n = 0; n < 6; n += 1) delays.begin('ben', network(2));
    clock.advance(15 * 60_000);
    delays.begin('ben', network(2));
    expect(delays.waitMs('ben', network(2))).toBe(0);
  });

  it('do not count where they were not looked at', () => {
    const clock = manualClock();
    const delays = createDelays(clock);
    for (let n = 0; n < 40; n += 1) delays.begin('anna', network(1)).untried();
    expect(delays.waitMs('anna', network(1))).toBe(0);
    expect(delays.size).toBe(0);
  });

  it('are counted before they are known to be wrong, so that many at once do not get in', () => {
    const delays = createDelays(manualClock());
    const tries = Array.from({ length: 5 }, () => delays.begin('anna', network(1)));
    expect(delays.waitMs('anna', network(1))).toBe(1000);
    for (const one of tries) one.untried();
    expect(delays.waitMs('anna', network(1))).toBe(0);
  });
});

describe('a flood', () => {
  it('of 10,000 tries from 10,000 addresses holds no more than its places, and the owner at the box waits for nothing', () => {
    const clock = manualClock();
    const delays = createDelays(clock);
    for (let n = 0; n < 10_000; n += 1) {
      delays.begin(n % 2 === 0 ? 'owner' : `name${n}`, `2001:db8:${n.toString(16)}::1`);
      expect(delays.waitMs('owner', '127.0.0.1')).toBe(0);
    }
    expect(delays.size).toBeLessThanOrEqual(addressCap + 2 * accountPlaces + 256);
    expect(delays.waitMs('owner', network(1))).toBe(8000);
    clock.advance(8000);
    expect(delays.waitMs('owner', network(1))).toBe(0);
  });

  it.each([1, 2, 4])('of %i who try whenever they may leaves the owner at a new address a way in', (attackers) => {
    const clock = manualClock();
    const delays = createDelays(clock);
    let asksAt = 600_000;
    for (let at = 0; at < 1_200_000; at += 100) {
      for (let n = 0; n < attackers; n += 1)
        if (delays.waitMs('owner', network(n)) === 0) delays.begin('owner', network(n));
      if (at >= asksAt) {
        const wait = delays.waitMs('owner', network(200));
        if (wait === 0) return;
        // As `Retry-After` says it, in whole seconds.
        asksAt = at + 1000 * Math.ceil(wait / 1000);
      }
      clock.advance(100);
    }
    expect.unreachable('the owner never came in');
  });

  it('from elsewhere does not hold up an address that came in before', () => {
    const delays = createDelays(manualClock());
    delays.begin('owner', network(7)).right();
    for (let n = 0; n < 100; n += 1) delays.begin('owner', network(n % 7));
    expect(delays.waitMs('owner', network(7))).toBe(0);
    for (let n = 0; n < 6; n += 1) delays.begin('owner', network(7));
    expect(delays.waitMs('owner', network(7))).toBe(2000);
  });

  it('on the machine itself is held up too, and never longer than a minute', () => {
    const clock = manualClock();
    const delays = createDelays(clock);
    for (let n = 0; n < 1000; n += 1) delays.begin('owner', `127.0.0.${n % 250}`);
    expect(delays.waitMs('owner', '127.0.0.251')).toBe(8000);
    expect(delays.waitMs('owner', '127.0.0.249')).toBe(8000);
    clock.advance(8000);
    expect(delays.waitMs('owner', '127.0.0.251')).toBe(0);
  });

  it('delays names that are no account as any other', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 32 }), fc.integer({ min: 0, max: 20 }), (name, count) => {
        const [one, other] = [createDelays(manualClock()), createDelays(manualClock())];
        for (let n = 0; n < count; n += 1) {
          one.begin('owner', network(n));
          other.begin(name, network(n));
        }
        expect(other.waitMs(name, network(99))).toBe(one.waitMs('owner', network(99)));
      }),
    );
  });
});

describe('delays against a model', () => {
  it('never let a try through early, never make one wait longer than a minute, whatever the wall clock does', () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('wrong' as const),
        a: fc.integer({ min: 0, max: 2 }),
        ip: fc.integer({ min: 1, max: 3 }),
      }),
      fc.record({
        kind: fc.constant('right' as const),
        a: fc.integer({ min: 0, max: 2 }),
        ip: fc.integer({ min: 1, max: 3 }),
      }),
      fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 90_000 }) }),
      fc.record({ kind: fc.constant('set' as const), ms: fc.integer({ min: -1e12, max: 1e12 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const clock = manualClock();
        const delays = createDelays(clock);
        /** Wrong tries of an address since the last right one or a quarter of an hour of quiet. */
        const wrong = new Map<number, number[]>();
        for (const one of steps) {
          if (one.kind === 'advance') clock.advance(one.ms);
          else if (one.kind === 'set') clock.step(one.ms);
          else {
            const now = clock.monotonic();
            const earlier = wrong.get(one.ip) ?? [];
            const last = earlier.at(-1) ?? 0;
            const counted = now - last >= 900_000 ? [] : earlier;
            const mustWait = counted.length < 5 ? 0 : Math.min(60_000, 1000 * 2 ** (counted.length - 5)) - (now - last);
            const wait = delays.waitMs(`a${one.a}`, network(one.ip));
            expect(wait).toBeGreaterThanOrEqual(Math.max(0, mustWait));
            expect(wait).toBeLessThanOrEqual(60_000);
            if (wait > 0) continue;
            const mine = delays.begin(`a${one.a}`, network(one.ip));
            if (one.kind === 'right') {
              mine.right();
              wrong.delete(one.ip);
            } else wrong.set(one.ip, [...counted, now]);
          }
        }
      }),
    );
  });
});

describe('an address', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::1', '::1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:DB8:1:2::6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['2001:0db8:0000:0000::7', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::', '0:0:0:0'],
    ['nonsense', 'nonsense'],
  ])('%s counts as %s', (address, counted) => expect(networkOf(address)).toBe(counted));
});
