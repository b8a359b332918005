import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { build } from 'esbuild';
import { lanes } from '#site/model/index.ts';
import { openDatabase } from '../src/site/store/sqlite.ts';
import { withBundle } from './bundle.ts';
import { type Figure, type Measurement, rounded } from './figure.ts';
import { memoryOf } from './machine.ts';

const events = 1_000_000;
const bodyBytes = 300;
const acceptGoalMs = 3000;
const rssGoalMib = 150;

/** A start on a long backlog. */
export const million: Measurement = {
  name: 'million',
  title: 'Start with 1,000,000 waiting events',
  about: `A process with the store alone, from the bundle (what is installed), starts on ${events / 2} waiting alarms in \`site.db\` and as many activity events in \`bulk.db\`
(${bodyBytes} bytes of body each). Time from \`start\` to the first durable commit of a new alarm, and the process's resident memory 2 s later,
while the background still reads the files.`,
  async run(tell) {
    const dir = mkdtempSync(join(tmpdir(), 'siteward-bench-'));
    try {
      tell('writing the backlog');
      for (const file of ['site', 'bulk'] as const) fill(dir, file);
      const mib = (statSync(join(dir, 'site.db')).size + statSync(join(dir, 'bulk.db')).size) / 1024 ** 2;
      tell('starting');
      const { acceptMs, rss } = await withBundle(async (program) => started(dir, await childBeside(program)));
      return [
        { name: 'both files', value: rounded(mib), unit: 'MiB' },
        {
          name: 'start to the first durable alarm',
          value: rounded(acceptMs),
          unit: 'ms',
          goal: `at most ${acceptGoalMs} ms`,
          met: acceptMs <= acceptGoalMs,
        },
        { name: 'RSS', value: rounded(rss), unit: 'MiB', goal: `below ${rssGoalMib} MiB`, met: rss < rssGoalMib },
      ] satisfies Figure[];
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
};

function fill(dir: string, file: 'site' | 'bulk'): void {
  const db = openDatabase({ path: join(dir, `${file}.db`), file, maxBytes: 4 * 1024 ** 3 });
  db.pragma('synchronous = OFF');
  const lane = file === 'site' ? 0 : lanes.indexOf('activity');
  const first = file === 'site' ? 1 : events / 2 + 1;
  const event = db.prepare(
    `INSERT INTO ev(seq, lane, eid, okey, mono, wall, boot, clock, crc, class, part, body, event, silent)
     VALUES(?, ?, ?, ?, ?, ?, 'boot', 'synced', ?, 'alarm', 'p1', ?, '{}', 0)`,
  );
  const pending = db.prepare('INSERT INTO pend(lane, seq, okey, silent) VALUES(?, ?, ?, 0)');
  const some = db.transaction((from: number, to: number) => {
    for (let seq = from; seq < to; seq += 1) {
      const eventId = `00000000-0000-8000-8000-${String(seq).padStart(12, '0')}`;
      const body = JSON.stringify({ event_id: eventId, pad: '' }).padEnd(bodyBytes, ' ');
      event.run(seq, lane, eventId, `p${seq % 8}`, seq, 1_795_896_000_000 + seq, crc32(body), body);
      pending.run(lane, seq, `p${seq % 8}`);
    }
  });
  for (let from = first; from < first + events / 2; from += 10_000) some(from, from + 10_000);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

/** Bundles `million-child.ts` into the folder of the program, where its store thread lies too. */
async function childBeside(program: string): Promise<string> {
  const outfile = join(dirname(program), 'million.js');
  await build({
    entryPoints: [join(import.meta.dirname, 'million-child.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    external: ['better-sqlite3'],
    banner: { js: "import { createRequire as make } from 'node:module'; const require = make(import.meta.url);" },
    logLevel: 'warning',
  });
  return outfile;
}

/** Runs the child, which prints the milliseconds until its first commit and then waits. */
async function started(dir: string, script: string): Promise<{ acceptMs: number; rss: number }> {
  const child = spawn(process.execPath, [script, dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const text = await new Promise<string>((resolve, reject) => {
      child.stdout.once('data', (data: Buffer) => resolve(data.toString()));
      child.once('exit', (code) => reject(new Error(`the store's process ended with ${code}`)));
    });
    await new Promise((resolve) => setTimeout(resolve, 2000));
    return { acceptMs: Number(text), rss: memoryOf(child.pid ?? 0).rss };
  } finally {
    child.kill('SIGKILL');
  }
}
