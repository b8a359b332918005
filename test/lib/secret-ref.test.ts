import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isCode } from '#errors.ts';
import { resolveSecret, SecretRef, secretRef, secretSources } from '#lib/secret-ref.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-secret-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function put(name: string, text: string, mode: number): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const failure = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('a reference to a secret', () => {
  test('is read from a private file, without the line end', () => {
    const path = put('private', 'hunter2hunter2\n', 0o600);
    expect(resolveSecret(secretRef.parse({ file: path }), secretSources({})).reveal()).toBe('hunter2hunter2');
  });

  test('is read from the credentials directory whatever the mode of the file', () => {
    mkdirSync(join(dir, 'credentials'), { recursive: true });
    put('credentials/event-key', 'key text', 0o444);
    const sources = secretSources({ CREDENTIALS_DIRECTORY: join(dir, 'credentials') });
    expect(resolveSecret(secretRef.parse({ credential: 'event-key' }), sources).reveal()).toBe('key text');
  });

  test('is read from an environment variable', () => {
    expect(resolveSecret(secretRef.parse({ env: 'API_KEY' }), secretSources({ API_KEY: 'k' })).reveal()).toBe('k');
  });

  test('to a file that the group may read is read with a warning', () => {
    const path = put('group', 'hunter2hunter2', 0o640);
    const warnings: string[] = [];
    resolveSecret(secretRef.parse({ file: path }), { ...secretSources({}), warn: (text) => warnings.push(text) });
    expect(warnings).toEqual([`file ${path}: other users may use the file; run "chmod 600 ${path}"`]);
  });

  test.each([
    [
      'a file everyone may read',
      () => new SecretRef('file', put('world', 'hunter2hunter2', 0o644)),
      'everyone may use',
    ],
    ['a missing file', () => new SecretRef('file', join(dir, 'absent')), 'there is no such file'],
    ['an empty file', () => new SecretRef('file', put('empty', '\n', 0o600)), 'it is empty'],
    ['a directory', () => new SecretRef('file', dir), 'it is not a regular file'],
    ['a huge file', () => new SecretRef('file', put('huge', 'x'.repeat(70_000), 0o600)), 'larger than'],
    ['a variable that is not set', () => new SecretRef('env', 'NO_SUCH'), 'not set'],
    ['a credential outside systemd', () => new SecretRef('credential', 'event-key'), 'no credentials directory'],
  ])('to %s fails with secret_unreadable and what to do', (_name, ref, reason) => {
    const error = failure(() => resolveSecret(ref(), secretSources({})));
    expect(isCode(error, 'secret_unreadable')).toBe(true);
    expect(String(error)).toContain(reason);
    expect(inspect(error)).not.toContain('hunter2');
  });

  test.each([
    ['the secret itself', 'hunter2'],
    ['two places at once', { file: '/a', env: 'B' }],
    ['an unknown place', { vault: 'hunter2' }],
    ['a relative path', { file: 'secrets/a' }],
    ['a credential with a path in it', { credential: '../hunter2' }],
  ])('is refused when it is %s, without repeating it', (_name, value) => {
    const result = secretRef.safeParse(value);
    expect(result.success).toBe(false);
    expect(result.error?.issues).toHaveLength(1);
    expect(result.error?.issues[0]?.message).toMatch(/^must (say where the secret lies|be )/);
    expect(result.error?.issues[0]?.message).not.toContain('hunter2');
  });
});
