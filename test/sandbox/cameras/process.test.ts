import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, expect, it } from 'vitest';
import { soap } from './soap-client.ts';

let child: ChildProcess | undefined;
afterEach(async () => {
  if (child === undefined || child.exitCode !== null) return;
  child.kill();
  await once(child, 'exit');
});

it('runs as a process by lines: says where it is, obeys, quits', async () => {
  const file = new URL('../../../src/sandbox/cameras/main.ts', import.meta.url).pathname;
  child = spawn(process.execPath, [file, '--id', 'gate', '--username', 'viewer', '--password-env', 'PW'], {
    env: { ...process.env, PW: 'secret' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value as string);
  const ask = (line: string) => {
    child!.stdin!.write(`${line}\n`);
    return next();
  };
  const { url } = await next();
  expect((await soap(`${url}/onvif/device_service`, '<tds:GetSystemDateAndTime/>')).status).toBe(200);
  expect(await ask('person on')).toEqual({ ok: true, command: 'person' });
  expect(await ask('counts')).toMatchObject({ ok: true, counts: { GetSystemDateAndTime: 1 }, subscriptions: 0 });
  expect(await ask('dance')).toMatchObject({ ok: false, error: expect.stringContaining('unknown command') });
  expect(await ask('reboot 1')).toMatchObject({ ok: true });
  expect((await soap(`${url}/onvif/device_service`, '<tds:GetSystemDateAndTime/>')).status).toBe(200);
  child.stdin!.write('quit\n');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
});

const simulator = (name: string) => new URL(`../../../src/sandbox/${name}/main.ts`, import.meta.url).pathname;

it.each(['cameras', 'panel', 'demo'])('says what the options of src/sandbox/%s/main.ts are', (name) => {
  const help = spawnSync(process.execPath, [simulator(name), '--help'], { encoding: 'utf8' });
  expect(help).toMatchObject({ status: 0, stderr: '', stdout: expect.stringMatching(/^.+\n\n? +.*--/s) });
  const wrong = spawnSync(process.execPath, [simulator(name), '--colour', 'red'], { encoding: 'utf8' });
  expect(wrong).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(help.stdout) });
  expect(wrong.stderr).toContain("'--colour'");
  expect(wrong.stderr).not.toMatch(/^ +at /m);
});
