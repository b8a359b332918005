import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { clearSecretFolders } from '../../src/daemon/secret-folders.ts';
import { folder } from '../config/fixture.ts';

it('half written passwords are removed beside the configuration and where its secrets lie', async () => {
  const [home, far] = [folder(), folder()];
  const own = join(home, 'secrets');
  mkdirSync(own);
  // No process can have this number.
  for (const place of [own, far]) {
    writeFileSync(join(place, 'camera-yard.99999999.part'), 'secret');
    writeFileSync(join(place, 'camera-yard'), 'secret');
  }
  const text = `cameras: [ { id: yard, password: { file: ${far}/camera-yard } }, { id: x, password: { file: /nowhere/x } } ]`;
  await clearSecretFolders(join(home, 'siteward.yaml'), text);
  for (const place of [own, far]) expect(readdirSync(place)).toEqual(['camera-yard']);
});
