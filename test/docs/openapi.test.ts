import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { cloudOperations } from '#cloud/contract/index.ts';
import { openApiProblems } from '../lib/contract/openapi-meta.ts';

const root = join(import.meta.dirname, '../..');
const documents = ['docs/openapi/cloud.yaml', 'docs/openapi/sandbox.yaml'] as const;

interface Report {
  readonly totals: { readonly errors: number; readonly warnings: number; readonly ignored: number };
  readonly problems: readonly { readonly ruleId: string; readonly message: string }[];
}

/** Runs the linter as a user would, with the rules of `redocly.yaml`. It asks nobody on the network. */
function lint(file: string): Promise<Report> {
  const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' };
  const args = [join(root, 'node_modules/.bin/redocly'), 'lint', '--format=json', file];
  const options = { cwd: root, env: { PATH: process.env.PATH, ...quiet }, timeout: 60_000 };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (_, out, err) => {
      try {
        resolve(JSON.parse(out) as Report);
      } catch {
        reject(new Error(`the linter said: ${err}`));
      }
    });
  });
}

test.each([...documents, 'docs/openapi/lan.yaml'])('%s lints clean', async (path) => {
  const { totals, problems } = await lint(path);
  expect(problems).toEqual([]);
  expect(totals).toMatchObject({ errors: 0, warnings: 0, ignored: 0 });
});

test('the linter finds a planted mistake', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-openapi-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const document = parse(readFileSync(join(root, documents[0]), 'utf8'));
  delete document.info.license;
  const file = join(dir, 'cloud.yaml');
  writeFileSync(file, stringify(document));
  expect((await lint(file)).problems.map(({ ruleId }) => ruleId)).toEqual(['info-license']);
});

test.each(documents)('%s has every operation of the contract', (path) => {
  const document = parse(readFileSync(join(root, path), 'utf8'));
  const described = Object.entries<Record<string, object>>(document.paths).flatMap(([place, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${place}`),
  );
  for (const { method, path: place } of Object.values(cloudOperations))
    expect(described).toContain(`${method} ${place}`);
  expect(described.some((one) => one.includes('/__sandbox/'))).toBe(path.endsWith('sandbox.yaml'));
});

test.each(documents)('%s refers only to what it holds, and its schemas are schemas', (path) => {
  const { info, paths, servers: _, ...document } = parse(readFileSync(join(root, path), 'utf8'));
  const { license: __, ...rest } = info;
  // The hand-written shape knows neither licences nor addresses of single operations; the linter does.
  for (const item of Object.values<Record<string, { servers?: unknown }>>(paths)) {
    for (const one of Object.values(item)) delete one.servers;
  }
  expect(openApiProblems({ ...document, info: rest, paths })).toEqual([]);
});
