import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFailed } from 'vitest';
import { freePort, member, type Running, startProcess } from '#sandbox/demo/processes.ts';
import { program } from '../harness/program.ts';

export const cameraPassword = 'rig-camera-password';
export const partnerSecret = 'rig-partner-secret';
export const ownerCode = '73914628';

const simulator = (name: string) => join(import.meta.dirname, '..', '..', 'src', 'sandbox', name, 'main.ts');

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A box to be commissioned: a service, a camera, and a folder that is empty but for the secrets that were handed over. */
export interface SetupRig {
  readonly folder: string;
  readonly config: string;
  readonly socket: string;
  readonly url: string;
  readonly camera: string;
  readonly mqttPort: number;
  /** `siteward ARGS`; with `until` it is killed at the first line that has it. */
  run(args: readonly string[], until?: string): Promise<Ran>;
  control(path: string, body?: object): Promise<unknown>;
  /** What `siteward cloud registration` says, told to the service as its operator would. */
  register(clientId: string): Promise<void>;
  startDaemon(): Promise<Running>;
  /** A panel simulator (`src/sandbox/panel/main.ts`) on the broker of the daemon. */
  panel(args: readonly string[]): Running;
  secret(name: string, text: string): string;
  close(): Promise<void>;
}

export async function setupRig(): Promise<SetupRig> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-setup-'));
  const open: (() => Promise<unknown>)[] = [];
  const launch = (name: string, args: readonly string[], env: Record<string, string> = {}) => {
    const started = startProcess({ name, args, env });
    open.push(started.stop);
    return started;
  };
  const secret = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, `${text}\n`, { mode: 0o600 });
    return path;
  };
  const config = join(folder, 'siteward.yaml');
  const socket = join(folder, 'control.sock');
  const cloud = launch('sandbox', [program, 'sandbox', '--control', '--json', '--state-dir', join(folder, 'sandbox')]);
  const url = await cloud.until((line) => member(line, 'url'), 'start', 60_000);
  const camera = launch('camera', [simulator('cameras'), '--id', 'yard', '--password-env', 'CAMERA_PASSWORD'], {
    CAMERA_PASSWORD: cameraPassword,
  });
  const device = await camera.until((line) => member(line, 'device_url'), 'start', 60_000);

  async function control(path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${url}/__sandbox/${path}`, {
      ...(body !== undefined && {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return await answer.json();
  }
  await control('clients', { client_id: 'partner-9', client_secret: partnerSecret, dealers: [1] });

  const mqttPort = await freePort();
  const run = (args: readonly string[], until?: string) =>
    new Promise<Ran>((resolve) => {
      const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
      let [out, err] = ['', ''];
      child.stdout.on('data', (bytes) => {
        out += bytes;
        if (until !== undefined && out.includes(until)) child.kill('SIGKILL');
      });
      child.stderr.on('data', (bytes) => {
        err += bytes;
      });
      child.on('close', (code) => resolve({ code, out, err }));
    });

  return {
    ...{ folder, config, socket, url, run, control, secret },
    camera: new URL(device).host,
    mqttPort,
    panel: (args) => launch('panel', [simulator('panel'), '--url', `mqtt://127.0.0.1:${mqttPort}`, ...args]),
    async register(clientId) {
      const { out } = await run(['cloud', 'registration', '--config', config, '--json']);
      const { public_key_pem } = JSON.parse(out) as { public_key_pem: string };
      await control('clients', { client_id: clientId, public_key_pem });
    },
    async startDaemon() {
      const daemon = launch('siteward', [program, 'run', '--config', config]);
      onTestFailed(
        () => void process.stderr.write(`The daemon's last log lines:\n${daemon.lines().slice(-40).join('\n')}\n`),
      );
      await daemon.until((line) => (member(line, 'msg') === 'ready' ? true : undefined), 'start', 60_000);
      return daemon;
    },
    async close() {
      for (const end of open.reverse()) await end().catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
