import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { Settings } from '#config/index.ts';
import type { StatusDocument } from '#lan/http/index.ts';
import { mosquittoAcl, rootOf } from '#lan/mqtt/index.ts';
import { Secret } from '#lib/secret.ts';
import { brokerCheck } from '../../src/cli/doctor/broker.ts';
import type { Scene } from '../../src/cli/doctor/scene.ts';
import { startMosquitto, type TestBroker } from '../lan/mqtt/harness.ts';

let broker: TestBroker | undefined;
afterEach(() => broker?.stop());

const password = 'pw-of-siteward';
/** A mosquitto with accounts and this file of rights. */
const withRights = (rights: string) =>
  startMosquitto({
    extra(folder) {
      writeFileSync(join(folder, 'acl'), rights, { mode: 0o600 });
      writeFileSync(join(folder, 'passwd'), '', { mode: 0o600 });
      execFileSync('mosquitto_passwd', ['-b', join(folder, 'passwd'), 'siteward', password], { stdio: 'ignore' });
      return `allow_anonymous false\nacl_file ${join(folder, 'acl')}\npassword_file ${join(folder, 'passwd')}`;
    },
  });

async function looked(url: string, given = password) {
  const mqtt = { broker: url, username: 'siteward', password: new Secret(given), clients: [] };
  const scene = {
    ...{ file: '/nowhere/siteward.yaml', root: '/', config: { problems: [], warnings: [] } },
    settings: { mqtt, panels: [], site: { external_id: 'proof' } } as unknown as Settings,
    daemon: { pid: undefined, status: undefined, control: undefined, why: 'it is not asked' },
  } satisfies Scene;
  const found = await brokerCheck.look(scene, AbortSignal.timeout(20_000));
  return found.map(({ state, subject = '', seen }) => ({ state, subject, seen }));
}
const own = rootOf('proof');

it('is content with the rights that siteward writes for mosquitto', async () => {
  broker = await withRights(mosquittoAcl(own, [], { panels: { tells: [], takes: [] } }));
  expect((await looked(broker.url)).map(({ state }) => state)).toEqual(['ok', 'ok']);
});

it('names what may not be written', async () => {
  broker = await withRights(`user siteward\ntopic read ${own}/#\n`);
  expect(await looked(broker.url)).toContainEqual(
    expect.objectContaining({
      state: 'failed',
      subject: `${own}/#`,
      seen: expect.stringContaining('writing is refused'),
    }),
  );
});

it('says that the password is refused, and does not repeat it', async () => {
  broker = await withRights('');
  const found = await looked(broker.url, 'another one');
  expect(found).toMatchObject([{ state: 'failed', seen: expect.stringMatching(/not authori[sz]ed/i) }]);
  expect(JSON.stringify(found)).not.toContain('another one');
});

it('warns of another broker where "localhost" leads many programs', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '::1', resolve));
  const { port } = other.address() as AddressInfo;
  const look = (listen: string) =>
    brokerCheck.look(
      {
        ...{ file: '/nowhere/siteward.yaml', root: '/', config: { problems: [], warnings: [] } },
        settings: { mqtt: { broker: 'embedded', listen } } as unknown as Settings,
        daemon: {
          ...{ pid: 1, control: undefined, why: '' },
          status: { parts: [{ name: 'broker', state: 'ok' }] } as unknown as StatusDocument,
        },
      } as Scene,
      AbortSignal.timeout(20_000),
    );
  try {
    expect(await look(`127.0.0.1:${port}`)).toMatchObject([
      { state: 'ok' },
      {
        state: 'warning',
        subject: `[::1]:${port}`,
        advice: [expect.stringContaining(`127.0.0.1:${port}`), expect.anything()],
      },
    ]);
  } finally {
    await new Promise((resolve) => other.close(resolve));
  }
  expect(await look(`127.0.0.1:${port}`)).toMatchObject([{ state: 'ok' }]);
});
