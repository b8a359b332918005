import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Measurement, rounded } from './figure.ts';

const writers = 64;
const delayMs = 20;
const shareGoal = 0.8;
const loopGoalMs = 20;

/** The store on a card that takes 20 ms for each flush. */
export const slowDisk: Measurement = {
  name: 'slow-disk',
  title: `A disk whose fsync takes ${delayMs} ms`,
  about: `${writers} concurrent writers in a process of its own, in which strace makes every fsync and fdatasync take ${delayMs} ms more. The
limit is ${writers} events per fsync, its time measured in the same process.`,
  async run(tell) {
    if (spawnSync('strace', ['-V']).error !== undefined) {
      tell('skipped: needs strace');
      return [{ name: 'skipped, needs strace', value: 0, unit: '' }];
    }
    const dir = mkdtempSync(join(tmpdir(), 'siteward-bench-'));
    try {
      const inject = `inject=fsync,fdatasync:delay_exit=${delayMs * 1000}`;
      const trace = ['-f', '-qq', '--seccomp-bpf', '-o', '/dev/null', '-e', 'trace=fsync,fdatasync', '-e', inject];
      const child = join(import.meta.dirname, 'peer-child.ts');
      const text = execFileSync('strace', [...trace, process.execPath, child, 'slow', dir], {
        encoding: 'utf8',
        timeout: 60_000,
      });
      return figuresOf(JSON.parse(text) as Found);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
};

interface Found {
  readonly syncMs: number;
  readonly perSecond: number;
  readonly acceptMs: number;
  readonly loopMs: number;
}

function figuresOf({ syncMs, perSecond, acceptMs, loopMs }: Found) {
  const limit = (writers / syncMs) * 1000;
  const ratio = Math.round((perSecond / limit) * 1000) / 1000;
  return [
    { name: 'one fsync, median', value: rounded(syncMs), unit: 'ms' },
    {
      name: `store, ${writers} concurrent writers`,
      value: Math.round(perSecond),
      unit: 'events/s',
      ratio,
      goal: `at least ${shareGoal} of ${writers} per fsync`,
      met: ratio >= shareGoal,
    },
    { name: 'from the call to the answer, p99', value: rounded(acceptMs), unit: 'ms' },
    {
      name: 'event loop of the main thread meanwhile, p99',
      value: rounded(loopMs),
      unit: 'ms',
      goal: `under ${loopGoalMs} ms`,
      met: loopMs < loopGoalMs,
    },
  ];
}
