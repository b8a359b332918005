import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createControlSocket, type OutboxPort } from '#lan/http/index.ts';
import { fakeLanPort, fakeOutbox, fakeOutboxDocument, fakeParked } from '#lan/http/port.fake.ts';
import type { Part } from '#lib/health.ts';
import { main, siteward } from './run-cli.ts';

let dir: string;
let socket: string;
let daemon: Part | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-outbox-'));
  socket = join(dir, 'control.sock');
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  rmSync(dir, { recursive: true, force: true });
});

async function serve(outbox: OutboxPort): Promise<void> {
  const port = fakeLanPort(0, { outbox });
  daemon = createControlSocket({ path: socket, port, log: pino({ level: 'silent' }), metrics: new Registry() });
  await daemon.start(new AbortController().signal);
}
const outbox = (...args: string[]) => siteward(['outbox', ...args, '--socket', socket]);
const lines = (out: string): unknown[] =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

describe('show', () => {
  test('tells by lane what waits, the link, the disk, and what to do', async () => {
    await serve(fakeOutbox());
    const { code, out } = await outbox('show');
    expect(code).toBe(0);
    expect(out).toMatch(/^alarm +1 +2026-11-27T21:59:00.000Z \(4 min\) +1 +0$/m);
    expect(out).toMatch(
      /^link +DOWN \(unreachable\) since .* \(5 min\) breaker open next try in 12 s - nobody listens/m,
    );
    expect(out).toContain('site.db 512.0 KiB + 4.0 KiB log');
    expect(out).toContain('10.0 GiB of 20.0 GiB free, level ok');
    expect(out).toMatch(/^sending +12.5 a minute, 0 under way, 0 set aside for another try$/m);
    expect(out).toMatch(/what to do\n {2}Check the line\.\n {2}1 refused: "siteward outbox parked" lists them\.\n$/);
  });

  test('has nothing to do when nothing is wrong', async () => {
    await serve(fakeOutbox(0, { show: async () => ({ ...fakeOutboxDocument, hints: [] }) }));
    expect((await outbox('show')).out).not.toContain('what to do');
  });

  test('says what is wrong when the store cannot be counted and events are only in memory', async () => {
    const store = { state: 'down', reason: 'site.db cannot be used: EIO' } as const;
    const sending = { in_flight: 1, aside: 0, memory_only: 3, per_min: 0 };
    const disk = { ...fakeOutboxDocument.disk, level: 'full' as const, free_bytes: null };
    await serve(fakeOutbox(0, { show: async () => ({ ...fakeOutboxDocument, lanes: [], store, sending, disk }) }));
    const { out } = await outbox('show');
    expect(out).toContain('the outbox cannot be counted: site.db cannot be used: EIO');
    expect(out).toContain('3 IN MEMORY ONLY');
    expect(out).toContain('level full');
    expect(out).toContain('/var/lib/siteward does not answer');
  });

  test('--json is the document', async () => {
    await serve(fakeOutbox());
    expect(JSON.parse((await outbox('show', '--json')).out)).toEqual(fakeOutboxDocument);
  });
});

describe('lists', () => {
  test('events are oldest first, over the pages of the daemon', async () => {
    const { waiting } = fakeOutbox();
    await serve(fakeOutbox(0, { waiting: (query) => waiting({ ...query, limit: Math.min(2, query.limit) }) }));
    const { out } = await outbox('events', '--json');
    expect(lines(out)).toMatchObject([{ seq: 1, lane: 'alarm' }, { seq: 2 }, { seq: 3 }]);
    const table = await outbox('events', '--limit', '1');
    expect(table.out).toBe('1  2026-11-27T22:01:00.000Z  alarm  burglary  p1 zone 2\n');
  });

  test('the filters of events reach the daemon', async () => {
    const asked: unknown[] = [];
    const waiting: OutboxPort['waiting'] = async (query) => {
      asked.push(query);
      return { items: [], next_after: null };
    };
    await serve(fakeOutbox(0, { waiting }));
    expect((await outbox('events', '--lane', 'alarm', '--partition', 'p1')).code).toBe(0);
    expect(asked).toEqual([{ limit: 20, after: 0, lane: 'alarm', partition: 'p1' }]);
  });

  test('parked events show status, tries and reason', async () => {
    await serve(fakeOutbox(2));
    const { out } = await outbox('parked');
    expect(out.split('\n')[0]).toBe(
      '2  2026-11-27T22:01:00.000Z  burglary  p1 zone 2  422  2 tries  refused as invalid: unknown camera',
    );
    expect(lines((await outbox('parked', '--json', '--limit', '1')).out)).toMatchObject([{ seq: 2, status: 422 }]);
  });

  test('a list of more than a page has all of them', async () => {
    await serve(fakeOutbox(450));
    expect(lines((await outbox('parked', '--json', '--limit', '1000')).out)).toHaveLength(450);
  });

  test('one parked event is explained, with its body', async () => {
    await serve(fakeOutbox());
    const { out } = await outbox('parked', '2');
    expect(out).toContain('means     The cloud does not take this event.');
    expect(out).toContain('to do     Read what the cloud said.');
    expect(out).toContain('  "event_id": "event-2",');
    expect(out).toContain('siteward outbox retry 2');
    expect(JSON.parse((await outbox('parked', '2', '--json')).out)).toEqual(fakeParked(2));
  });

  test('what a server or device wrote cannot move the cursor', async () => {
    const reason = '422 refused as invalid: \u001b[2Jyour name\u0007';
    const cloud_event = { note: 'a\u009bb' };
    await serve(fakeOutbox(1, { parkedOne: async () => ({ ...fakeParked(1), reason, cloud_event }) }));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
    expect((await outbox('parked', '1')).out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });
});

describe('retry, drop and export', () => {
  test('retry takes the named ones and says how many', async () => {
    await serve(fakeOutbox(3));
    expect((await outbox('retry', '1', '3', '3')).out).toBe('2 events back in line\n');
    expect(lines((await outbox('parked', '--json')).out)).toMatchObject([{ seq: 2 }]);
    expect(JSON.parse((await outbox('retry', '--all', '--json')).out)).toEqual({ retried: 1 });
    expect((await outbox('retry', '--all')).out).toBe('0 events back in line\n');
  });

  test('--all goes over requests of a thousand', async () => {
    const asked: number[] = [];
    const box = fakeOutbox(2100);
    const drop: OutboxPort['drop'] = (change) => {
      asked.push(change.seqs.length);
      return box.drop(change);
    };
    await serve({ ...box, drop });
    expect(JSON.parse((await outbox('drop', '--all', '--yes', '--json')).out)).toEqual({ dropped: 2100 });
    expect(asked).toEqual([1000, 1000, 100]);
  });

  test('a failure half-way says what was done', async () => {
    const box = fakeOutbox(1500);
    let calls = 0;
    await serve({
      ...box,
      retry: (change) => (++calls === 2 ? Promise.reject(new Error('inner')) : box.retry(change)),
    });
    const { code, err } = await outbox('retry', '--all');
    expect(code).toBe(1);
    expect(err).toContain('1000 events done; then');
  });

  test('drop without a terminal needs --yes, and keeps a gap record', async () => {
    await serve(fakeOutbox(3));
    const refused = await outbox('drop', '2');
    expect(refused.code).toBe(2);
    expect(refused.err).toContain('say --yes if it is meant');
    expect((await outbox('drop', '2', '--yes')).out).toBe('1 event dropped, each kept as a gap record\n');
    expect((await outbox('gaps')).out).toBe(
      '2026-11-27T22:03:00.000Z  alarm  2  1 lost  technician  not reported yet\n',
    );
    expect(lines((await outbox('gaps', '--json')).out)).toMatchObject([{ seq_from: 2, count: 1 }]);
  });

  describe.skipIf(!existsSync('/usr/bin/script'))('drop on a terminal', () => {
    /** Runs it as a person would: on a terminal of its own, answering when it asks. */
    async function dropOnTerminal(
      answer: string | undefined,
      ...args: string[]
    ): Promise<{ code: number; out: string }> {
      const command = [process.execPath, main, 'outbox', 'drop', '2', ...args, '--socket', socket].join(' ');
      const env = { PATH: process.env.PATH, SHELL: '/bin/sh', TERM: 'dumb' };
      const child = spawn('/usr/bin/script', ['-qec', command, '/dev/null'], {
        env,
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      let out = '';
      let isAsked = false;
      child.stdout.on('data', (chunk: Buffer) => {
        out += chunk.toString();
        if (isAsked || answer === undefined || !out.includes('[yes/no]')) return;
        isAsked = true;
        child.stdin.write(`${answer}\n`);
      });
      const [code] = (await once(child, 'close')) as [number];
      return { code, out };
    }
    const left = async () => lines((await outbox('parked', '--json')).out).length;

    test.each(['no', 'y', ''])('asks, and the answer "%s" drops nothing', async (answer) => {
      await serve(fakeOutbox(3));
      const { code, out } = await dropOnTerminal(answer);
      expect(out).toContain('Give 1 event up for good? The cloud will never have it. [yes/no]');
      expect(out).toContain('siteward: nothing was dropped');
      expect([code, await left()]).toEqual([1, 3]);
    });

    test('does not ask about what is not parked', async () => {
      await serve(fakeOutbox(1));
      const { code, out } = await dropOnTerminal(undefined);
      expect(out).toBe('siteward: not parked: 2 (not_parked)\r\n');
      expect(code).toBe(66);
    });

    test('asks, and "yes" drops', async () => {
      await serve(fakeOutbox(3));
      const { code, out } = await dropOnTerminal('yes');
      expect(out).toContain('1 event dropped, each kept as a gap record');
      expect([code, await left()]).toEqual([0, 2]);
    });

    test('does not ask with --yes', async () => {
      await serve(fakeOutbox(3));
      const { code, out } = await dropOnTerminal(undefined, '--yes');
      expect(out).toBe('1 event dropped, each kept as a gap record\r\n');
      expect([code, await left()]).toEqual([0, 2]);
    });
  });

  test.each(['retry', 'export', 'drop'])('%s of what is not parked names it and does nothing', async (verb) => {
    await serve(fakeOutbox(3));
    const { code, out, err } = await outbox(verb, '2', '77', ...(verb === 'drop' ? ['--yes'] : []));
    expect([code, out]).toEqual([66, '']);
    expect(err).toContain('not parked: 77 (not_parked)');
    expect(lines((await outbox('parked', '--json')).out)).toHaveLength(3);
  });

  test('export prints what would be sent, and the count on standard error', async () => {
    await serve(fakeOutbox(2));
    const { out, err } = await outbox('export', '--all');
    expect(lines(out)).toEqual([fakeParked(2).cloud_event, fakeParked(1).cloud_event]);
    expect(err).toContain('2 events exported');
  });

  test('export writes a file for its owner only, and replaces one only with --force', async () => {
    await serve(fakeOutbox(2));
    const file = join(dir, 'parked.jsonl');
    expect((await outbox('export', '1', '--out', file)).err).toContain(`1 event exported to ${file}`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const refused = await outbox('export', '2', '--out', file);
    expect([refused.code, lines(readFileSync(file, 'utf8'))]).toMatchObject([1, [{ event_id: 'event-1' }]]);
    expect(refused.err).toContain('is there already');
    writeFileSync(file, 'old', { mode: 0o644 });
    expect((await outbox('export', '2', '--out', file, '--force')).code).toBe(0);
    expect(lines(readFileSync(file, 'utf8'))).toMatchObject([{ event_id: 'event-2' }]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('export never replaces a link, a device or a folder', async () => {
    await serve(fakeOutbox(1));
    const [link, target] = [join(dir, 'link'), join(dir, 'target')];
    writeFileSync(target, 'mine');
    symlinkSync(target, link);
    for (const out of [link, dir, '/dev/null']) {
      const { code, err } = await outbox('export', '1', '--out', out, '--force');
      expect([code, err.includes('is no regular file')]).toEqual([1, true]);
    }
    expect([readFileSync(target, 'utf8'), lstatSync(link).isSymbolicLink()]).toEqual(['mine', true]);
  });

  test.each([[['export', '--all']], [['parked']], [['show', '--json']]])(
    '%j onto a full disk is one sentence and exit code 1',
    async (args) => {
      await serve(fakeOutbox(2));
      const full = openSync('/dev/full', 'w');
      const child = spawn(process.execPath, [main, 'outbox', ...args, '--socket', socket], {
        stdio: ['ignore', full, 'pipe'],
      });
      closeSync(full);
      const err = await text(child.stderr ?? Readable.from([]));
      expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(1);
      expect(err).toMatch(/^siteward: standard output cannot be written: .*ENOSPC.*\n$/);
    },
  );

  test('an export that fails leaves no file', async () => {
    await serve(fakeOutbox(2));
    const file = join(dir, 'parked.jsonl');
    expect((await outbox('export', '1', '77', '--out', file)).code).toBe(66);
    expect(existsSync(file)).toBe(false);
  });
});

test.each([
  [['retry'], 'name the events, or say --all'],
  [['drop', '1', '--all', '--yes'], 'name events or say --all, not both'],
  [['retry', 'x'], 'It must be the number of an event.'],
  [['retry', '0'], 'It must be the number of an event.'],
  [['parked', '1e3'], 'It must be the number of an event.'],
  [['parked', '--limit', '0'], 'It must be 1 to 100000.'],
  [['events', '--lane', 'red'], 'Allowed choices are alarm, arming, trouble, activity.'],
  [['export', '1', '--force'], '--force goes with --out'],
])('outbox %j is wrong usage', async (args, said) => {
  const { code, err } = await outbox(...args);
  expect(code).toBe(2);
  expect(err).toContain(said);
});

test('a verb of outbox that is not there is wrong usage', async () => {
  const { code, err } = await siteward(['outbox', 'nonsense']);
  expect(code).toBe(2);
  expect(err).toContain("'nonsense'");
});

test('without a daemon it is 69', async () => {
  expect((await outbox('show')).code).toBe(69);
});
