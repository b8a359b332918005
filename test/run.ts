/** `npm test`: packages, lint with the import rule, types, generated files, all tests; one closing line. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runnableBundle } from '../tools/bundle.ts';
import { ensurePackages } from './packages.ts';
import { whyNot } from './system/needs.ts';

interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly message?: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

const bin = (name: string) => join(import.meta.dirname, '..', 'node_modules', '.bin', name);

/** Everything that is not a test, each with its command. A failure counts as one failed test. */
const checks: readonly (readonly [name: string, command: string, args: readonly string[]])[] = [
  ['lint and import rule', bin('biome'), ['check', '--error-on-warnings', '.']],
  ['types', bin('tsc'), ['-p', '.']],
  ['types of the page', bin('tsc'), ['-p', 'src/lan/page']],
  ['generated files in step', process.execPath, ['tools/generate.ts', '--check']],
];

async function main(): Promise<number> {
  const [first, ...others] = process.argv.slice(2);
  if (first === '--system') return runSystem(others);
  const missing = ensurePackages();
  if (missing !== undefined) {
    console.error(missing);
    return 1;
  }
  const failedChecks = checks.filter(([name, command, args]) => {
    console.log(`\n== ${name}`);
    return spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] }).status !== 0;
  });
  const tests = await runVitest(process.argv.slice(2));
  for (const [name] of failedChecks) console.log(`failed: ${name}`);
  const passed = tests.passed + checks.length - failedChecks.length;
  const failed = tests.failed + failedChecks.length;
  console.log(`${passed} passed, ${failed} failed, ${tests.skipped} skipped`);
  return failed === 0 ? 0 : 1;
}

/** `npm run test:system`: what boots machines of its own, for whoever may. */
function runSystem(args: readonly string[]): number {
  const why = whyNot();
  if (why !== undefined) {
    console.log(`the system tests are skipped: ${why}`);
    return 0;
  }
  const config = join(import.meta.dirname, 'system', 'vitest.config.ts');
  return (
    spawnSync(process.execPath, [bin('vitest'), 'run', '--config', config, ...args], { stdio: 'inherit' }).status ?? 1
  );
}

/** A skip is allowed only where the test says that it needs ../shared; in CI any other one is a failure. */
async function runVitest(args: readonly string[]): Promise<{ passed: number; failed: number; skipped: number }> {
  console.log('\n== tests');
  const folder = mkdtempSync(join(tmpdir(), 'siteward-test-'));
  // Sources without their types are kept from one process to the next. Without it each store thread loads the
  // WebAssembly that strips them, and now and then V8 ends a process over that (seen on Node 24.21).
  const cache = join(folder, 'compiled');
  try {
    const file = join(folder, 'report.json');
    // Most tests start processes, and the bundle starts in half the time of the sources.
    const program = await runnableBundle(join(folder, 'bundle'), { crashPoints: true });
    const run = spawnSync(
      process.execPath,
      [bin('vitest'), 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`, ...args],
      {
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...process.env, TZ: 'Asia/Kolkata', NODE_COMPILE_CACHE: cache, SITEWARD_PROGRAM: program },
      },
    );
    const report = JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
    const cases = report.testResults.flatMap((suite) => suite.assertionResults);
    const passed = cases.filter((test) => test.status === 'passed').length;
    const skipped = cases.filter((test) => !['passed', 'failed'].includes(test.status));
    let failed = cases.filter((test) => test.status === 'failed').length;
    // Once more, and short: of a long log only the end may be kept.
    for (const { fullName, failureMessages } of cases.filter((test) => test.status === 'failed'))
      console.log(`failed: ${fullName}: ${(failureMessages?.[0] ?? '').slice(0, 300)}`);
    for (const suite of report.testResults) {
      if (suite.status === 'failed' && !suite.assertionResults.some((test) => test.status === 'failed')) failed += 1;
    }
    const unexplained = skipped.filter((test) => !test.fullName.includes('../shared'));
    if (process.env.CI === 'true' && unexplained.length > 0) {
      for (const test of unexplained) console.log(`skipped without ../shared as the reason: ${test.fullName}`);
      failed += unexplained.length;
    }
    if (run.status !== 0 && failed === 0) failed = 1;
    return { passed, failed, skipped: skipped.length };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
