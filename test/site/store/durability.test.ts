import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startStore, temporaryDir, withFile } from './helpers.ts';

const child = fileURLToPath(new URL('./crash-child.ts', import.meta.url));
const hasStrace = spawnSync('strace', ['-V']).status === 0;

/** Runs the child until it has printed `lines` lines after its pid, kills it and gives all it had printed. */
async function runUntil(command: string, args: string[], lines: number): Promise<string[]> {
  const running = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(running, 'exit');
  const printed: string[] = [];
  for await (const line of createInterface({ input: running.stdout })) {
    printed.push(line);
    // The child's own pid: under strace it is not the one that was spawned.
    if (printed.length === lines + 1) process.kill(Number(printed[0]?.replace('pid ', '')), 'SIGKILL');
  }
  await exited;
  return printed;
}

const rowsOf = (dir: string, name: string) =>
  new Set(withFile(join(dir, name), (db) => db.prepare('SELECT seq FROM ev').pluck().all() as number[]));

describe('an acknowledged commit', () => {
  it('is there after kill -9, in 20 rounds at different moments', async () => {
    const dir = temporaryDir();
    const acked = { alarm: new Set<number>(), activity: new Set<number>() };
    let state = 0;
    for (let round = 0; round < 20; round += 1) {
      for (const line of await runUntil(process.execPath, [child, dir], 1 + round * 17)) {
        const match = /^(alarm|activity) (\d+)$/.exec(line);
        // The last line may be cut by the kill.
        if (match === null) continue;
        const seq = Number(match[2]);
        const lane = match[1] as 'alarm' | 'activity';
        expect(acked[lane].has(seq), `seq ${seq} was given twice`).toBe(false);
        acked[lane].add(seq);
        state = Math.max(state, seq);
      }
    }
    const store = await startStore(dir);
    expect(store.recovery()).toMatchObject({ epoch: 1, lost: false });
    expect(JSON.parse(store.recovery().state ?? '{}').seq).toBeGreaterThanOrEqual(state);
    await store.stop();
    expect(acked.alarm.size).toBeGreaterThan(1000);
    expect([...acked.alarm].filter((seq) => !rowsOf(dir, 'site.db').has(seq))).toEqual([]);
    expect([...acked.activity].filter((seq) => !rowsOf(dir, 'bulk.db').has(seq))).toEqual([]);
  }, 120_000);

  it.skipIf(!hasStrace)(
    'was synced to the disk between the write of its row and the answer (needs strace)',
    async () => {
      const dir = temporaryDir();
      const trace = join(dir, 'trace');
      const flags = ['-f', '-qq', '-y', '-s', '64', '-o', trace, '-e', 'trace=fsync,fdatasync,write,pwrite64'];
      await runUntil('strace', [...flags, process.execPath, child, dir, '20', '1'], 24);

      // One caller: between two answers there is one commit, and what is written last must be synced.

      let walWritten = false;
      let synced = 0;
      const unsynced: string[] = [];
      let checked = 0;
      for (const line of readFileSync(trace, 'utf8').split('\n')) {
        if (/pwrite64\(\d+<[^>]*site\.db-wal>/.test(line)) [walWritten, synced] = [true, 0];
        else if (/(fsync|fdatasync)\(\d+<[^>]*site\.db-wal>/.test(line) || /resumed>.*= 0$/.test(line)) synced += 1;
        else if (/write\(1<[^>]*>, "alarm \d+\\n"/.test(line)) {
          checked += 1;
          if (walWritten && synced === 0) unsynced.push(line);
        }
      }
      expect(walWritten).toBe(true);
      expect(checked).toBeGreaterThan(5);
      expect(unsynced).toEqual([]);
    },
    60_000,
  );
});
