import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { mustLetIn } from '#config/index.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-secrets-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('refuses a folder that does not let the user of the daemon in, with what to do', async () => {
  const { uid, gid } = statSync(folder);
  const other = { uid: uid + 4711, gid: gid + 4711 };
  const refused = {
    code: 'file_unusable',
    message: expect.stringContaining(`chown ${other.uid}:${other.gid} ${folder}`),
  };
  chmodSync(folder, 0o700);
  await expect(mustLetIn(folder, other)).rejects.toMatchObject(refused);
  chmodSync(folder, 0o750);
  await expect(mustLetIn(folder, other)).rejects.toMatchObject(refused);
  await expect(mustLetIn(folder, { ...other, gid })).resolves.toBeUndefined();
  await expect(mustLetIn(folder, { uid: uid + 4711, gid: gid + 1 })).rejects.toMatchObject({ code: 'file_unusable' });
  chmodSync(folder, 0o711);
  await expect(mustLetIn(folder, other)).resolves.toBeUndefined();
  await expect(mustLetIn(join(folder, 'none'), other)).resolves.toBeUndefined();
});
