import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StatusDocument } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { camera, cameraPassword, code, type Site, startSite } from '../harness/site.ts';
import { siteward } from './run-cli.ts';

interface Found {
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly subject?: string;
  readonly seen: string;
  readonly means?: string;
  readonly advice?: readonly string[];
}
interface Report {
  readonly ok: boolean;
  readonly failures: number;
  readonly warnings: number;
  readonly checks: readonly { readonly id: string; readonly findings: readonly Found[] }[];
}

const secret = 'correct horse battery';
const env = { PARTNER: secret, HARNESS_CODE: code, CAMERA_PASSWORD: cameraPassword };
const dealer = {
  ...{ dealer_id: 17, external_dealer_id: 'active' },
  sites: [{ site_id: 4711, external_site_id: 'proof', name: 'Proof', timezone: 'Europe/Berlin' }],
};
let site: Site;
let text: string;
beforeAll(async () => {
  site = await startSite({
    cameras: ['first'],
    siteYaml: 'id: "4711", dealer_id: "17", name: Shop',
    cloudYaml: '  partner: { client_id: partner-9, client_secret: { env: PARTNER } }',
    env: { PARTNER: secret },
    async prepare(cloud) {
      await cloud.control('dealers', { method: 'POST', body: dealer });
      await cloud.control('clients', { method: 'POST', body: { client_id: 'partner-9', client_secret: secret } });
    },
    yaml: ({ cameras, folder }) => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
panels:
  - { id: main, profile: pai, vars: { b: paradox }, zones: { "10": { type: perimeter } } }
cameras:
${camera('yard', cameras.first, 'name: Yard')}
speakers: [ { id: hall, driver: capture, folder: ${join(folder, 'heard')} } ]
`,
  });
  text = readFileSync(site.config, 'utf8');
}, 120_000);
afterAll(() => site?.close());

async function doctor(...only: string[]): Promise<{ code: number; report: Report; of(id: string): readonly Found[] }> {
  const where = ['--config', site.config, '--socket', site.socket];
  const { code: ended, out, err } = await siteward(['doctor', ...only, '--json', ...where], env);
  expect(err).toBe('');
  const report = JSON.parse(out) as Report;
  return { code: ended as number, report, of: (id) => report.checks.find((one) => one.id === id)?.findings ?? [] };
}
const states = (found: readonly Found[]) => found.map(({ state }) => state);
/** Changes the file alone. */
const write = (from: string, to: string) => {
  expect(text).toContain(from);
  writeFileSync(site.config, text.replace(from, to));
};
const status = async () => (await site.api('/api/v1/status')) as StatusDocument;

test('with the daemon up every part of the site is looked at, and what is well is said so', async () => {
  await eventually('the camera answers and the cloud is in step', async () => {
    const { cameras, cloud, speakers } = await status();
    const up = cameras[0]?.up === true && speakers?.[0]?.up === true;
    return up && cloud?.devices?.state === 'in_step' ? true : undefined;
  });
  const { report, of } = await doctor();
  for (const id of [
    'configuration',
    'disk',
    'database',
    'memory',
    'tls',
    'token',
    'site',
    'devices',
    'broker',
    'cameras',
    'speakers',
  ])
    expect([id, of(id).filter(({ state }) => state === 'failed')]).toEqual([id, []]);
  expect(of('token')).toMatchObject([{ state: 'ok', seen: expect.stringContaining('kid') }]);
  expect(of('site')).toMatchObject([{ state: 'ok', seen: expect.stringContaining('Proof') }]);
  expect(of('devices')).toMatchObject([{ state: 'ok' }]);
  expect(of('cameras')).toMatchObject([{ state: 'ok', subject: 'yard' }]);
  expect(of('broker').map(({ subject }) => subject)).toContain('rights');
  // Its bridge has said nothing yet.
  expect(of('panels')).toMatchObject([{ subject: 'main' }]);
  expect(JSON.stringify(report)).not.toContain(secret);
  expect(JSON.stringify(report)).not.toContain(cameraPassword);
}, 120_000);

test('people read the same, and what to do stands behind each thing that is wrong', async () => {
  const where = ['--config', site.config, '--socket', site.socket];
  const { code: ended, out } = await siteward(['doctor', 'configuration', 'site', ...where], env);
  expect(ended).toBe(0);
  expect(out).toMatch(/^✓ configuration: .*\n✓ dealer and site in the cloud: .*\n\nAll is well\.\n$/);
});

test('only what is named is looked at, and a name that is none is refused with the list', async () => {
  expect((await doctor('clock', 'disk')).report.checks.map(({ id }) => id)).toEqual(['clock', 'disk']);
  const { code: ended, err } = await siteward(['doctor', 'dsik', '--config', site.config], env);
  expect(ended).toBe(2);
  expect(err).toContain('configuration, daemon, troubles, clock, disk');
});

test('invalid_grant names each likely cause with the value that is used here', async () => {
  write('client_id: bridge-1', 'client_id: bridge-2');
  const { code: ended, of } = await doctor('token');
  writeFileSync(site.config, text);
  expect(ended).toBe(2);
  const [found] = of('token');
  expect(found).toMatchObject({ state: 'failed', means: expect.stringContaining('wait on disk') });
  const advice = found?.advice?.join('\n') ?? '';
  expect(advice).toContain('"bridge-2"');
  expect(advice).toContain(`"${site.line.url}"`);
  expect(advice).toMatch(/thumbprint [\w-]{43}/);
  expect(advice).toContain('the clock');
});

test('another site, and credentials that are wrong, are told apart', async () => {
  write('id: "4711"', 'id: "4712"');
  const other = (await doctor('site')).of('site');
  expect(other).toMatchObject([{ state: 'failed', advice: [expect.stringContaining('site.id and site.dealer_id')] }]);
  write('external_id: proof,', 'external_id: another,');
  const foreign = (await doctor('site')).of('site');
  expect(foreign).toMatchObject([
    {
      state: 'failed',
      seen: expect.stringContaining('is "proof" there'),
      advice: [expect.stringContaining('site.id')],
    },
  ]);
  write('client_id: partner-9', 'client_id: partner-8');
  const refused = (await doctor('site')).of('site');
  writeFileSync(site.config, text);
  expect(refused).toMatchObject([{ state: 'failed', advice: [expect.stringContaining('cloud.partner')] }]);
});

test('a line that is cut, a name that is none and a broker that is away are said, each with what to do', async () => {
  await site.line.cut();
  const cut = await doctor('tls', 'token');
  await site.line.connect(site.cloud.url);
  expect([cut.code, states(cut.of('tls')), states(cut.of('token'))]).toEqual([2, ['failed'], ['failed']]);
  write(`base_url: ${site.line.url}`, 'base_url: https://no-such-name.invalid');
  const unnamed = await doctor('dns');
  expect(unnamed.of('dns')).toContainEqual(
    expect.objectContaining({ state: 'failed', subject: 'no-such-name.invalid' }),
  );
  write(site.mqttUrl, 'mqtt://127.0.0.1:9');
  const away = await doctor('broker');
  writeFileSync(site.config, text);
  expect(away.of('broker')).toMatchObject([{ state: 'failed', subject: 'mqtt://127.0.0.1:9' }]);
}, 120_000);

test('errors of the file are findings, and the rest is looked at as far as it can be', async () => {
  writeFileSync(site.config, `${text}\nnonsense: 1\n`);
  const { code: ended, of } = await doctor();
  writeFileSync(site.config, text);
  expect(ended).toBe(2);
  expect(of('configuration')).toMatchObject([{ state: 'failed', seen: expect.stringContaining('nonsense') }]);
  expect(states(of('memory'))).toEqual(['ok']);
  expect(states(of('cameras'))).toEqual(['ok']);
  expect(states(of('token'))).toEqual(['skipped']);
}, 120_000);

test('a reload is waited for, and a file with errors changes nothing', async () => {
  const reload = () => siteward(['reload', '--config', site.config, '--socket', site.socket], env);
  write('name: Yard', 'name: Back yard');
  expect(await reload()).toMatchObject({ code: 0, out: expect.stringContaining('is in force') });
  const { config } = (await site.api('/api/v1/config')) as { config: { cameras: { name: string }[] } };
  expect(config.cameras[0]?.name).toBe('Back yard');
  // What is shown of it is not what is written: a name that is the password of the camera is blanked.
  write('name: Yard', `name: ${cameraPassword}`);
  expect(await reload()).toMatchObject({ code: 0, out: expect.stringContaining('is in force') });
  write('name: Yard', 'nme: Yard');
  expect(await reload()).toMatchObject({ code: 78, err: expect.stringContaining('nme') });
  write(`dir: ${site.folder}/state`, `dir: ${site.folder}/other`);
  expect(await reload()).toMatchObject({ code: 78, err: expect.stringContaining('has another store.dir') });
  writeFileSync(site.config, text);
  expect((await reload()).code).toBe(0);
}, 120_000);

test('an upgrade waits while a partition is armed, and for no daemon that is away', async () => {
  const check = (socket = site.socket) => siteward(['upgrade-check', '--config', site.config, '--socket', socket], env);
  const ofFile = () => siteward(['upgrade-check', '--config', site.config], env);
  expect(await check()).toMatchObject({ code: 0, out: expect.stringContaining('may be stopped') });
  await site.lan.ask('arm', { partition: 'p1', mode: 'away', force: true, code });
  await eventually('it is armed', async () =>
    (await status()).partitions[0]?.state === 'armed_away' ? true : undefined,
  );
  expect(await check()).toMatchObject({ code: 65, out: expect.stringContaining('partition Shop (p1) is armed away') });
  expect((await ofFile()).code).toBe(65);
  await site.lan.ask('disarm', { partition: 'p1', code });
  await eventually('it is disarmed', async () =>
    (await status()).partitions[0]?.state === 'disarmed' ? true : undefined,
  );
  expect((await check()).code).toBe(0);
  expect((await check(join(site.folder, 'none.sock'))).code).toBe(0);
  // The package keeps the databases of its state folder.
  const told = await siteward(['upgrade-check', '--json', '--config', site.config], env);
  expect(JSON.parse(told.out)).toEqual({ may_stop: true, because: [], state_dir: join(site.folder, 'state') });
  // Without it siteward would not start again. Its last good copy lies where only the file says.
  renameSync(site.config, `${site.config}.away`);
  const gone = await check();
  expect(gone).toMatchObject({ code: 65, out: expect.stringContaining(`${site.config} is gone`) });
  expect(gone.out).toContain('config.last-good.yaml');
  // Named, it said where to ask: what does not answer elsewhere says nothing of the one that runs.
  for (const gone of [await check(join(site.folder, 'none.sock')), await ofFile()])
    expect(gone).toMatchObject({
      code: 65,
      out: expect.stringContaining(`there is no ${site.config}, so nobody knows`),
    });
  renameSync(`${site.config}.away`, site.config);
  const broken = join(site.folder, 'broken.yaml');
  writeFileSync(broken, 'partitions: [');
  const ofBroken = (...more: string[]) => siteward(['upgrade-check', '--config', broken, ...more], env);
  expect(await ofBroken()).toMatchObject({
    code: 65,
    out: expect.stringContaining(`${broken} cannot be used (siteward check`),
  });
  expect((await ofBroken('--socket', site.socket)).code).toBe(0);
}, 120_000);

test('where the daemon on the socket runs with another file that is said, nothing is told it, and nothing it says is taken for this file', async () => {
  const other = join(site.folder, 'other.yaml');
  writeFileSync(other, text.replace('name: Yard', 'name: Other yard'));
  const elsewhere = { ...env, SITEWARD_SOCKET: site.socket };
  const said = `the siteward that answers on ${site.socket} runs with ${site.config}, not with ${other}`;

  const reload = await siteward(['reload', '--config', other], elsewhere);
  expect(reload.code).toBe(2);
  expect(reload.err).toContain(said);
  expect(reload.err).toContain(`--config ${site.config}`);
  expect(reload.err).toContain(`the variable SITEWARD_SOCKET says ${site.socket} now`);
  expect(reload.out).toBe('');
  // One of another store folder too, over which none runs.
  writeFileSync(other, text.replace(`dir: ${site.folder}/state`, `dir: ${site.folder}/other`));
  expect(await siteward(['reload', '--config', other], elsewhere)).toMatchObject({
    code: 2,
    err: expect.stringContaining(said),
  });
  expect((await status()).config).toEqual({ path: site.config, last_good: false });

  const looked = await siteward(
    ['doctor', 'configuration', 'daemon', 'troubles', 'cameras', '--json', '--config', other],
    elsewhere,
  );
  const found = (JSON.parse(looked.out) as Report).checks.map(({ id, findings }) => ({ id, found: findings[0] }));
  expect(found).toMatchObject([
    { id: 'configuration', found: { state: 'ok' } },
    {
      id: 'daemon',
      found: { state: 'failed', seen: said, advice: [expect.stringContaining(site.config), expect.any(String)] },
    },
    { id: 'troubles', found: { state: 'skipped' } },
    { id: 'cameras', found: { subject: 'yard' } },
  ]);
  // A file that is gone is not said to be what it runs with.
  const gone = await siteward(['doctor', 'configuration', '--config', join(site.folder, 'none.yaml')], elsewhere);
  expect(gone.out).not.toContain('last good configuration, or');

  // Neither is one that is not there taken for the one that runs with another.
  const upgrade = await siteward(['upgrade-check', '--json', '--config', join(site.folder, 'none.yaml')], elsewhere);
  expect(upgrade).toMatchObject({ code: 65, err: expect.stringContaining(`runs with ${site.config}, not with`) });
  expect(JSON.parse(upgrade.out)).toEqual({
    ...{ may_stop: false, state_dir: join(site.folder, 'state') },
    because: [expect.stringContaining(`name ${site.config} with --config`)],
  });
  // What an upgrade stops is the one that runs, whatever file is there.
  const there = await siteward(['upgrade-check', '--json', '--config', other], elsewhere);
  expect(there).toMatchObject({ code: 0, err: expect.stringContaining(`runs with ${site.config}, not with`) });
}, 120_000);

test('without --socket the one that the configuration names is asked', async () => {
  const { out } = await siteward(['doctor', 'daemon', '--config', site.config], env);
  expect(out).toMatch(/^. siteward: version /);
  expect(await siteward(['reload', '--config', site.config], env)).toMatchObject({ code: 0 });
});

test('with the daemon down cameras, speakers and databases are asked here, and nothing is left beside them', async () => {
  await site.daemon.stop();
  const before = readdirSync(join(site.folder, 'state'));
  const { code: ended, of } = await doctor();
  expect(readdirSync(join(site.folder, 'state'))).toEqual(before);
  expect(ended).toBe(2);
  expect(of('daemon')).toMatchObject([
    { state: 'failed', advice: [expect.stringContaining('systemctl start'), expect.anything()] },
  ]);
  expect(of('cameras')).toMatchObject([{ state: 'ok', subject: 'yard' }]);
  expect(of('speakers')).toMatchObject([{ state: 'ok', subject: 'hall' }]);
  expect(of('database').map(({ state, subject }) => `${subject} ${state}`)).toEqual(['site.db ok', 'bulk.db ok']);
  expect(states(of('panels'))).toEqual(['skipped']);
  // A page of the middle of the file.
  const path = join(site.folder, 'state', 'site.db');
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0x5a, 4096, 8192));
  const damaged = (await doctor('database')).of('database');
  expect(damaged).toContainEqual(expect.objectContaining({ state: 'failed', subject: 'site.db' }));
}, 120_000);
