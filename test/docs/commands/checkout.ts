import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, member, startProcess } from '#sandbox/demo/processes.ts';
import { program } from '../../harness/program.ts';
import { blocks, read } from '../markdown.ts';
import type { Place, Row } from './line.ts';

/** A checkout, a sandbox, and the site of the bench as docs/audio.md has it. */
export interface Checkout {
  readonly place: Place;
  readonly sandbox: string;
  close(): Promise<void>;
}

/** The configuration of the page in `folder`; its broker at a port of its own, since the usual one may be taken. */
async function benchIn(folder: string): Promise<string> {
  const page = blocks(read('docs/audio.md')).find(({ info, text }) => info === 'yaml' && text.includes('/tmp/trial'));
  mkdirSync(folder, { mode: 0o700 });
  const config = join(folder, 'trial.yaml');
  const mqtt = `mqtt: { listen: "127.0.0.1:${await freePort()}" }\n`;
  writeFileSync(config, `${page?.text.replaceAll('/tmp/trial', folder) ?? ''}${mqtt}`);
  return config;
}

export async function startCheckout(): Promise<Checkout> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-checkout-'));
  const bench = join(folder, 'trial');
  const config = await benchIn(bench);
  const daemon = startProcess({ name: 'siteward', args: [program, 'run', '--config', config] });
  const cloud = startProcess({
    name: 'sandbox',
    args: [program, 'sandbox', '--control', '--json', '--state-dir', join(folder, 'sandbox')],
  });
  const close = async () => {
    await daemon.stop();
    await cloud.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await daemon.until((line) => (member(line, 'msg') === 'ready' ? true : undefined), 'start');
    const sandbox = await cloud.until((line) => member(line, 'url'), 'start');
    const env = { SITEWARD_SOCKET: join(bench, 'control.sock') };
    return { close, sandbox, place: { ...{ folder, config, env }, names: {} } };
  } catch (error) {
    await close();
    throw error;
  }
}

export const bench: readonly Row<Checkout>[] = [
  { command: 'siteward audio test', says: /bench +completed/ },
  { command: 'siteward arm p1 --no-exit-delay', says: /armed/ },
  { command: 'siteward audio status', says: /rule:leave/ },
];

export const fromSources: readonly Row<Checkout>[] = [
  { command: 'npm run siteward -- check config/siteward.example.yaml --no-secrets', says: /no errors/ },
  {
    command: 'npm run siteward -- run --config /etc/siteward/siteward.yaml',
    before: async ({ place }) => ({ '/etc/siteward/siteward.yaml': await benchIn(join(place.folder, 'other')) }),
    serves: 'SIGTERM',
    says: /"msg":"ready"/,
  },
  { command: 'npm run siteward -- sandbox --control', serves: 'SIGTERM', says: /control path/ },
  {
    command: `npm run conformance -- --base-url https://api.example.net --auth-url https://auth.example.net \\
  --partner-token-env PARTNER_TOKEN --dealer 17 --only C,D,E`,
    async before({ sandbox }) {
      const answer = await fetch(`${sandbox}/__sandbox/tokens`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
        body: JSON.stringify({ kind: 'partner', dealers: [1] }),
      });
      const { token } = (await answer.json()) as { token: string };
      return {
        'npm run': `PARTNER_TOKEN=${token} npm run`,
        'https://api.example.net': sandbox,
        'https://auth.example.net': sandbox,
        '--dealer 17': '--dealer 1',
      };
    },
    says: /\d+ passed, 0 failed/,
  },
];
