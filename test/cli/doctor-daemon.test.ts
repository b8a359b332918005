import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { configCheck } from '../../src/cli/doctor/config.ts';
import { daemonCheck } from '../../src/cli/doctor/daemon.ts';
import type { Unreadable } from '../../src/cli/doctor/scene.ts';
import { siteward } from './run-cli.ts';

const looked = async (daemon: { pid?: number; why: string; isHidden?: boolean }) =>
  daemonCheck.look(
    {
      ...{ file: 'siteward.yaml', root: '/', config: { problems: [], warnings: [] }, settings: undefined },
      daemon: { pid: undefined, status: undefined, control: undefined, ...daemon },
    },
    new AbortController().signal,
  );

it('says of a daemon that is not there that nothing is protected, of one that hangs that it runs', async () => {
  const [gone] = await looked({ why: 'nobody listens on it' });
  expect(gone).toMatchObject({ state: 'failed', means: expect.stringContaining('nothing is protected') });
  const [hung] = await looked({ pid: 4711, why: 'aborted due to timeout' });
  expect(hung).toMatchObject({ state: 'failed', seen: expect.stringContaining('process 4711 runs') });
});

it('does not say of a daemon that this user may not ask that it does not run', async () => {
  for (const pid of [undefined, 4711]) {
    const found = await looked({ ...(pid !== undefined && { pid }), why: 'this user may not open it', isHidden: true });
    expect(found).toEqual([
      {
        state: 'warning',
        seen: 'whether it runs cannot be told: this user may not open it',
        means: expect.any(String),
        advice: [expect.stringContaining('as root')],
      },
    ]);
  }
});

it('asks for root only where the system lets this user not read the configuration', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-doctor-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const binary = join(folder, 'siteward.yaml');
  writeFileSync(binary, Buffer.from([0x80, 0xff, 0]));
  for (const file of [binary, folder, join(folder, 'none.yaml'), join(binary, 'none.yaml')]) {
    const { out } = await siteward(['doctor', 'configuration', '--config', file, '--json']);
    const [{ findings }] = JSON.parse(out).checks;
    expect(findings, file).toMatchObject([{ state: 'failed' }]);
    expect(findings[0].advice.join(), file).not.toContain('root');
    expect(findings[0].advice.join(), file).toContain(
      file.endsWith('none.yaml') ? 'siteward setup --config' : `look at ${file}: it is to be a text file in YAML`,
    );
  }
  const denied: Unreadable = { text: 'this user may not read it', code: 'EACCES' };
  const [found] = await configCheck.look(
    {
      ...{ file: '/nowhere', root: '/', settings: undefined },
      config: { problems: [], warnings: [], unreadable: denied },
      daemon: { pid: undefined, status: undefined, control: undefined, why: 'nobody listens on it' },
    },
    new AbortController().signal,
  );
  expect(found?.advice?.[0]).toContain('as root');
});
