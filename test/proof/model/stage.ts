import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Line, openLine } from '#sandbox/demo/line.ts';
import { freePort } from '#sandbox/demo/processes.ts';
import { type CloudProcess, startCloudProcess } from '../../harness/cloud.ts';
import { program } from '../../harness/program.ts';
import { type CountingLine, countingLine } from './counting-line.ts';

/** What all runs share: the sandbox as a process, and the line to it. */
export interface Stage {
  readonly cloud: CloudProcess;
  readonly line: Line;
  readonly cable: CountingLine;
  readonly keyFile: string;
  readonly clientId: string;
  /** Event ids of earlier runs: the sandbox's record goes on over its restarts. */
  readonly past: Set<string>;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const root = mkdtempSync(join(tmpdir(), 'siteward-model-cloud-'));
  const keyFile = join(root, 'event-key.pem');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const line = await openLine({});
  const clientId = 'bridge-1';
  try {
    const cloud = await startCloudProcess({ main: program, port: await freePort(), keyFile, clientId, line });
    return {
      ...{ cloud, line, keyFile, clientId },
      cable: countingLine(line),
      past: new Set(),
      async close() {
        await cloud.stop();
        await line.close();
        rmSync(root, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await line.close();
    rmSync(root, { recursive: true, force: true });
    throw error;
  }
}
