import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { code, type Site, startSite } from '../harness/site.ts';
import { main, siteward } from './run-cli.ts';

let site: Site;
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    yaml: () => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s } ]
panels: [ { id: sensors, profile: zigbee2mqtt, zones: { "1": { type: entry_exit_1, name: Front door, key: front, partition: p1 } } } ]
schedules: [ { id: night, days: [daily], at: "03:00", arm: { partitions: [p1] } } ]
`,
  });
  await site.lan.publish('zigbee2mqtt/bridge/state', '{"state":"online"}', { retain: true });
  await site.lan.publish('zigbee2mqtt/front', '{"contact":true}', { retain: true });
  await site.lan.shows('zone/1/state', 'OFF');
}, 60_000);
afterAll(() => site?.close());

const change = (...args: string[]) => siteward(['security-type', ...args, '--socket', site.socket]);
const arm = () => siteward(['arm', 'p1', '--socket', site.socket]);

it('is in force at once while disarmed, waits while armed, and is confirmed by --while-armed', async () => {
  expect(await change('1')).toMatchObject({ code: 0, out: 'security type 1 is in force\n' });
  expect(await arm()).toMatchObject({ code: 0 });
  const waits = await change('3');
  expect(waits).toMatchObject({ code: 0, out: expect.stringContaining('3 waits until every partition is disarmed') });
  const { out } = await siteward(['status', '--socket', site.socket]);
  expect(out).toContain('security type 1, 3 waits until every partition is disarmed');
  const confirm = (input: string) =>
    siteward(['security-type', '3', '--while-armed', '--code-stdin', '--json', '--socket', site.socket], {}, input);
  expect(await change('3', '--while-armed')).toMatchObject({
    code: 2,
    err: expect.stringContaining('say --code-stdin (no_terminal)'),
  });
  expect(await confirm('9999\n')).toMatchObject({
    code: 65,
    err: expect.stringContaining('the code does not count (code_refused)'),
  });
  expect(await confirm(`${code}\n`)).toMatchObject({ code: 65, err: expect.stringContaining('owner or installer') });
  const add = ['user', 'add', 'olga', '--name', 'Olga', '--role', 'owner', '--code-stdin', '--socket', site.socket];
  expect(await siteward(add, {}, '739164\n')).toMatchObject({ code: 0 });
  expect(await confirm('739164\n')).toMatchObject({ code: 0, out: '{"security_type":3}\n' });
  const audit = await siteward(['audit', 'show', '--json', '--socket', site.socket]);
  const told = audit.out.split('\n').filter((line) => line.includes('"security_type"') && line.includes('olga'));
  expect(told.length).toBeGreaterThan(0);
  expect(await change('5')).toMatchObject({ code: 2 });
}, 60_000);

it.skipIf(!existsSync('/usr/bin/script'))(
  'on a terminal 4 is asked about, unless --yes is said',
  async () => {
    async function onTerminal(answer: string, ...more: string[]) {
      const command = [process.execPath, main, 'security-type', '4', ...more, '--socket', site.socket].join(' ');
      const env = { PATH: process.env.PATH, SHELL: '/bin/sh', TERM: 'dumb' };
      const child = spawn('/usr/bin/script', ['-qec', command, '/dev/null'], {
        ...{ env, timeout: 60_000 },
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      let out = '';
      let isAsked = false;
      child.stdout.on('data', (chunk: Buffer) => {
        out += chunk.toString();
        if (isAsked || !out.includes('[yes/no]')) return;
        isAsked = true;
        child.stdin.write(answer);
      });
      const [ended] = (await once(child, 'close')) as [number];
      return { ended, out, isAsked };
    }
    const inForce = async () =>
      JSON.parse((await siteward(['status', '--json', '--socket', site.socket])).out).arming_sync;
    const before = (await inForce()).security_type;
    expect(await onTerminal('no\r')).toMatchObject({
      ended: 1,
      out: expect.stringMatching(/every burglary signal(.|\r|\n)*nothing was changed/),
    });
    expect(await inForce()).toMatchObject({ security_type: before });
    expect((await inForce()).security_type_asked).toBeUndefined();
    expect(await onTerminal('yes\r')).toMatchObject({ ended: 0, isAsked: true });
    expect((await inForce()).security_type_asked ?? (await inForce()).security_type).toBe(4);
    expect(await change(String(before))).toMatchObject({ code: 0, err: '' });
    expect(await onTerminal('', '--yes')).toMatchObject({ ended: 0, isAsked: false });
    expect(await change(String(before))).toMatchObject({ code: 0 });
  },
  120_000,
);

it('with type 4 an opened door is told to the station as one whose arming is not known, and schedules that arm are named', async () => {
  expect(await siteward(['disarm', 'p1', '--code-stdin', '--socket', site.socket], {}, `${code}\n`)).toMatchObject({
    code: 0,
  });
  expect(await change('4')).toMatchObject({
    code: 0,
    out: 'security type 4 is in force\n',
    err: expect.stringMatching(
      /every burglary signal goes to the station(.|\n)*nothing is armed or disarmed by the schedules night/,
    ),
  });
  await site.lan.publish('zigbee2mqtt/front', '{"contact":false}', { retain: true });
  const alarm = await eventually('the alarm in the cloud', async () =>
    (await site.cloud.events()).find(({ body }) => body.payload.kind === 'burglary_entry_exit'),
  );
  expect(alarm.body).toMatchObject({
    should_signal_to_monitoring_center: true,
    payload: { data: { evidence: expect.arrayContaining([expect.objectContaining({ type: 'arming_not_known' })]) } },
  });
  const { out } = await siteward(['status', '--socket', site.socket]);
  expect(out).toMatch(/p1 +Shop +in alarm since the last arming: 1 Front door/);
  expect(await siteward(['clear-memory', '--socket', site.socket])).toMatchObject({ code: 0 });
  expect((await siteward(['status', '--socket', site.socket])).out).not.toContain('since the last arming');
}, 60_000);
