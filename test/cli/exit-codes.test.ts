import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorCodes, SitewardError } from '#errors.ts';
import { replyCodes } from '#site/model/index.ts';
import { exitCodes, exitOfCode, exitOfError, exitOfReply } from '../../src/cli/exit-codes.ts';
import { code, type Site, startSite } from '../harness/site.ts';
import { siteward } from './run-cli.ts';

/** One meaning of exit codes over all verbs, against a real daemon. Eight digits, so that it stands in no number by chance. */
const wrong = '93820571';
const nobody = randomUUID();

let site: Site;
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    yaml: () => `
partitions: [ ${[1, 2, 3, 4, 5, 6].map((n) => `{ id: p${n}, name: Part ${n}, exit_delay: 0s }`).join(', ')} ]
panels: [ { id: sensors, profile: zigbee2mqtt, zones: { "2": { type: perimeter, name: Window, key: window, partition: p6 } } } ]
schedules: [ { id: night, days: [daily], at: "23:55", arm: { partitions: [p1] } } ]
`,
  });
}, 60_000);
afterAll(() => site?.close());

const run = (args: readonly string[], input?: string) => siteward(args, { SITEWARD_SOCKET: site.socket }, input);
const file = (name: string) => join(site.folder, name);
const brackets = (err: string) => /\((\w+)\)\n$/.exec(err)?.[1];

describe('what is not there is 66', () => {
  test.each<[string, readonly string[], string, string?]>([
    ['a partition', ['disarm', 'p9', '--code-stdin'], 'UNKNOWN_TARGET', code],
    ['a zone', ['bypass', '77', '--code-stdin'], 'UNKNOWN_TARGET', code],
    ['an answer to nothing', ['verification', 'answer', nobody, 'dispatch', '--code-stdin'], 'UNKNOWN_TARGET', code],
    ['a verification', ['verification', 'show', nobody], 'verification_unknown'],
    ['a schedule', ['schedule', 'postpone', 'noon', '--by', '5m', '--code-stdin'], 'schedule_unknown', code],
    ['a user', ['user', 'remove', 'nobody'], 'user_unknown'],
    ['a user for a code', ['user', 'code', 'nobody', '--code-stdin'], 'user_unknown', '73910264'],
    ['a parked event', ['outbox', 'retry', '4711'], 'not_parked'],
    ['a parked event to explain', ['outbox', 'parked', '4711'], 'not_parked'],
    ['pictures to show', ['media', 'show', '4711'], 'media_unknown'],
    ['a parked event to drop', ['outbox', 'drop', '4711', '--yes'], 'not_parked'],
  ])('%s: %j', async (_what, args, said, input) => {
    const { code: ended, out, err } = await run(args, input);
    expect([ended, out, brackets(err)]).toEqual([exitCodes.notFound, '', said]);
  });
});

describe('a code that is wanted where nobody can be asked is 2', () => {
  test.each<[readonly string[]]>([
    [['disarm', 'p1']],
    [['bypass', '2']],
    [['security-type', '3', '--while-armed']],
    [['schedule', 'postpone', 'night', '--by', '5m']],
    [['user', 'add', 'ben', '--name', 'Ben']],
    [['verification', 'answer', nobody, 'dispatch']],
    [['audit', 'show', '--auditor']],
    [['audit', 'verify', '--auditor']],
    [['audit', 'export', 'nowhere.jsonl']],
    [['activity', '--auditor']],
  ])('%j', async (args) => {
    const { code: ended, err } = await run(args);
    expect(ended).toBe(exitCodes.usage);
    expect(err).toContain('--code-stdin');
    expect(['no_terminal', 'CODE_REQUIRED']).toContain(brackets(err));
  });
});

describe('what the site refuses is 65, under the code the daemon says', () => {
  test.each<[string, readonly string[], string, string]>([
    ['what is no code', ['disarm', 'p2', '--code-stdin'], 'code_refused', '12'],
    ['what is no code', ['schedule', 'postpone', 'night', '--by', '5m', '--code-stdin'], 'code_refused', '12'],
    ['what is no code', ['audit', 'show', '--code-stdin'], 'code_refused', '12'],
    ['what is no code', ['user', 'add', 'ben', '--name', 'Ben', '--code-stdin'], 'code_refused', '12'],
    ['a code that all try', ['user', 'add', 'ben', '--name', 'Ben', '--code-stdin'], 'code_refused', '1234'],
    [
      'an installer without an end',
      ['user', 'add', 'tim', '--name', 'Tim', '--role', 'installer', '--code-stdin'],
      'user_refused',
      '73910264',
    ],
    [
      'a verification that cannot be answered',
      ['verification', 'add', nobody, '--contact', '7'],
      'verification_refused',
      '',
    ],
    // The same wrong code, whichever verb takes it; the third one locks.
    ['a wrong code', ['disarm', 'p3', '--code-stdin'], 'BAD_CODE', wrong],
    ['a wrong code', ['schedule', 'postpone', 'night', '--by', '5m', '--code-stdin'], 'postpone_refused', wrong],
    ['a wrong code', ['security-type', '3', '--while-armed', '--code-stdin'], 'code_refused', wrong],
    ['a wrong code', ['verification', 'answer', nobody, 'dispatch', '--code-stdin'], 'LOCKED', wrong],
    ['a wrong code', ['audit', 'show', '--code-stdin'], 'auditor_needed', wrong],
    ['a wrong code', ['audit', 'verify', '--code-stdin'], 'auditor_needed', wrong],
    ['a wrong code', ['activity', '--code-stdin'], 'auditor_needed', wrong],
  ])('%s: %j', async (_what, args, said, input) => {
    const { code: ended, out, err } = await run(args, input);
    expect([ended, out, brackets(err)]).toEqual([exitCodes.refused, '', said]);
    expect(err).not.toContain(wrong);
  });
});

test.each<[readonly string[]]>([
  [['status']],
  [['events']],
  [['arm', 'p1']],
  [['clear-memory']],
  [['security-type', '3']],
  [['outbox', 'show']],
  [['outbox', 'retry', '1']],
  [['schedule']],
  [['user', 'list']],
  [['user', 'remove', 'ben']],
  [['audit', 'show']],
  [['audit', 'verify']],
  [['activity']],
  [['verification', 'list']],
  [['verification', 'add', nobody, '--contact', '7']],
  [['replay', '--recorded']],
  [['inputs', 'export', 'OUT']],
])('without a daemon it is 69: %j', async (args) => {
  const named = args.map((arg) => (arg === 'OUT' ? file('inputs.jsonl') : arg));
  const { code: ended, err } = await siteward([...named, '--socket', file('none.sock')]);
  expect([ended, brackets(err)]).toEqual([exitCodes.unreachable, 'control_unreachable']);
});

test('a configuration that is not there is 78', async () => {
  expect((await siteward(['check', file('none.yaml')])).code).toBe(exitCodes.configuration);
});

test('each error and each answer of the site has one exit code, and docs/errors.md tells that of each error', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/errors.md'), 'utf8');
  for (const name of Object.keys(errorCodes) as (keyof typeof errorCodes)[])
    expect(page).toContain(`| \`${name}\` | ${exitOfCode(name)} |`);
  const ends = new Set<number>(Object.values(exitCodes));
  for (const reply of replyCodes) expect(ends).toContain(exitOfReply(reply));
  expect([exitOfReply('BAD_CODE'), exitOfReply('LOCKED'), exitOfReply('UNKNOWN_TARGET')]).toEqual([65, 65, 66]);
  const busy = new SitewardError('cloud_unreachable', 'too many requests', { facts: { status: 429 } });
  expect([exitOfError(busy), exitOfError(new Error('anything else'))]).toEqual([65, 1]);
});
