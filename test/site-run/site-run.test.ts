import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { faketime, whyNoFaketime } from '../harness/wall-clock.ts';
import { type Flatness, gauges } from './flat.ts';
import { noSlowBox } from './slow-box.ts';

const whyNoSlowBox = noSlowBox() === undefined ? '' : ` (${noSlowBox()})`;

/** What `npm run site` runs, as a process. */
async function site(...args: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await once(child, 'exit');
  const [out, told] = await said;
  return { code, out, told };
}

const short = ['--minutes', '0.4', '--json'] as const;

describe.skipIf(faketime === undefined)(`the whole site${whyNoFaketime}`, () => {
  it('lives through kills, cuts and wrong clocks, and its record in the cloud is what was done there', {
    timeout: 600_000,
  }, async () => {
    const { code, out, told } = await site(...short, '--seed', '4');
    expect(code, `${told}\n${out}`).toBe(0);
    process.stdout.write(out);
    const { deeds, events, alarms, faults, pictures } = JSON.parse(out);
    // So much happens on the slowest machine: each partition lives one round.
    for (const count of [deeds, events]) expect(count).toBeGreaterThan(15);
    for (const count of [alarms, pictures.arrived, Object.keys(faults).length]) expect(count).toBeGreaterThan(0);
  });

  it.skipIf(noSlowBox() !== undefined)(
    `looks at the process, its metrics and its files meanwhile${whyNoSlowBox}`,
    {
      timeout: 600_000,
    },
    async () => {
      const { code, out, told } = await site('--minutes', '0.8', '--seed', '2', '--json', '--soak', '--slow');
      const { violations, watched } = JSON.parse(out);
      expect(violations, told).toEqual([]);
      const rows = watched.rows as Flatness[];
      expect(rows.map(({ gauge }) => gauge)).toEqual(gauges.map(({ name }) => name));
      const shown = rows.filter(({ highest }) => highest > 0).map(({ gauge }) => gauge);
      expect(shown).toEqual(
        expect.arrayContaining(['RSS', 'heap used', 'file descriptors', 'timers', 'databases', 'WAL']),
      );
      // So short a run is still filling up: what it says of that is its exit code.
      expect(code, told).toBe(rows.every(({ isFlat }) => isFlat) ? 0 : 1);
      expect(told).toMatch(/siteward, process \d+: RSS \d/);
    },
  );

  it('says what is wrong, keeps the run and ends with 1 where the line swallows pictures', {
    timeout: 600_000,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-planted-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const { code, out, told } = await site(...short, '--seed', '1', '--plant', 'media', '--keep', folder);
    expect(code, told).toBe(1);
    const found = (JSON.parse(out).violations as { wrong: string; text: string }[]).map(({ wrong }) => wrong);
    expect(found).toContain('picture');
    expect(told).toContain('repeat with: npm run site -- --minutes 0.4 --seed 1 --plant media\n');
    expect(told).toContain(`kept in ${join(folder, '1')}\n`);
    expect(readdirSync(join(folder, '1'))).toEqual(
      expect.arrayContaining(['siteward.log', 'history.json', 'record.json']),
    );
  });
});
