import { expect, test } from 'vitest';
import { SitewardError } from '#errors.ts';
import { createLog } from '#lib/log.ts';
import { redactor, Secret } from '#lib/secret.ts';

function capture() {
  const lines: string[] = [];
  const known = redactor();
  const log = createLog({ level: 'debug', redactor: known, destination: { write: (line) => void lines.push(line) } });
  return { log, known, text: () => lines.join(''), line: () => JSON.parse(lines.at(-1) ?? '') };
}

test('a line is one JSON object with level, ISO time and message', () => {
  const { log, line, text } = capture();
  log.info({ camera: 'yard' }, 'camera is back');
  expect(line()).toMatchObject({ level: 'info', camera: 'yard', msg: 'camera is back' });
  expect(line().time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(text()).toMatch(/\}\n$/);
});

test('a known secret is blanked by value in the message, in nested objects, arrays, keys and child bindings', () => {
  const { log, known, text } = capture();
  known.add(new Secret('hunter2"\\quoted'));
  const leak = 'see hunter2"\\quoted here';
  log.warn({ a: { b: [{ c: leak }] }, [leak]: 1 }, leak);
  log.child({ bound: leak }).info('from the child');
  expect(text()).not.toContain('hunter2');
  expect(text()).toContain('[secret]');
});

test('a known secret is blanked in the messages, facts and stack of an error and of its causes', () => {
  const { log, known, text, line } = capture();
  known.add(new Secret('hunter2hunter2'));
  const cause = new Error('connect rtsp://siteward:hunter2hunter2@192.0.2.1 failed');
  const error = new SitewardError('camera_unreachable', 'no hunter2hunter2', {
    facts: { url: 'http://u:hunter2hunter2@192.0.2.1' },
    cause,
  });
  log.error({ err: error }, 'camera lost');
  expect(text()).not.toContain('hunter2');
  expect(line().err).toMatchObject({ error_code: 'camera_unreachable', cause: { type: 'Error' } });
});

test('an error given as the only argument keeps its code, facts and causes', () => {
  const { log, line } = capture();
  log.error(
    new SitewardError('deadline', 'too late', {
      facts: { ms: 5 },
      cause: Object.assign(new Error('x'), { code: 'EPIPE' }),
    }),
  );
  expect(line()).toMatchObject({
    msg: 'too late',
    err: { error_code: 'deadline', facts: { ms: 5 }, cause: { error_code: 'EPIPE', message: 'x' } },
  });
});

test.each(['code', 'disarm_code', 'pin', 'password', 'accessToken', 'client_assertion', 'clientSecret', 'PASSWORD'])(
  'a member called %s is blanked whatever it holds',
  (key) => {
    const { log, line } = capture();
    log.info({ body: { [key]: '1234', other: 'kept' } }, 'x');
    expect(line().body).toEqual({ [key]: '[secret]', other: 'kept' });
  },
);

test.each(['status_code', 'exitCode', 'mapping', 'pinned_at', 'opcode'])('a member called %s is kept', (key) => {
  const { log, line } = capture();
  log.info({ [key]: 7 }, 'x');
  expect(line()[key]).toBe(7);
});

test('a Secret object never shows its text', () => {
  const { log, text } = capture();
  log.info({ it: new Secret('hunter2') }, 'x');
  expect(text()).not.toContain('hunter2');
});
