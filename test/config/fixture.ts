import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { checkConfig, formatProblem, loadConfig, type Settings } from '#config/index.ts';
import { secretSources } from '#lib/secret-ref.ts';

export const minimal = `site: { id: "4711", external_id: hq, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: Offices } ]
`;

export const codes = { CODE_A: '1234', CODE_B: '5678', CAM: 'hunter2hunter2' };

/** A folder of this test alone, removed at its end. */
export function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-config-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export function put(text: string, dir = folder()): string {
  const file = join(dir, 'siteward.yaml');
  writeFileSync(file, text);
  return file;
}

export const environment = { sources: secretSources(codes) };

/** The problems of a text as `line:col path: ...`. */
export function problems(text: string): string[] {
  const file = put(text);
  return checkConfig(file, environment).problems.map((one) => formatProblem(one).slice(file.length + 1));
}

export const settings = (text: string): Settings => loadConfig(put(text), environment).settings;
