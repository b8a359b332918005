import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { noPowerCut, powerCutDisk } from '../test/harness/power-cut.ts';
import type { Figure, Measurement } from './figure.ts';
import { brokers } from './peer-brokers.ts';
import { inFlight, inProcess, type Peer } from './peer-process.ts';

const warmMs = 1500;
const windowMs = 2000;
const slowMs = 700;

/** What others call stored, on the same disk. */
export const peers: Measurement = {
  name: 'peers',
  title: 'Others on the same disk, and a power cut',
  about: `Messages of 600 bytes, ${inFlight} in flight, each counted when it is acknowledged; one after the other on an ext4 of its own
over a loop device, each at full speed for ${windowMs / 1000} s, then one message at a time for ${slowMs / 1000} s. Then the disk's power is cut (ext4's shutdown:
what was not synced is gone), it is mounted again, and what was acknowledged is looked for. The ratio is the rate beside siteward's, whose
messages are alarms with their second copy.
Debian's packages with their own settings except where named; the libraries come from the npm registry, with better-sqlite3 of this
repository.`,
  async run(tell) {
    const why = noPowerCut();
    if (why !== undefined) return [{ name: `skipped, ${why}`, value: 0, unit: '' }];
    const libraries = fetchLibraries();
    try {
      const figures: Figure[] = [];
      let ours = Number.NaN;
      for (const peer of [...inProcess(libraries), ...brokers]) {
        const missing = peer.missing();
        tell(missing === undefined ? peer.name : `${peer.name}: skipped, ${missing}`);
        if (missing !== undefined) {
          figures.push({ name: `${peer.name}: skipped, ${missing}`, value: 0, unit: '' });
          continue;
        }
        const { perSecond, acked, lost } = await oneRound(peer);
        if (peer.name.startsWith('siteward')) ours = perSecond;
        const rate = { value: Math.round(perSecond), unit: 'messages/s' };
        const ratio = Math.round((perSecond / ours) * 1000) / 1000;
        figures.push({ name: `${peer.name}, acknowledged`, ...rate, ...(ratio !== 1 && { ratio }) });
        const goal = peer.name.startsWith('siteward') ? { goal: 'none', met: lost === 0 } : {};
        const of = `${peer.name}, lost of ${acked.toLocaleString('en')}`;
        figures.push({ name: of, value: lost, unit: 'messages', ...goal });
      }
      return figures;
    } finally {
      if (libraries.folder !== '') rmSync(libraries.folder, { recursive: true, force: true });
    }
  },
};

interface Round {
  readonly perSecond: number;
  readonly acked: number;
  readonly lost: number;
}

async function oneRound(peer: Peer): Promise<Round> {
  const disk = powerCutDisk({ mib: 1024 });
  try {
    const writing = await peer.write(disk.dir);
    await sleep(warmMs);
    const before = writing.acked();
    const began = performance.now();
    await sleep(windowMs);
    const perSecond = ((writing.acked() - before) / (performance.now() - began)) * 1000;
    writing.slower();
    await sleep(slowMs);
    const acked = writing.acked();
    disk.cut();
    await writing.kill();
    disk.restore();
    const kept = await peer.kept(disk.dir, acked);
    return { perSecond, acked, lost: Math.max(0, acked - kept) };
  } finally {
    disk.remove();
  }
}

/** The queues of the npm registry, in a folder of their own; never among the dependencies. */
function fetchLibraries(): { folder: string; missing: string | undefined } {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-peers-'));
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--legacy-peer-deps', '--fetch-retries=0'];
  const { status } = spawnSync('npm', ['install', ...flags, 'plainjob@0.0.14', 'liteque@0.8.0'], {
    cwd: folder,
    timeout: 60_000,
  });
  if (status !== 0) return { folder, missing: 'no npm registry' };
  const own = join(folder, 'node_modules', 'better-sqlite3');
  rmSync(own, { recursive: true, force: true });
  symlinkSync(join(import.meta.dirname, '..', 'node_modules', 'better-sqlite3'), own);
  return { folder, missing: undefined };
}
