import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeDurably } from '#lib/durable-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-durable-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('puts a new content in the place of the old one, for this user only', async () => {
  const path = join(folder, 'copy');
  writeFileSync(path, 'an older and longer text', { mode: 0o644 });
  await writeDurably(path, 'new');
  expect(readFileSync(path, 'utf8')).toBe('new');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['copy']);
});

it('writes over what a crash has left, whatever its mode', async () => {
  const path = join(folder, 'copy');
  writeFileSync(`${path}.part`, 'half', { mode: 0o644 });
  await writeDurably(path, Buffer.from('whole'));
  expect(readFileSync(path, 'utf8')).toBe('whole');
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('leaves nothing behind where it fails', async () => {
  const path = join(folder, 'taken');
  mkdirSync(path);
  await expect(writeDurably(path, 'text')).rejects.toMatchObject({ code: 'EISDIR' });
  expect(readdirSync(folder)).toEqual(['taken']);
});
