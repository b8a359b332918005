import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeSecretLeftovers, replaceConfigText, writeSecretFile } from '#config/index.ts';
import { folder, put } from './fixture.ts';

const mine = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

test('the new text stands in the place of the old one, with its mode, also behind a link', async () => {
  const file = put('old\n');
  chmodSync(file, 0o640);
  const link = join(folder(), 'link.yaml');
  symlinkSync(file, link);
  await replaceConfigText(link, 'old\n', 'new\n');
  expect(readFileSync(file, 'utf8')).toBe('new\n');
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(readFileSync(link, 'utf8')).toBe('new\n');
  expect(readdirSync(join(file, '..'))).toEqual(['siteward.yaml']);
});

test('a file that somebody else changed meanwhile is left as it is', async () => {
  const file = put('theirs\n');
  const failed = expect(replaceConfigText(file, 'old\n', 'new\n')).rejects;
  await failed.toMatchObject({ code: 'config_changed', message: expect.stringContaining('changed by somebody else') });
  expect(readFileSync(file, 'utf8')).toBe('theirs\n');
  expect(readdirSync(join(file, '..'))).toEqual(['siteward.yaml']);
});

test('a secret is for its owner alone, also in the place of one that was not', async () => {
  const file = join(folder(), 'camera-yard');
  writeFileSync(file, 'old', { mode: 0o644 });
  await writeSecretFile(file, 'Geheim-ü', mine);
  expect(readFileSync(file, 'utf8')).toBe('Geheim-ü\n');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('what killed processes left of passwords goes with the next one, whichever camera it was of', async () => {
  const place = folder();
  const gone = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(gone, 'exit');
  const put = (name: string) => writeFileSync(join(place, name), 'secret');
  const others = ['camera-yard', `camera-alive.${process.pid}.part`, `other.${gone.pid}.part`];
  const left = () => {
    for (const name of [...others, `camera-gate.${gone.pid}.part`, `camera-old.${process.pid}.part`]) put(name);
    utimesSync(join(place, `camera-old.${process.pid}.part`), 0, 0);
  };
  left();
  await writeSecretFile(join(place, 'camera-yard'), 'x', mine);
  expect(readdirSync(place).sort()).toEqual(others.toSorted());
  left();
  await removeSecretLeftovers(place);
  expect(readdirSync(place).sort()).toEqual(others.toSorted());
});

test.skipIf(mine.uid !== 0)('root writes for whom the file belongs to', async () => {
  const { chownSync } = await import('node:fs');
  const file = put('old\n');
  chownSync(file, 4711, 4712);
  await replaceConfigText(file, 'old\n', 'new\n');
  expect(statSync(file)).toMatchObject({ uid: 4711, gid: 4712 });
  const secret = join(folder(), 'secret');
  await writeSecretFile(secret, 'x', { uid: 4711, gid: 4712 });
  expect(statSync(secret)).toMatchObject({ uid: 4711, gid: 4712 });
});

const module = join(import.meta.dirname, '../../src/config/edit-file.ts');

/** A process that replaces the text of `file`, and is killed at a point of it. */
async function killedAt(point: string, file: string): Promise<string | null> {
  const script = `import { replaceConfigText } from ${JSON.stringify(module)}; await replaceConfigText(${JSON.stringify(file)}, 'old\\n', 'new\\n')`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { PATH: process.env.PATH, SITEWARD_CRASH_AT: point },
    stdio: 'ignore',
  });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  return signal;
}

test.each([
  ['file.part', 'old\n'],
  ['file.synced', 'old\n'],
  ['file.renamed', 'new\n'],
  ['file.dirsynced', 'new\n'],
])('killed at %s there is one text, whole, and the next one clears up', async (point, text) => {
  const file = put('old\n');
  expect(await killedAt(point, file)).toBe('SIGKILL');
  expect(readFileSync(file, 'utf8')).toBe(text);
  await replaceConfigText(file, text, 'next\n');
  expect(readFileSync(file, 'utf8')).toBe('next\n');
  expect(readdirSync(join(file, '..'))).toEqual(['siteward.yaml']);
});
