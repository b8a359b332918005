import { describe, expect, it } from 'vitest';
import { claimCode, createClaimTries, makeClaimCode } from '#lan/access/claim-code.ts';
import { manualClock } from '#lib/clock.fake.ts';

const minutes = 60_000;

describe('the claim code', () => {
  it('has 8 characters that nobody mistakes for one another, and is another one each time', () => {
    const made = Array.from({ length: 200 }, makeClaimCode);
    for (const code of made) expect(claimCode.safeParse(code).success).toBe(true);
    expect(new Set(made).size).toBe(200);
    expect(made.join('')).not.toMatch(/[ILOU]/);
  });

  it.each(['01AB-CD10', 'o1abcd1o', 'OIAB CDLO', ' 01ab cd10 '])('is right as people read it: %s', (typed) => {
    expect(createClaimTries(manualClock()).isRight(typed, '01ABCD10')).toBe(true);
  });

  it.each(['', '01ABCD1', '01ABCD100', '01ABCD11', `${' '.repeat(40)}01ABCD10`])('is wrong otherwise: %s', (typed) => {
    expect(createClaimTries(manualClock()).isRight(typed, '01ABCD10')).toBe(false);
  });
});

describe('wrong claim codes', () => {
  const wrong = (tries: ReturnType<typeof createClaimTries>, count = 5) => {
    for (let n = 0; n < count; n += 1) tries.isRight('ZZZZZZZZ', '01ABCD10');
  };

  it('cost a quarter of an hour after five, twice as much after each five more, at most four hours', () => {
    const clock = manualClock();
    const tries = createClaimTries(clock);
    const pauses = Array.from({ length: 7 }, () => {
      wrong(tries, 4);
      expect(tries.pauseMs()).toBe(0);
      wrong(tries, 1);
      const pause = tries.pauseMs();
      clock.advance(pause - 1);
      expect(tries.pauseMs()).toBe(1);
      clock.advance(1);
      return pause / minutes;
    });
    expect(pauses).toEqual([15, 30, 60, 120, 240, 240, 240]);
  });

  it('are waited out by the clock that nobody sets', () => {
    const clock = manualClock();
    const tries = createClaimTries(clock);
    wrong(tries);
    clock.step(1e10);
    expect(tries.pauseMs()).toBe(15 * minutes);
  });

  it('are forgotten with another code', () => {
    const tries = createClaimTries(manualClock());
    wrong(tries);
    tries.forget();
    expect(tries.pauseMs()).toBe(0);
    wrong(tries);
    expect(tries.pauseMs()).toBe(15 * minutes);
  });
});
