import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { siteward } from '../cli/run-cli.ts';
import { launch } from './process.ts';

const main = join(import.meta.dirname, '..', '..', 'src', 'sandbox', 'demo', 'main.ts');

/** Ids of processes that carry this mark in their environment, as their children do. */
function marked(mark: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return (
        readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark) &&
        !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
      );
    } catch {
      return false;
    }
  });
}

/** Runs the story once; returns how it ended and what it left behind. */
async function run(...args: string[]) {
  const mark = `SITEWARD_DEMO_TEST=${process.pid}-${args.join('-')}`;
  const folder = mkdtempSync(join(tmpdir(), 'siteward-demo-test-'));
  const [name = '', value = ''] = mark.split('=');
  const demo = launch(process.execPath, [main, '--once', ...args], { env: { [name]: value, TMPDIR: folder } });
  try {
    const code = await demo.exited;
    const text = [...demo.stdout, ...demo.stderr].join('\n');
    return { code, text, processes: marked(mark), left: readdirSync(folder) };
  } finally {
    await demo.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('npm run demo', () => {
  it('tells the code of its user, lets her disarm, and ends by Ctrl-C with nothing left', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-demo-test-'));
    const mark = `SITEWARD_DEMO_TEST=${process.pid}-stays`;
    const [name = '', value = ''] = mark.split('=');
    const demo = launch(process.execPath, [main], { env: { [name]: value, TMPDIR: folder } });
    try {
      const code = await demo.line('the code', (line) => /her code is (\d+)/.exec(line)?.[1], { timeoutMs: 60_000 });
      const socket = await demo.line('the socket', (line) => /disarm p1 --socket (\S+)/.exec(line)?.[1]);
      await demo.line('the end of the story', (line) => /The site stays up/.exec(line)?.[0], { timeoutMs: 90_000 });
      const at = ['--socket', socket, '--code-stdin'];
      // With her code: the story may have ended with a disarm less than two seconds ago (safety 5).
      expect(await siteward(['arm', 'p1', '--no-exit-delay', ...at], {}, `${code}\n`)).toMatchObject({ code: 0 });
      expect(await siteward(['disarm', 'p1', ...at], {}, `${code}\n`)).toMatchObject({
        code: 0,
        out: 'p1 is disarmed\n',
      });
      demo.signal('SIGINT');
      expect(await demo.exited).toBe(0);
      expect(marked(mark)).toEqual([]);
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      await demo.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  }, 180_000);

  it('ended by Ctrl-C in the middle of its story says so, and leaves nothing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-demo-test-'));
    const mark = `SITEWARD_DEMO_TEST=${process.pid}-broken`;
    const [name = '', value = ''] = mark.split('=');
    const demo = launch(process.execPath, [main], { env: { [name]: value, TMPDIR: folder } });
    try {
      await demo.line('the code', (line) => /her code is (\d+)/.exec(line)?.[1], { timeoutMs: 60_000 });
      demo.signal('SIGINT');
      expect(await demo.exited).toBe(130);
      expect(demo.stdout).toContain('Ended before the story was over.');
      expect(marked(mark)).toEqual([]);
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      await demo.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  }, 120_000);
});

describe('npm run demo -- --once', () => {
  it('tells the whole story, verifies every step and exits with 0, leaving nothing behind', async () => {
    const { code, text, processes, left } = await run();
    expect(text).toContain('Every step was verified.');
    expect(code).toBe(0);
    expect(processes).toEqual([]);
    expect(left).toEqual([]);
    for (const word of ['armed', 'alarm', 'line is cut', 'line is back', 'in the order they happened'])
      expect(text).toContain(word);
  }, 90_000);

  it.each([
    ['delivery', /broke off: .*the alarm/],
    ['media', /broke off: .*picture/],
    ['order', /broke off: .*(arming|order)/],
  ])(
    'with %s broken exits with 1 and names the step, leaving nothing behind',
    async (plant, step) => {
      const { code, text, processes, left } = await run('--plant', plant);
      expect(text).toMatch(step);
      expect(code).toBe(1);
      expect(processes).toEqual([]);
      expect(left).toEqual([]);
    },
    90_000,
  );

  it('with a plant that does not exist exits with 2 and says which there are', async () => {
    const { code, text } = await run('--plant', 'nonsense');
    expect(code).toBe(2);
    expect(text).toContain('delivery, media, order');
  });
});
