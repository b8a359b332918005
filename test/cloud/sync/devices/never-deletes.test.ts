import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const room = join(import.meta.dirname, '..', '..', '..', '..', 'src', 'cloud', 'sync', 'devices');

test('the reconciliation has no call that deletes, nor one that sends any operation', () => {
  const files = readdirSync(room);
  expect(files).toContain('write.ts');
  const calling = files.filter((name) =>
    /deleteDevices|bulk-delete|DELETE|\bperform\b/.test(readFileSync(join(room, name), 'utf8')),
  );
  expect(calling).toEqual([]);
});
