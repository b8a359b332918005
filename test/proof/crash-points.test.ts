import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CrashPoint, crashPoints } from '#lib/crash-point.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { type CrashSite, startCrashSite } from './durable/crash-site.ts';
import { uploadedIn } from './durable/record.ts';

/** The daemon ends at every step of its durable work, once at each. */
const salvage = ['salvage.aside', 'salvage.begun', 'salvage.slice'] as const satisfies readonly CrashPoint[];
/** In `crash-parked.test.ts`. */
const parked = ['park.decided', 'retry.rows'] as const satisfies readonly CrashPoint[];
/** In `test/proof/verification.test.ts`. */
const answers: readonly CrashPoint[] = ['answer.before', 'answer.after'];
/** In `spool-crash.test.ts`. */
const clips: readonly CrashPoint[] = ['clip.part', 'clip.synced', 'clip.renamed', 'clip.dirsynced'];
/** In `factory-reset.test.ts` and `restore-crash.test.ts`. */
const resets: readonly CrashPoint[] = crashPoints.filter((name) => /^(reset|restore)\./.test(name));
const elsewhere: ReadonlySet<CrashPoint> = new Set([...salvage, ...parked, ...answers, ...clips, ...resets]);
/** The first file a start writes is the last good configuration; the second is a picture. */
const nth = (name: CrashPoint): number => (name.startsWith('file.') ? 2 : 1);

let site: CrashSite;
beforeAll(async () => {
  site = await startCrashSite();
});
afterAll(() => site?.close());

describe('a daemon that ends', { timeout: 90_000 }, () => {
  it.each(crashPoints.filter((name) => !elsewhere.has(name)))('at %s comes back, whatever it left', async (name) => {
    await site.runInto(name, { busy: site.burglary, nth: nth(name) });
  });

  it('has lost nothing it had shown after all of that, and repeats no event with other contents', {
    timeout: 120_000,
  }, async () => {
    await site.daemon.restart();
    await site.burglary();
    await site.nothingIsLost();
    const uploads = await site.cloud.uploads();
    process.stdout.write(
      `${site.lan.events.length} events shown, ${(await site.cloud.events()).length} in the cloud, ${uploads.length} pictures\n`,
    );
    expect(uploads.length).toBeGreaterThan(3);
    await site.daemon.stop();
    const contents = uploads.map(({ event_id, sha256 }) => `${event_id} ${sha256}`);
    const onRecord = uploadedIn(join(site.folder, 'state'));
    expect(onRecord.length).toBeGreaterThan(0);
    expect(onRecord.filter((one) => !contents.includes(one))).toEqual([]);
  });

  it.each(salvage)('at %s still brings back what a damaged file held', { timeout: 90_000 }, async (name) => {
    await site.daemon.restart();
    await site.nothingIsLost();
    await site.line.cut();
    const alarms = () => site.lan.events.filter(({ event }) => event.class === 'alarm').length;
    const before = alarms();
    await eventually('an alarm that waits', async () => {
      await site.burglary();
      return alarms() > before ? true : undefined;
    });
    await site.daemon.stop();
    spoilHeader(join(site.folder, 'state', 'site.db'));
    await site.runInto(name, { busy: () => pause(100) });
    await site.line.restore();
    await site.daemon.restart();
    await site.nothingIsLost();
  });
});

/** A file that is no database any more; all else in it is as it was. */
function spoilHeader(path: string): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(16, 0xff), 0, 16, 0);
  closeSync(file);
}
