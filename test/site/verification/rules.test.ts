import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bookOf, rowOf } from '../../../src/site/verification/record.ts';
import * as rules from '../../../src/site/verification/rules.ts';
import { asked, drain, from, given, id, minute, must, noon, request, sent, stamp } from './world.ts';

describe('a request to verify an alarm', () => {
  it('is open until its deadline, and once more the same is no second one', () => {
    const { book, result } = asked();
    expect(result).toBe('done');
    expect(rules.shown(must(book))).toMatchObject({ state: 'open', contact_id: 7, answers: [] });
    expect(asked(book, { verification_id: id.toUpperCase() })).toMatchObject({ result: 'already', changed: [] });
  });

  it('is refused under an id that means another request', () => {
    expect(asked(asked().book, { contact_id: 8 }).result).toMatchObject({ code: 'ID_CONFLICT' });
    const later = new Date(noon + 6 * minute).toISOString();
    expect(asked(asked().book, { expires_at: later }).result).toMatchObject({ code: 'ID_CONFLICT' });
  });

  it('that says how long it lives is the same again later, and keeps its first deadline', () => {
    const byHand = (book: rules.Step<unknown>['book'], afterMs: number, more = {}) =>
      rules.ask(
        book,
        { verification_id: id, contact_id: 7, expires_in_s: 300, ...more },
        { about: undefined, from: { source: 'cli', client: 'control socket' }, at: stamp(afterMs) },
      );
    const first = byHand(new Map(), 0);
    const again = byHand(first.book, minute);
    expect([first.result, again.result]).toEqual(['done', 'already']);
    expect(rules.shown(must(again.book)).expires_at).toBe(new Date(noon + 5 * minute).toISOString());
    expect(byHand(first.book, minute, { expires_in_s: 60 }).result).toBe('already');
    expect(byHand(first.book, minute, { contact_id: 8 }).result).toMatchObject({ code: 'ID_CONFLICT' });
    // One that the platform handed on with its own deadline is the same request too.
    expect(byHand(asked().book, minute).result).toBe('already');
  });

  it('is refused with a deadline that has passed, or is more than a day ahead', () => {
    const at = (ms: number) => new Date(noon + ms).toISOString();
    expect(asked(new Map(), { expires_at: at(-1) }).result).toEqual({
      outcome: 'expired',
      code: 'EXPIRED',
      field: 'expires_at',
    });
    expect(asked(new Map(), { expires_at: at(25 * 60 * minute) }).result).toMatchObject({ code: 'FUTURE' });
  });

  it('lives ten minutes without a deadline, and under a clock in doubt whatever the deadline says', () => {
    const bare = rules.ask(new Map(), { verification_id: id, contact_id: 7 }, { about: undefined, from, at: stamp() });
    expect(must(bare.book).due.mono - stamp().mono).toBe(10 * minute);
    const doubtful = asked(new Map(), {}, stamp(0, { wall: 5000, clock: 'doubtful' }));
    expect(doubtful.result).toBe('done');
    expect(must(doubtful.book).due.mono - stamp().mono).toBe(10 * minute);
  });

  it('is refused when 32 are open, so that none pushes another out; one that has ended makes room', () => {
    const uuid = (n: number) => `0a0a0a0a-1111-4222-8333-${String(n).padStart(12, '0')}`;
    let book = asked(new Map(), { verification_id: uuid(0) }).book;
    for (let n = 1; n < rules.openCap; n += 1) book = asked(book, { verification_id: uuid(n) }).book;
    expect(asked(book, { verification_id: uuid(99) }).result).toMatchObject({ code: 'BUSY' });
    book = drain(rules.answer(book, given({ verificationId: uuid(3) }), stamp()).book).book;
    expect(asked(book, { verification_id: uuid(99) }).result).toBe('done');
  });

  it('keeps 200 that have ended, and gives the oldest up', () => {
    const uuid = (n: number) => `0a0a0a0a-1111-4222-8333-${String(n).padStart(12, '0')}`;
    let book = asked().book;
    book = rules.elapse(book, stamp(6 * minute)).book;
    for (let n = 0; n <= rules.keptCap; n += 1) {
      const { book: next } = asked(book, { verification_id: uuid(n) });
      book = rules.elapse(next, stamp(6 * minute)).book;
    }
    expect(book.has(id)).toBe(false);
    expect(book.size).toBe(rules.keptCap + 1);
  });
});

describe('an answer', () => {
  const open = asked().book;

  it('is sent with the contact of who gave it and the moment of the press', () => {
    const { book, result } = rules.answer(open, given({ pressedAt: noon + 1000 }), stamp(3000));
    expect(result).toEqual({ outcome: 'done', n: 0 });
    expect(rules.outgoing(book, stamp(60_000))).toEqual([
      expect.objectContaining({ verificationId: id, action: 'disregard', contactId: 7, respondedAt: noon + 1000 }),
    ]);
    expect(rules.shown(must(book))).toMatchObject({ state: 'waiting', answers: [{ action: 'disregard', by: 'anna' }] });
  });

  it('once more is the first one', () => {
    const answer = given();
    const { book } = rules.answer(open, answer, stamp());
    expect(rules.answer(book, answer, stamp())).toMatchObject({ result: { outcome: 'done', n: 0 }, changed: [] });
    expect(rules.answer(book, given({ by: 'ben' }), stamp())).toMatchObject({
      result: { outcome: 'already' },
      changed: [],
    });
  });

  it('dispatch overrides disregard, which is not sent any more when it still waits; the reverse is refused', () => {
    const first = rules.answer(open, given(), stamp()).book;
    const { book: both, audit } = rules.answer(first, given({ action: 'dispatch' }), stamp());
    expect(sent(both)).toEqual(['1 dispatch']);
    expect(rules.shown(must(both))).toMatchObject({
      state: 'waiting',
      answers: [{ fate: 'unsent', reason: 'OVERRIDDEN' }, { action: 'dispatch' }],
    });
    expect(audit[0]).toMatchObject({ action: 'verification_disregard', outcome: 'failed', reason: 'OVERRIDDEN' });
    expect(drain(rules.answer(drain(first).book, given({ action: 'dispatch' }), stamp()).book).heard).toEqual([
      'dispatch',
    ]);
    expect(rules.answer(both, given(), stamp()).result).toMatchObject({ code: 'ALREADY_ANSWERED' });
    expect(rules.answer(drain(both).book, given(), stamp()).result).toMatchObject({ code: 'ALREADY_ANSWERED' });
  });

  it('dispatch under duress waits behind no disregard, which goes on as it is seen and carries the dispatch', () => {
    const first = rules.answer(open, given({ contact: 8 }), stamp()).book;
    const { book: both } = rules.answer(first, given({ duress: true, pressedAt: noon + 1000 }), stamp(2000));
    expect(rules.shown(must(both))).toEqual(rules.shown(must(first)));
    const body = { action: 'dispatch', contactId: 7, respondedAt: noon + 1000, isPlain: false };
    const out = rules.outgoing(both, stamp(2000));
    expect(out).toMatchObject([
      { n: 0, isShown: true, ...body },
      { n: 1, isShown: false, ...body },
    ]);
    const late = out[0] ?? { verificationId: id, n: 0 };
    const { audit } = rules.settle(both, late, { fate: 'recorded' }, stamp(3000));
    expect(audit).toMatchObject([
      { action: 'verification_disregard', outcome: 'done' },
      { action: 'verification_dispatch', visibility: 'auditor' },
    ]);
  });

  it('needs a bound contact, which a named one must be', () => {
    expect(rules.answer(open, given({ contact: undefined }), stamp()).result).toMatchObject({ code: 'FORBIDDEN' });
    expect(rules.answer(open, given({ named: 8 }), stamp()).result).toMatchObject({ code: 'FORBIDDEN' });
    expect(rules.answer(open, given({ named: 7 }), stamp()).result).toMatchObject({ outcome: 'done' });
  });

  it('is refused to an unknown one, by a role that may not, and after the deadline', () => {
    const other = '0a0a0a0a-1111-4222-8333-999999999999';
    expect(rules.answer(open, given({ verificationId: other }), stamp()).result).toMatchObject({
      code: 'UNKNOWN_TARGET',
    });
    expect(rules.answer(open, given({ mayAnswer: false }), stamp()).result).toMatchObject({ code: 'NOT_ALLOWED' });
    expect(rules.answer(open, given(), stamp(5 * minute)).result).toMatchObject({ outcome: 'expired' });
    expect(rules.answer(open, given(), stamp(5 * minute - 1)).result).toMatchObject({ outcome: 'done' });
  });

  it('that came too late at the service ends the verification; nothing is sent again', () => {
    const book = rules.answer(open, given(), stamp()).book;
    const gone = rules.settle(book, { verificationId: id, n: 0 }, { fate: 'gone', reason: '404' }, stamp());
    expect(rules.shown(must(gone.book))).toMatchObject({ state: 'gone', answers: [{ fate: 'gone', reason: '404' }] });
    expect(gone.audit).toMatchObject([{ outcome: 'failed', reason: 'VERIFICATION_GONE' }]);
    expect(sent(gone.book)).toEqual([]);
    expect(rules.answer(gone.book, given({ action: 'dispatch' }), stamp()).result).toMatchObject({
      code: 'VERIFICATION_GONE',
    });
  });

  it('that the service refused may be given again, and still not be turned round', () => {
    const refused = (action: 'dispatch' | 'disregard') =>
      rules.settle(
        rules.answer(open, given({ action }), stamp()).book,
        { verificationId: id, n: 0 },
        { fate: 'refused', reason: '400' },
        stamp(),
      ).book;
    expect(rules.answer(refused('disregard'), given(), stamp()).result).toEqual({ outcome: 'done', n: 1 });
    expect(rules.answer(refused('dispatch'), given(), stamp()).result).toMatchObject({ code: 'ALREADY_ANSWERED' });
  });
});

describe('time', () => {
  it('ends what nobody answers at its deadline, with one audit entry, whatever the wall clock does', () => {
    const { book } = asked();
    const wild = { wall: 5000 };
    expect(rules.elapse(book, stamp(5 * minute - 1, wild)).changed).toEqual([]);
    const over = rules.elapse(book, stamp(5 * minute, wild));
    expect(rules.shown(must(over.book)).state).toBe('expired');
    expect(over.audit).toMatchObject([{ action: 'verification_expired' }]);
    expect(rules.elapse(over.book, stamp(6 * minute)).changed).toEqual([]);
  });

  it('gives an answer that cannot be sent up only well after the deadline, which the service judges by its own clock', () => {
    const { book } = rules.answer(asked().book, given(), stamp());
    expect(rules.elapse(book, stamp(5 * minute + rules.graceMs - 1)).changed).toEqual([]);
    const over = rules.elapse(book, stamp(5 * minute + rules.graceMs));
    expect(rules.shown(must(over.book))).toMatchObject({ state: 'unsent' });
    expect(sent(over.book)).toEqual([]);
  });

  it('goes by the wall clock after a start of the machine, once that clock can be trusted', () => {
    const { book } = asked();
    const rebooted = { mono: 10, boot: 'boot-2' };
    expect(rules.elapse(book, stamp(60 * minute, { ...rebooted, clock: 'doubtful' })).changed).toEqual([]);
    expect(rules.elapse(book, stamp(4 * minute, rebooted)).changed).toEqual([]);
    expect(rules.elapse(book, stamp(5 * minute, rebooted)).changed).toEqual([id]);
  });

  it('tells a press under a clock in doubt by the monotonic clock once the wall clock is good', () => {
    const at = stamp(0, { wall: 5000, clock: 'doubtful' });
    const { book } = rules.answer(asked(new Map(), {}, at).book, given({ pressedAt: noon }), at);
    expect(rules.outgoing(book, stamp(minute))[0]?.respondedAt).toBe(noon);
  });

  it('says when it has something to do next', () => {
    const { book } = asked();
    expect(rules.nextMs(new Map(), stamp())).toBeUndefined();
    expect(rules.nextMs(book, stamp(minute))).toBe(4 * minute);
    const waiting = rules.answer(book, given(), stamp()).book;
    expect(rules.nextMs(waiting, stamp(minute))).toBe(4 * minute + rules.graceMs);
    expect(rules.nextMs(drain(waiting).book, stamp(minute))).toBeUndefined();
  });
});

const action = fc.constantFrom('dispatch' as const, 'disregard' as const);
const step = fc.oneof(
  fc.record({
    do: fc.constant('answer' as const),
    action,
    duress: fc.boolean(),
    bound: fc.boolean(),
    mayAnswer: fc.boolean(),
  }),
  fc.record({
    do: fc.constant('send' as const),
    fate: fc.constantFrom('recorded' as const, 'gone' as const, 'refused' as const),
  }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 3 * minute }) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Everything operators are told, over the same steps with the duress codes as they were or taken for ordinary ones. */
function story(steps: readonly Step[], isDuress: (one: boolean) => boolean) {
  let book = asked().book;
  let afterMs = 0;
  const told: unknown[] = [];
  const heard: string[] = [];
  for (const [index, one] of steps.entries()) {
    if (one.do === 'wait') {
      afterMs += one.ms;
      const over = rules.elapse(book, stamp(afterMs));
      book = over.book;
      told.push(over.audit.filter(({ visibility }) => visibility === undefined));
    } else if (one.do === 'answer') {
      const who = { duress: isDuress(one.duress), contact: one.bound ? 7 : undefined, mayAnswer: one.mayAnswer };
      const answer = given({ action: one.action, commandId: `c${index}`, ...who, pressedAt: noon + afterMs });
      const { book: next, audit, result } = rules.answer(book, answer, stamp(afterMs));
      book = next;
      const known = 'n' in result ? result.outcome : result;
      told.push(
        known,
        audit.filter(({ visibility }) => visibility === undefined),
      );
    } else {
      // The service hears what nobody sees before the rest, and answers it the same way.
      for (
        let due = rules.outgoing(book, stamp(afterMs))[0];
        due !== undefined;
        due = rules.outgoing(book, stamp(afterMs))[0]
      ) {
        heard.push(due.action);
        const { book: next, audit } = rules.settle(book, due, { fate: one.fate }, stamp(afterMs));
        book = next;
        told.push(...audit.filter(({ visibility }) => visibility === undefined));
      }
    }
    told.push(JSON.stringify(rules.shown(must(book))));
  }
  return { book, told: told.filter((one) => JSON.stringify(one) !== '[]'), heard };
}

describe('safety 6', () => {
  it('under duress everything operators see is byte for byte what it is without', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 14 }), (steps) => {
        expect(story(steps, (one) => one).told).toEqual(story(steps, () => false).told);
      }),
      { numRuns: 2000 },
    );
  });

  it('a duress answer to an open verification makes the service hear dispatch, and no disregard after it', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 10 }),
        fc.array(step, { maxLength: 10 }),
        action,
        (before, after, shown) => {
          const quiet = before.filter((one) => one.do === 'answer').map((one) => ({ ...one, duress: false }));
          const forced = { do: 'answer' as const, action: shown, duress: true, bound: true, mayAnswer: true };
          const sends = [{ do: 'send' as const, fate: 'recorded' as const }];
          const answers = after.filter((one) => one.do === 'answer');
          const { heard } = story([...quiet, forced, ...sends, ...answers, ...sends], (one) => one);
          expect(heard.at(-1)).toBe('dispatch');
          expect(heard.slice(heard.indexOf('dispatch'))).not.toContain('disregard');
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('only the auditor learns of it', () => {
    const { audit } = rules.answer(asked().book, given({ duress: true }), stamp());
    expect(audit).toMatchObject([
      { action: 'verification_disregard' },
      { action: 'verification_dispatch', reason: 'DURESS', visibility: 'auditor' },
    ]);
    expect(audit[0]).not.toHaveProperty('visibility');
  });
});

describe('what is kept', () => {
  it('comes back equal, and one broken record does not take the others with it', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 10 }), (steps) => {
        const { book } = story(steps, (one) => one);
        const rows = [...book].map(([key, one]) => rowOf(key, one));
        const broken = [
          { id: 'x', at: 0, record: '{"version":2}' },
          { id: 'y', at: 0, record: 'no JSON' },
        ];
        expect(bookOf([...rows, ...broken])).toEqual({ book, broken: ['x', 'y'] });
      }),
      { numRuns: 300 },
    );
    expect(request()).toMatchObject({ verification_id: id });
  });
});
