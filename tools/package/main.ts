import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { version as sourceVersion } from '../../src/lib/version.ts';
import { buildAudioLibrary, checkDigests } from '../audio-library.ts';
import { makeBundle } from '../bundle.ts';
import { bundledPackages } from './bundled.ts';
import { buildDeb, newTree } from './deb.ts';
import { control, debianVersion, maintainerScripts } from './debian.ts';
import { fillTree, type Made } from './layout.ts';
import { missingTools } from './needs.ts';
import { nodeFolder, nodeVersion } from './node-binary.ts';
import { sbom } from './sbom.ts';
import { type Target, targets } from './targets.ts';

// `npm run package`: the Debian packages, their lists of parts and SHA256SUMS, in dist/. Run as
//   npm run package -- [--arch amd64|arm64] [--version 1.2.3] [--node-amd64 FOLDER] [--node-arm64 FOLDER] [--out FOLDER] [--fast]
// --fast packs less, for tests.

const root = join(import.meta.dirname, '..', '..');
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      arch: { type: 'string', multiple: true },
      version: { type: 'string', default: sourceVersion },
      'node-amd64': { type: 'string' },
      'node-arm64': { type: 'string' },
      out: { type: 'string', default: join(root, 'dist') },
      fast: { type: 'boolean', default: false },
    },
  });
  const wanted = targets.filter(({ arch }) => values.arch === undefined || values.arch.includes(arch));
  const missing = missingTools(wanted);
  if (missing !== undefined || wanted.length === 0) {
    console.error(missing ?? `--arch is one of ${targets.map(({ arch }) => arch).join(', ')}`);
    return 1;
  }
  const date = Number(process.env.SOURCE_DATE_EPOCH ?? git('log', '-1', '--format=%ct'));
  const version = values.version;
  const { out } = values;
  mkdirSync(out, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'siteward-package-'));
  try {
    const bundle = join(scratch, 'bundle');
    const { inputs } = await makeBundle(bundle, { version });
    checkDigests(await buildAudioLibrary(join(bundle, 'audio')));
    const made: Made = { bundle, version, date, packages: bundledPackages(inputs, ['better-sqlite3']) };
    const names: string[] = [];
    for (const target of wanted) {
      const node = nodeFolder(target, scratch, values[`node-${target.arch}`]);
      names.push(...packageFor(target, { made, node, scratch, out, level: values.fast ? 0 : 6 }));
    }
    writeFileSync(
      join(out, 'SHA256SUMS'),
      names.map((name) => `${sha256(readFileSync(join(out, name)))}  ${name}\n`).join(''),
    );
    return 0;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Writes the package and its list of parts; returns their names. */
function packageFor(
  target: Target,
  { made, node, scratch, out, level }: { made: Made; node: string; scratch: string; out: string; level: number },
): readonly string[] {
  const { version, date, packages } = made;
  const tree = newTree(join(scratch, target.arch));
  fillTree(tree, target, made, node);
  const file = join(out, `siteward_${debianVersion(version)}_${target.arch}.deb`);
  buildDeb(tree, {
    control: (kib) => control({ version, arch: target.arch, kib }),
    scripts: (kib) => maintainerScripts({ version, kib }),
    date,
    level,
    out: file,
  });
  const shipped = {
    version: nodeVersion(node),
    sha256: sha256(readFileSync(join(tree.folder, 'usr/lib/siteward/bin/node'))),
  };
  const list = join(out, `siteward_${debianVersion(version)}_${target.arch}.cdx.json`);
  writeFileSync(list, sbom({ version, arch: target.arch, packages, node: shipped, date }));
  console.log(`${file}: ${(statSync(file).size / 1e6).toFixed(1)} MB`);
  return [basename(file), basename(list)];
}

const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

process.exitCode = await main();
