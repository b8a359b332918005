import { describe, expect, it } from 'vitest';
import { rowFor } from '../../src/cloud/delivery/status-table.ts';
import {
  afterPass,
  type Case,
  type Evidence,
  isComparedAtOnce,
  isComparedBefore,
  isHeldAgainst,
  type Known,
  noEvidence,
  type Outcome,
  type Suspicion,
  unsuspected,
  type Verdict,
  verdictOn,
} from '../../src/cloud/delivery/suspicion.ts';

const answers = {
  ok: rowFor({ status: 200, body: 'json' }),
  403: rowFor({ status: 403 }),
  422: rowFor({ status: 422 }),
  429: rowFor({ status: 429 }),
  500: rowFor({ status: 500 }),
  502: rowFor({ status: 502 }),
  paused: rowFor({ status: 503, retryAfter: true }),
  moved: rowFor({ status: 421 }),
  cut: rowFor({ failure: 'reset' }),
  nobody: rowFor({ failure: 'refused' }),
} as const;
type AnswerName = keyof typeof answers;

const outcomeOf = (name: AnswerName): Outcome => ({
  action: answers[name].action,
  isUnsent: name === 'nobody',
  isAnswered: name !== 'nobody' && name !== 'cut',
  retryAfterMs: name === 'paused' ? 120_000 : undefined,
});

/** What the cloud does with event 1, with another that is new to it, and with one that it has. */
interface Cloud {
  readonly own: AnswerName;
  /** An event that is offered between any two tries of event 1; none where left out. */
  readonly other?: AnswerName;
  /** One that it has from before; none where left out, as on the first day, until the other has passed. */
  readonly known?: AnswerName;
}

const says = ({ verdict }: { verdict: Verdict }): string => {
  if (verdict.do === 'deliver') return 'delivered';
  if (verdict.do === 'park') return 'parked';
  const rests = verdict.rest === undefined ? '' : `, all rest from ${verdict.rest.fromMs / 1000} s`;
  if (verdict.do === 'rest') return `in place${rests}`;
  const news = [verdict.endsWithLink && 'the line', verdict.endsWithTaken && 'a new event'].filter((one) => one);
  const until = news.length === 0 ? '' : ` or ${news.join(' or ')}`;
  return `apart ${verdict.waitMs / 1000} s${until}${verdict.keepsPlace ? ' in place' : ''}${rests}`;
};

/** Plays tries of event 1 as `attempts.ts` does, until a verdict repeats `tries` times; a comparison is "(compared)". */
function play(cloud: Cloud, tries: number, of: Partial<Pick<Case, 'silent' | 'direct'>> = {}): string[] {
  const found: string[] = [];
  let suspicion: Suspicion = unsuspected;
  let evidence: Evidence = noEvidence;
  let has = cloud.known;
  const one = { silent: false, direct: false, ...of };
  const compare = (): Known => {
    if (has === undefined) return 'none';
    const passes = has === 'ok';
    if (passes) evidence = afterPass(evidence);
    return passes ? 'passes' : 'fails';
  };
  const judged = (seq: number, held: Suspicion, name: AnswerName, known: Known, nth: number) =>
    verdictOn({ ...one, seq, suspicion: held, evidence, outcome: outcomeOf(name), known, tries: nth });
  for (let nth = 1; nth <= tries; nth += 1) {
    const compared = isComparedBefore(suspicion, evidence);
    suspicion = { ...suspicion, compared };
    let note = '';
    if (compared) {
      const known = compare();
      if (known !== 'none') note = '(compared) ';
      if (known === 'fails') {
        found.push('(compared)');
        continue;
      }
    }
    let known: Known = has === undefined ? 'none' : 'unasked';
    if (known === 'unasked' && isComparedAtOnce({ ...one, outcome: outcomeOf(cloud.own) })) {
      note = '(compared) ';
      known = compare();
    }
    const now = judged(1, suspicion, cloud.own, known, nth);
    suspicion = now.suspicion;
    evidence = now.evidence;
    found.push(note + says(now));
    if (now.verdict.do === 'park' || now.verdict.do === 'deliver') break;
    if (cloud.other === undefined) continue;
    evidence = judged(100 + nth, unsuspected, cloud.other, known, 1).evidence;
    if (cloud.other === 'ok') has = 'ok';
  }
  return found;
}

const soon = 'in place, all rest from 1 s';
const forAPerson = 'in place, all rest from 300 s';

describe('who is at fault', () => {
  const cases: [what: string, cloud: Cloud, verdicts: string[]][] = [
    ['nobody: it is taken', { own: 'ok' }, ['delivered']],
    ['the line, which nobody answers on, though another passed', { own: 'nobody', other: 'ok' }, [soon, soon, soon]],
    ['the cloud, that asks for fewer requests', { own: 429, other: 'ok' }, Array(7).fill(soon)],
    ['the cloud, that asks for a pause', { own: 'paused', other: 'ok' }, Array(7).fill(soon)],
    ['a connection to another server', { own: 'moved', other: 'ok' }, Array(7).fill(soon)],
    ['the event the cloud refuses', { own: 422, other: 'ok' }, ['apart 60 s', 'parked']],
    [
      'the event, on which alone a gateway gives up while others pass',
      { own: 502, other: 'ok' },
      [
        ...[soon, soon, soon, soon],
        ...[60, 120, 240, 480].map((s) => `apart ${s} s or the line in place`),
        ...[960, 1920, 3600, 3600].map((s) => `apart ${s} s or the line`),
      ],
    ],
    [
      'the event, whose connection a firewall cuts while others pass',
      { own: 'cut', other: 'ok' },
      [...[soon, soon, soon, soon], 'apart 60 s or the line in place'],
    ],
    [
      'the event, on which alone the server fails: parked, for the server has looked at it',
      { own: 500, other: 'ok' },
      [...[soon, soon, soon, soon], 'apart 60 s or the line, all rest from 1 s', 'parked'],
    ],
    [
      'the event that alone is not permitted, as a comparison tells at once',
      { own: 403, other: 'ok', known: 'ok' },
      [
        '(compared) apart 60 s or a new event in place',
        ...[120, 240, 480].map((s) => `(compared) apart ${s} s in place`),
        '(compared) apart 960 s',
      ],
    ],
    [
      'the event, behind which no other is offered, as a comparison tells',
      { own: 502, known: 'ok' },
      [
        ...[soon, soon, soon],
        ...[`(compared) ${soon}`, 'apart 60 s or the line or a new event in place'],
        '(compared) apart 120 s or the line or a new event in place',
      ],
    ],
    [
      'the cloud, that takes nothing new: nothing is parked, and none waits long',
      { own: 500, known: 'ok' },
      [
        ...[soon, soon, soon, `(compared) ${soon}`],
        ...['', '(compared) ', '(compared) '].map(
          (note, i) => `${note}apart ${60 * 2 ** i} s or the line or a new event in place`,
        ),
        '(compared) apart 300 s or the line or a new event in place',
        '(compared) apart 300 s or the line or a new event',
      ],
    ],
    [
      'the cloud, that fails on all',
      { own: 500, other: 500, known: 500 },
      [soon, soon, soon, '(compared)', soon, '(compared)', soon, '(compared)'],
    ],
    [
      'the cloud, that permits nothing any more',
      { own: 403, other: 403, known: 403 },
      [
        ...[`(compared) ${forAPerson}`, `(compared) ${forAPerson}`, `(compared) ${forAPerson}`],
        ...['(compared)', `(compared) ${forAPerson}`, '(compared)'],
      ],
    ],
    [
      'on the first day nobody knows: the event that is not permitted waits, and the next one tells',
      { own: 403 },
      [300, 600, 1200, 2400, 3600, 3600].map((s) => `apart ${s} s or a new event in place, all rest from 1 s`),
    ],
    [
      'on the first day the cloud, once a second event is not permitted: all rest for long',
      { own: 403, other: 403 },
      ['apart 300 s or a new event in place, all rest from 1 s', forAPerson, forAPerson],
    ],
    [
      'on the first day the event, once another is taken',
      { own: 403, other: 'ok' },
      ['apart 300 s or a new event in place, all rest from 1 s', '(compared) apart 60 s in place'],
    ],
    [
      'on the first day nobody knows of a gateway: after ten tries the next of its partition is tried',
      { own: 502 },
      [...Array(9).fill(soon), 'apart 60 s or the line, all rest from 1 s'],
    ],
  ];
  it.each(cases)('%s', (_what, cloud, verdicts) => {
    expect(play(cloud, verdicts.length)).toEqual(verdicts);
  });

  it('one on which alone the server fails is tried once more at once; not without an answer, nor in a pause it asks for', () => {
    const suspicion: Suspicion = { ...unsuspected, failures: 4, failedBefore: 4 };
    const evidence: Evidence = { passed: 3, taken: 3, failed: 4, failing: undefined };
    const one = { seq: 1, silent: false, direct: false, tries: 5, suspicion, evidence, known: 'unasked' } as const;
    const isHeld = (name: AnswerName, more: Partial<Case> = {}) =>
      isHeldAgainst({ ...one, outcome: outcomeOf(name), ...more });
    expect([isHeld(502), isHeld(500), isHeld('cut'), isHeld('paused'), isHeld(422)]).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(isHeld(500, { outcome: { ...outcomeOf(500), retryAfterMs: 5_000 } })).toBe(false);
    expect(isHeld(502, { suspicion: { ...suspicion, failures: 3 } })).toBe(false);
    expect(isHeld(502, { silent: true })).toBe(false);
  });

  it('an outage that begins before its last try parks no event', () => {
    const suspicion: Suspicion = { ...unsuspected, failures: 5, isLastTry: true, passedBefore: 8, failedBefore: 5 };
    const one = { seq: 1, silent: false, direct: false, tries: 6, outcome: outcomeOf(500), suspicion };
    const evidence: Evidence = { passed: 8, taken: 6, failed: 5, failing: undefined };
    expect(says(verdictOn({ ...one, evidence, known: 'unasked' }))).toBe(soon);
    expect(says(verdictOn({ ...one, evidence: afterPass(evidence), known: 'unasked' }))).toBe('parked');
  });

  it('an overloaded cloud that fails on others as often as it takes them parks no event and sets none aside', () => {
    const suspicion: Suspicion = { ...unsuspected, failures: 7, isLastTry: true, failedBefore: 7 };
    for (const name of [500, 502, 'cut'] as const) {
      const one = { seq: 1, silent: false, direct: false, tries: 8, outcome: outcomeOf(name), suspicion };
      const seen = (taken: number, failed: number): Evidence => ({ passed: taken, taken, failed, failing: undefined });
      expect(says(verdictOn({ ...one, evidence: seen(10, 7 + 6), known: 'unasked' }))).toBe(soon);
      expect(says(verdictOn({ ...one, evidence: seen(12, 7 + 6), known: 'unasked' }))).toMatch(/^(parked|apart)/);
    }
  });

  it('two events on which alone the cloud fails do not call it overloaded for each other for ever', () => {
    const suspicion: Suspicion = { ...unsuspected, failures: 9, passedBefore: 5, takenBefore: 5, failedBefore: 9 };
    const one = { seq: 1, silent: false, direct: false, tries: 10, outcome: outcomeOf(502), suspicion };
    // One was taken since, and the other one has failed twenty times.
    const evidence: Evidence = { passed: 6, taken: 6, failed: 29, failing: 'many' };
    expect(says(verdictOn({ ...one, evidence, known: 'unasked' }))).toMatch(/^apart/);
    const before = { ...one, suspicion: { ...suspicion, failures: 8 } };
    expect(says(verdictOn({ ...before, evidence, known: 'unasked' }))).toBe(soon);
  });

  it('an event without a row is never parked', () => {
    expect(play({ own: 422 }, 4, { direct: true })).toEqual([60, 120, 240, 480].map((s) => `apart ${s} s`));
    const byServer = play({ own: 500, other: 'ok' }, 7, { direct: true }).slice(-2);
    expect(byServer).toEqual(['apart 60 s, all rest from 1 s', 'apart 120 s, all rest from 1 s']);
  });

  it('a silent event never shows how it fared: nothing rests, and it is never parked (safety 4)', () => {
    for (const own of Object.keys(answers) as AnswerName[]) {
      const verdicts = play({ own, other: 'ok', known: 'ok' }, 8, { silent: true });
      expect(verdicts.join()).not.toMatch(/rest|parked|compared/);
    }
    expect(play({ own: 502 }, 6, { silent: true }).at(-1)).toBe('apart 15 s');
    expect(play({ own: 'paused' }, 1, { silent: true })).toEqual(['apart 121 s']);
    expect(play({ own: 403 }, 2, { silent: true })).toEqual(['apart 60 s', 'apart 60 s']);
    expect(play({ own: 422 }, 8, { silent: true }).at(-1)).toBe('apart 3600 s');
  });
});
