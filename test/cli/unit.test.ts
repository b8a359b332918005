import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const unit = readFileSync(join(import.meta.dirname, '../../systemd/siteward.service'), 'utf8');

const hasAnalyze = (): boolean => {
  try {
    execFileSync('systemd-analyze', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
/** Debian package systemd; with CI=true it must be there. */
const missing = !process.env.CI && !hasAnalyze();

describe.skipIf(missing)('systemd on the unit (needs systemd-analyze)', () => {
  let dir: string;
  let file: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'siteward-unit-'));
    file = join(dir, 'siteward.service');
    // Where siteward is not installed, systemd would complain about that alone.
    writeFileSync(file, unit.replace(/^ExecStart=.*$/m, 'ExecStart=/bin/true'));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  test('finds nothing wrong with it', () => {
    const said = execFileSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8', stdio: 'pipe' });
    expect(said).toBe('');
  });

  test('rates its exposure at 1.3 or better', () => {
    expect(() =>
      execFileSync('systemd-analyze', ['security', '--offline=true', '--threshold=13', file], { stdio: 'pipe' }),
    ).not.toThrow();
  });
});

test('the unit waits for neither network nor time, and is never given up', () => {
  expect(unit).not.toMatch(/^(Wants|Requires|After)=.*(network-online|time-sync)\.target/m);
  expect(unit).toMatch(/^StartLimitIntervalSec=0$/m);
  expect(unit).toMatch(/^Restart=always$/m);
});

test('what V8 may hold is bounded, its garbage too, so that thousands of events in memory do not end the service', () => {
  const [, old, semi] = /^ExecStart=.* --max-old-space-size=(\d+) --max-semi-space-size=(\d+) /m.exec(unit) ?? [];
  const [, most] = /^MemoryMax=(\d+)M$/m.exec(unit) ?? [];
  expect(Number(semi)).toBeLessThanOrEqual(8);
  expect(2 * Number(old)).toBeLessThanOrEqual(Number(most));
});

test('the boot id stays readable: without it every restart would look like a start of the machine', () => {
  expect(unit).not.toMatch(/^ProcSubset=pid$/m);
});

test('of the system only its own state and the folder of its configuration can be written, for saving over the LAN API', () => {
  expect(unit).toMatch(/^ProtectSystem=strict$/m);
  expect(unit.match(/^ReadWritePaths=.*$/gm)).toEqual(['ReadWritePaths=-/etc/siteward']);
});
