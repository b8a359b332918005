import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { filesAnswer } from '#daemon/files-answer.ts';

const folder = mkdtempSync(join(tmpdir(), 'siteward-answer-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function config(text: string): string {
  const path = join(folder, 'siteward.yaml');
  writeFileSync(path, text);
  return path;
}

it('looks at every file and folder a reload will read', async () => {
  const seen: string[] = [];
  const path = config(`cloud: { events: { private_key: { file: /keys/event } } }
mqtt: { ca: /keys/ca.pem, clients: [ { password: { file: /keys/client } } ] }
users: [ { code: { env: CODE } }, { code: { file: relative } } ]
`);
  await filesAnswer(path, ['/profiles'], { look: async (file) => void seen.push(file) });
  expect(seen.sort()).toEqual(['/keys/ca.pem', '/keys/client', '/keys/event', '/profiles']);
});

it('refuses when a disk does not answer', async () => {
  const path = config('mqtt: { ca: /hung/ca.pem }');
  const hangs = (file: string) => (file === '/hung/ca.pem' ? new Promise(() => {}) : Promise.resolve());
  await expect(filesAnswer(path, [], { deadlineMs: 20, look: hangs })).rejects.toMatchObject({
    code: 'deadline',
    message: expect.stringContaining('siteward.yaml'),
  });
});

it.each([
  ['missing', () => join(folder, 'nowhere.yaml')],
  ['not YAML', () => config('a: [\n - {')],
  ['refers to itself', () => config('a: &a { file: /x, b: *a }')],
  [
    'a FIFO',
    () => {
      const path = join(folder, 'fifo.yaml');
      execFileSync('mkfifo', [path]);
      return path;
    },
  ],
])('leaves a configuration that is %s to the reload', async (_, path) => {
  await expect(filesAnswer(path(), [join(folder, 'none')])).resolves.toBeUndefined();
});
