import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { replaceConfigText, secretFiles } from '#config/index.ts';
import { clearSecretFolders } from '../../src/daemon/secret-folders.ts';
import { folder } from '../config/fixture.ts';

const isRoot = process.getuid?.() === 0;
/** Somebody who is not root, to whom rights mean something. */
const nobody = isRoot ? { uid: 65_534, gid: 65_534 } : {};
const saverModule = join(import.meta.dirname, '../../src/daemon/config-saver.ts');

const textOf = (home: string, secret: string): string =>
  `# Of the shop.\ncameras: [ { id: yard, password: { file: ${join(home, 'secrets', secret)} } } ]\n`;

function site(): { home: string; file: string } {
  const home = folder();
  const file = join(home, 'siteward.yaml');
  mkdirSync(join(home, 'secrets'));
  writeFileSync(file, textOf(home, 'camera-yard'));
  writeFileSync(join(home, 'secrets', 'camera-yard'), 'old\n', { mode: 0o600 });
  return { home, file };
}

interface Ended {
  readonly signal: string | null;
  /** Code and message of the refusal; empty where there was none. */
  readonly said: string;
}

/** A process that saves another password, with what the judge would say. */
async function saves(
  home: string,
  env: Record<string, string>,
  as: { uid?: number; gid?: number } = {},
): Promise<Ended> {
  const secret = join(home, 'secrets', 'camera-yard-2');
  const verdict = {
    ...{ text: textOf(home, 'camera-yard-2'), sections: ['cameras'], patch: [] },
    ...{ secrets: [{ path: secret, text: 'new' }], unused: [join(home, 'secrets', 'camera-yard')] },
  };
  const script = `
    import { configSaver } from ${JSON.stringify(saverModule)};
    import { Registry } from ${JSON.stringify(import.meta.resolve('prom-client'))};
    import { readFileSync } from 'node:fs';
    const file = ${JSON.stringify(join(home, 'siteward.yaml'))};
    let text = readFileSync(file, 'utf8');
    const saver = configSaver({
      inForce: () => ({ path: file, text, warnings: [], lastGood: false, error: undefined }),
      settings: () => ({ store: { dir: ${JSON.stringify(home)} } }),
      partitions: () => [],
      isResetting: () => false,
      reload: async () => { text = readFileSync(file, 'utf8'); return {}; },
      redactor: { redact: (said) => said },
      note: async () => {},
      log: { warn() {} },
      metrics: new Registry(),
      judge: async () => (${JSON.stringify(verdict)}),
    });
    const wish = { action: 'config_saved', changes: [], dryRun: false };
    await saver.save(wish, { source: 'cli', client: 'local' }, new AbortController().signal).catch((error) =>
      process.stdout.write(error.code + ' ' + error.message));`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    ...{ env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'inherit'], cwd: home },
    ...as,
  });
  let said = '';
  child.stdout?.on('data', (bytes) => {
    said += bytes;
  });
  const [, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { signal, said };
}

// The note of what is under way, the secret, the backup, the file.
const points = ['file.part', 'file.renamed'];
test.each(points.flatMap((point) => [1, 2, 3, 4].map((time) => `${point}:${time}`)))(
  'killed at %s there is one text, whole, with its secret, and the next start clears up',
  async (point) => {
    const { home, file } = site();
    expect(await saves(home, { SITEWARD_CRASH_AT: point })).toMatchObject({ signal: 'SIGKILL' });
    const text = readFileSync(file, 'utf8');
    const isNew = point === 'file.renamed:4';
    expect(text).toBe(textOf(home, isNew ? 'camera-yard-2' : 'camera-yard'));
    for (const path of secretFiles(text)) expect(readFileSync(path, 'utf8')).toBe(isNew ? 'new\n' : 'old\n');
    await clearSecretFolders(file, text);
    expect(readdirSync(join(home, 'secrets'))).toEqual([isNew ? 'camera-yard-2' : 'camera-yard']);
    // What is half written of the file itself goes with the next save.
    await replaceConfigText(file, text, text);
    expect(readdirSync(home).filter((name) => /part|saving/.test(name))).toEqual([]);
  },
);

test.each([
  ['a folder that siteward may not write', { folder: false, file: true }],
  // Without root nobody can own the file but who runs this.
  ...(isRoot ? [['a file of somebody else', { folder: true, file: false }] as const] : []),
] as const)('%s: nothing is written, and what to do is said', async (_, owned) => {
  const { home, file } = site();
  const own = (path: string) => isRoot && chownSync(path, 65_534, 65_534);
  chmodSync(home, owned.folder ? 0o755 : 0o555);
  if (owned.folder) own(home);
  if (owned.file) own(file);
  chmodSync(join(home, 'secrets'), 0o777);
  const was = [readdirSync(home), readdirSync(join(home, 'secrets')), readFileSync(file, 'utf8')];
  const { said } = await saves(home, {}, nobody);
  chmodSync(home, 0o755);
  expect(said).toMatch(
    /^config_readonly siteward may not write .*Nothing was written.*"chown \S+ \S+ \S+siteward\.yaml".*ReadWritePaths=/,
  );
  expect([readdirSync(home), readdirSync(join(home, 'secrets')), readFileSync(file, 'utf8')]).toEqual(was);
});
