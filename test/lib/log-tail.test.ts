import { expect, test } from 'vitest';
import { createLog } from '#lib/log.ts';
import { logTail } from '#lib/log-tail.ts';
import { redactor, Secret } from '#lib/secret.ts';

const line = (text: string, level = 'info', part?: string) => ({ text, level, part });
const texts = (page: { items: readonly { text: string }[] }) => page.items.map(({ text }) => text);

function tailOf(count: number, bounds = { maxLines: 5, maxBytes: 10_000 }) {
  const tail = logTail(bounds);
  for (let n = 1; n <= count; n += 1) tail.add(line(`line ${n}`, n % 2 === 0 ? 'debug' : 'warn', `part${n % 3}`));
  return tail;
}

test('the newest lines are kept, oldest first; the others give way and are counted', () => {
  const tail = tailOf(23);
  expect(texts(tail.read({ limit: 10 }))).toEqual([19, 20, 21, 22, 23].map((n) => `line ${n}`));
  expect(texts(tail.read({ limit: 2 }))).toEqual(['line 22', 'line 23']);
  expect(tail).toMatchObject({ lines: 5, forgotten: 18 });
});

test('what came since is read on from one page to the next, and what was missed is said', () => {
  const tail = tailOf(7);
  const first = tail.read({ limit: 2, after: 0 });
  expect(first).toMatchObject({ nextAfter: 4, missed: 2 });
  expect(texts(first)).toEqual(['line 3', 'line 4']);
  const second = tail.read({ limit: 2, after: first.nextAfter });
  expect(texts(second)).toEqual(['line 5', 'line 6']);
  expect(second.missed).toBe(0);
  expect(texts(tail.read({ limit: 2, after: second.nextAfter }))).toEqual(['line 7']);
  expect(tail.read({ limit: 2, after: 7 })).toEqual({ items: [], nextAfter: 7, missed: 0 });
});

test('a page of some lines goes on behind those that it left out', () => {
  const tail = tailOf(7);
  const page = tail.read({ limit: 10, after: 0, level: 'warn' });
  expect(texts(page)).toEqual(['line 3', 'line 5', 'line 7']);
  expect(page.nextAfter).toBe(7);
  expect(texts(tail.read({ limit: 1, part: 'part0' }))).toEqual(['line 6']);
});

test('an "after" of an earlier life of the process reads from the beginning', () => {
  expect(texts(tailOf(3).read({ limit: 10, after: 900 }))).toEqual(['line 1', 'line 2', 'line 3']);
});

test('no more bytes are kept than the bound, whatever the lines hold', () => {
  const tail = logTail({ maxLines: 2000, maxBytes: 300_000 });
  for (let n = 0; n < 200; n += 1) tail.add(line(JSON.stringify({ level: 'info', n, msg: 'ä'.repeat(5000) })));
  expect(tail.bytes).toBeLessThanOrEqual(300_000);
  expect(tail.lines).toBeGreaterThan(20);
});

test('a line that is too long is kept as its beginning, and is JSON still', () => {
  const tail = logTail({ maxLines: 5, maxBytes: 1_000_000 });
  const log = createLog({
    level: 'info',
    redactor: redactor(),
    destination: { write: () => undefined },
    onLine: tail.add,
  });
  log.info({ part: 'cameras', many: Array.from({ length: 20 }, () => 'x'.repeat(8000)) }, 'a long "story"');
  const [kept] = tail.read({ limit: 1 }).items;
  expect(JSON.parse(kept?.text ?? '')).toMatchObject({ part: 'cameras', msg: 'a long "story"', shortened: true });
  expect(kept?.text.length).toBeLessThan(1000);
});

test('lines are taken as they left the redactor', () => {
  const known = redactor();
  known.add(new Secret('hunter2hunter2'));
  const tail = logTail({ maxLines: 5, maxBytes: 10_000 });
  const log = createLog({ level: 'trace', redactor: known, destination: { write: () => undefined }, onLine: tail.add });
  log.child({ part: 'mqtt' }).trace({ password: 'abc', url: 'mqtt://u:hunter2hunter2@h' }, 'with hunter2hunter2');
  const [kept] = tail.read({ limit: 1 }).items;
  expect(kept).toMatchObject({ level: 'trace', part: 'mqtt' });
  expect(kept?.text).not.toMatch(/hunter2|abc/);
});
