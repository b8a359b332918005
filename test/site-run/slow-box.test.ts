import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startProcess } from '#sandbox/demo/processes.ts';
import { noSlowBox, slowBox } from './slow-box.ts';

const why = noSlowBox();

const measure = `
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
const file = openSync(process.argv[2], 'w');
const times = Array.from({ length: 5 }, () => {
  const from = performance.now();
  writeSync(file, 'x');
  fsyncSync(file);
  return performance.now() - from;
});
const from = performance.now();
const before = process.cpuUsage();
while (performance.now() - from < 3000);
const { user, system } = process.cpuUsage(before);
const share = (user + system) / 1000 / (performance.now() - from);
console.log(JSON.stringify({ fastest: Math.min(...times), share, groups: readFileSync('/proc/self/cgroup', 'utf8') }));
setInterval(() => undefined, 1000);
`;

it.skipIf(why !== undefined)(
  `has a quarter of a core and a disk that takes 20 ms more, and signals reach what runs there${why === undefined ? '' : ` (${why})`}`,
  { timeout: 60_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-slow-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const script = join(folder, 'measure.mjs');
    writeFileSync(script, measure);
    const box = slowBox();
    onTestFinished(box.remove);
    const running = startProcess({ name: 'measure', args: [script, join(folder, 'file')], under: box.under });
    onTestFinished(running.stop);
    const line = await running.until((text) => (text.startsWith('{') ? text : undefined), 'measured');
    const { fastest, share, groups } = JSON.parse(line);
    expect(groups).toContain(`siteward-slow-${process.pid}`);
    expect(fastest).toBeGreaterThan(20);
    expect(share).toBeLessThan(0.35);
    expect(existsSync(`/proc/${running.pid}`)).toBe(true);
    await running.kill();
    expect(existsSync(`/proc/${running.pid}`)).toBe(false);
  },
);
