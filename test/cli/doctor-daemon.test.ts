import { expect, it } from 'vitest';
import { daemonCheck } from '../../src/cli/doctor/daemon.ts';

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
