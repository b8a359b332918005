import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '#sandbox/demo/processes.ts';
import { withFile } from '../site/store/helpers.ts';
import type { Rig } from './rig.ts';

/** Silent alarms on disk. The running daemon lets nobody read its files, so a copy is read, which may be torn. */
export function silentIn(site: Rig): number {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-silent-'));
  try {
    for (const name of ['site.db', 'site.db-wal']) {
      const path = join(site.folder, 'state', name);
      if (existsSync(path)) copyFileSync(path, join(dir, name));
    }
    const sql = `SELECT count(*) FROM ev WHERE silent AND event LIKE '%"status":"active"%'`;
    return withFile(join(dir, 'site.db'), (db) => Number(db.prepare(sql).pluck().get()));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Somebody presses the hold-up button, the contact `button`, and it is on disk as the nth silent alarm. */
export async function pressButton(site: Rig, nth: number): Promise<void> {
  await site.lan.publish('zigbee2mqtt/button', '{"contact":false}');
  await eventually(`silent alarm ${nth} on disk`, () => (silentIn(site) >= nth ? true : undefined));
  await site.lan.publish('zigbee2mqtt/button', '{"contact":true}');
}
