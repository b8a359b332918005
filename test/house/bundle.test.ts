import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'undici';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { crashPoints } from '#lib/crash-point.ts';
import { startProcess } from '#sandbox/demo/processes.ts';
import { type Bundle, makeBundle } from '../../tools/bundle.ts';

const root = join(import.meta.dirname, '..', '..');

describe('the bundle, in a folder with nothing beside it but better-sqlite3', () => {
  let folder: string;
  let bundle: Bundle;
  const program = () => join(folder, 'cli.js');
  const config = () => join(folder, 'siteward.yaml');

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'siteward-bundle-'));
    bundle = await makeBundle(folder);
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(root, 'node_modules', 'better-sqlite3'), join(folder, 'node_modules', 'better-sqlite3'));
    writeFileSync(
      config(),
      `site:   { id: "4711", external_id: bundle, timezone: Europe/Berlin }
bridge: { external_id: sw-bundle }
mqtt:   { broker: embedded, listen: 127.0.0.1:0 }
http:   { control_socket: ${folder}/control.sock }
store:  { dir: ${folder}/state }
partitions: [ { id: p1, name: House } ]
panels:
  - { id: sensors, profile: zigbee2mqtt, zones: { "1": { type: entry_exit_1, key: front_door, partition: p1 } } }
`,
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const start = (args: readonly string[]) => {
    const running = startProcess({ name: 'bundle', args: [program(), ...args] });
    onTestFinished(running.stop);
    return running;
  };

  it('checks a configuration', async () => {
    const result = start(['check', config(), '--json']).until(
      (line) => (line.includes('{') ? line : undefined),
      'check',
    );
    expect(JSON.parse(await result)).toMatchObject({ ok: true, problems: [] });
  });

  it('runs until ready with its threads and panel profile, and answers on the control socket', async () => {
    const running = start(['run', '--config', config()]);
    await running.until((line) => (line.includes('"msg":"ready"') ? true : undefined), 'start', 30_000);
    const status = start(['status', '--json', '--socket', join(folder, 'control.sock')]);
    await status.until((line) => (line.includes('}') ? true : undefined), 'status');
    await status.stop();
    const parts = JSON.parse(status.lines().join('\n')) as Record<string, unknown>;
    expect(JSON.stringify(parts)).not.toContain('"down"');
    expect(running.lines().filter((line) => /"level":(50|60)/.test(line))).toEqual([]);
    const client = new Client('http://localhost', { socketPath: join(folder, 'control.sock') });
    onTestFinished(() => client.destroy());
    const judged = await client.request({
      ...{ method: 'POST', path: '/api/v1/config/check', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ yaml: readFileSync(config(), 'utf8') }),
    });
    expect(await judged.body.json()).toEqual({ ok: true, problems: [], changes: [] });
  });

  it('holds no test fake, no demo and no package that belongs to development', () => {
    const foreign = bundle.inputs.filter((path) =>
      /\.fake\.ts$|^test\/|^bench\/|^src\/sandbox\/demo\/|node_modules\/(vitest|fast-check|ajv|esbuild|playwright-core|better-sqlite3)\//.test(
        path,
      ),
    );
    expect(foreign).toEqual([]);
    expect(bundle.inputs).toContain('src/daemon.ts');
  });

  it('is ASCII where it stays in memory, of which V8 keeps one byte for each letter', () => {
    const scripts = ['run.cjs', 'store.cjs'];
    expect(scripts.filter((name) => readFileSync(join(folder, name)).some((byte) => byte > 127))).toEqual([]);
  });

  it('has no library that tells what it does when DEBUG is set', () => {
    expect(bundle.inputs).toContain('no-debug:debug');
    expect(bundle.inputs.filter((path) => path.includes('node_modules/debug/'))).toEqual([]);
  });

  it('has no crash point, which a bundle that keeps them shows can be seen', async () => {
    expect(traces(folder)).toEqual([]);
    const other = mkdtempSync(join(tmpdir(), 'siteward-bundle-'));
    onTestFinished(() => rmSync(other, { recursive: true, force: true }));
    await makeBundle(other, { crashPoints: true });
    expect(new Set(traces(other))).toEqual(new Set(['SITEWARD_CRASH_AT', ...crashPoints]));
  });
});

/** What of the crash points stands in the scripts of a bundle. */
function traces(folder: string): string[] {
  const scripts = readdirSync(folder).filter((name) => /\.c?js$/.test(name));
  const text = scripts.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  const calls = crashPoints.filter((name) => new RegExp(`crashPoint\\w*\\(["'\`]${name}["'\`]\\)`).test(text));
  return [...(text.includes('SITEWARD_CRASH_AT') ? ['SITEWARD_CRASH_AT'] : []), ...calls];
}
