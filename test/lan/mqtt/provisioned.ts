import { spawn } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { IClientOptions } from 'mqtt';
import { freePort } from '#sandbox/demo/processes.ts';
import { passwordHash } from '../../../src/lan/mqtt/index.ts';
import { siteward } from '../../cli/run-cli.ts';
import { mosquittoPath } from './harness.ts';

/** A mosquitto that runs on nothing but what `siteward mqtt provision` has written, and a probe that may do everything. */
export interface Provisioned {
  readonly folder: string;
  readonly config: string;
  readonly dir: string;
  readonly ports: { readonly lan: number; readonly own: number };
  /** What `provision` was called with, for another run. */
  readonly args: readonly string[];
  /** How to connect with the password that was shown. */
  login(id: string, version: 4 | 5): IClientOptions;
  lanUrl: string;
  ownUrl: string;
  passwords: ReadonlyMap<string, string>;
  /** As `systemctl reload mosquitto`; its connections are served on. */
  reload(): Promise<void>;
  stop(): Promise<void>;
}

export async function provisioned(clients: readonly string[], more = ''): Promise<Provisioned> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-provision-'));
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, 'mosquitto/conf.d'), { recursive: true });
  mkdirSync(join(folder, 'state'));
  const config = join(folder, 'siteward.yaml');
  const ports = { lan: await freePort(), own: await freePort() };
  writeFileSync(
    config,
    `# The site of the shop.
site:   { id: "4711", external_id: hq, timezone: Europe/Berlin }   # do not touch
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: Offices } ]
store:  { dir: ${join(folder, 'state')} }
panels: [ { id: main, profile: pai, partitions: { p1: "Area_1" }, zones: { "1": { name: Front, type: entry_exit_1 } } } ]
mqtt:
  broker: mqtts://127.0.0.1:${ports.own}   # ours
  # who may what
  clients:
${clients.map((client) => `    - ${client}`).join('\n')}
${more}`,
    { mode: 0o640 },
  );
  const dir = join(folder, 'mosquitto/siteward');
  const listen = ['--listen', `127.0.0.1:${ports.lan}`];
  const args = ['mqtt', 'provision', '--config', config, '--dir', dir, ...listen];
  const ran = await siteward([...args, '--json', '--with-passwords']);
  if (ran.code !== 0) throw new Error(ran.err);
  const shown = JSON.parse(ran.out) as { clients: { id: string; new_password: string | null }[] };
  const passwords = new Map(shown.clients.flatMap(({ id, new_password: text }) => (text === null ? [] : [[id, text]])));
  passwords.set('siteward', readFileSync(join(folder, 'secrets/mqtt-siteward'), 'utf8').trim());
  appendFileSync(join(dir, 'acl'), '\nuser probe\ntopic readwrite #\n');
  appendFileSync(join(dir, 'passwd'), `probe:${passwordHash('of-the-probe')}\n`);
  passwords.set('probe', 'of-the-probe');
  const main = join(folder, 'mosquitto/mosquitto.conf');
  writeFileSync(main, `persistence false\ninclude_dir ${join(folder, 'mosquitto/conf.d')}\n`);
  const child = spawn(mosquittoPath ?? 'mosquitto', ['-c', main], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (data) => {
    said += data;
  });
  const ca = readFileSync(join(dir, 'ca.crt'), 'utf8');
  for (let tries = 0; !said.includes(' running'); tries += 1) {
    if (tries > 200 || child.exitCode !== null) throw new Error(`mosquitto did not start: ${said}`);
    await pause(25);
  }
  return {
    folder,
    config,
    dir,
    ports,
    args,
    passwords,
    lanUrl: `mqtts://127.0.0.1:${ports.lan}`,
    ownUrl: `mqtts://127.0.0.1:${ports.own}`,
    login: (id, version) => ({
      ca,
      username: id,
      password: passwords.get(id) ?? '',
      clientId: id === 'siteward' ? 'siteward-hq' : `test-${id}`,
      protocolVersion: version,
      reconnectPeriod: 0,
    }),
    async reload() {
      const before = said.length;
      child.kill('SIGHUP');
      for (let tries = 0; !said.slice(before).includes('Reloading config'); tries += 1) {
        if (tries > 200) throw new Error(`mosquitto did not reload: ${said}`);
        await pause(25);
      }
      // It is said first and done in the same turn of its loop.
      await pause(200);
    },
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode === null) {
        child.kill('SIGKILL');
        await gone;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
