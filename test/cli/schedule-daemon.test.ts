import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import type { Accepted } from '../harness/cloud.ts';
import { code, main, type Site, startSite } from '../harness/site.ts';

/** The clock is the machine's own: what is waited for is the next full minute. */
const minute = 60_000;
const patience = { timeout: 240_000 } as const;
const nextMinute = (atLeastMs: number) => Math.ceil((Date.now() + atLeastMs) / minute) * minute;
/** As the configuration writes it, in the time of the site. */
const timeOf = (wall: number) =>
  new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', hour: '2-digit', minute: '2-digit' }).format(wall);
const schedule = (id: string, wall: number, action: string) =>
  `{ id: ${id}, days: [daily], at: "${timeOf(wall)}", ${action} }`;

let site: Site;
let due: number;
const partitions = [1, 2, 3, 4, 5].map((n) => `{ id: p${n}, name: Part ${n}, exit_delay: 0s, entry_delay: 0s }`);
const zones = [2, 3].map((n) => `"${n}": { type: perimeter, name: Window ${n}, key: window${n}, partition: p${n} }`);
beforeAll(async () => {
  due = nextMinute(45_000);
  site = await startSite({
    broker: 'embedded',
    yaml: () => `
partitions: [ ${partitions.join(', ')} ]
panels: [ { id: sensors, profile: zigbee2mqtt, zones: { ${zones.join(', ')} } } ]
schedules:
  - ${schedule('closed', due, 'arm: { partitions: [p1] }')}
  - ${schedule('open', due, 'arm: { partitions: [p2], wait: 0s }')}
  - ${schedule('bypassed', due, 'arm: { partitions: [p3], wait: 0s, not_ready: bypass, mode: night }')}
  - ${schedule('late', due, 'arm: { partitions: [p4] }')}
  - ${schedule('closing', due, 'announce: { message: "We close now." }')}
  - ${schedule('proof', due, 'test_report: true')}
`,
  });
  // The schedules say the time of the site, and so do the tests.
  await site.lan.publish('zigbee2mqtt/bridge/state', '{"state":"online"}', { retain: true });
  for (const n of [2, 3]) await site.lan.publish(`zigbee2mqtt/window${n}`, '{"contact":false}', { retain: true });
  for (const n of [2, 3]) await site.lan.shows(`zone/${n}/state`, 'ON');
}, 120_000);
afterAll(() => site?.close());

const siteward = (args: readonly string[], input = '') => run(['schedule', ...args], input);

async function run(args: readonly string[], input = '') {
  const child = spawn(process.execPath, [main, ...args, '--socket', site.socket], {
    env: { PATH: process.env.PATH },
    timeout: 30_000,
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (bytes) => {
    out += bytes;
  });
  child.stderr.on('data', (bytes) => {
    err += bytes;
  });
  child.stdin.end(input);
  const [status] = (await once(child, 'close')) as [number];
  return { status, out, err };
}

const seen = (kind: string) => site.lan.events.map(({ event }) => event).filter((event) => event.kind === kind);
const inCloud = (kind: string): Promise<Accepted> =>
  eventually(
    `${kind} in the cloud`,
    async () => (await site.cloud.events()).find(({ body }) => body.payload.kind === kind),
    { timeoutMs: 60_000 },
  );

/** Later tests go on where earlier ones stop: a site takes seconds to start, and minutes pass in real time. */
test('siteward schedule shows what comes, and a person with a code postpones an arming', async () => {
  const { status, out } = await siteward(['--json', '--limit', '6']);
  expect(status).toBe(0);
  const runs = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { schedule: string; at: string });
  expect(runs.map(({ schedule: id }) => id).sort()).toEqual(['bypassed', 'closed', 'closing', 'late', 'open', 'proof']);
  expect(new Set(runs.map(({ at }) => at))).toEqual(new Set([new Date(due).toISOString()]));

  expect(await siteward(['postpone', 'late', '--by', '30m', '--code-stdin'], '9999')).toMatchObject({
    status: 65,
    err: expect.stringContaining('the code does not count (postpone_refused)'),
  });
  expect(await siteward(['postpone', 'late', '--by', '3h', '--code-stdin'], code)).toMatchObject({
    status: 65,
    err: expect.stringContaining('more than the configuration allows'),
  });
  const put = await siteward(['postpone', 'late', '--by', '30m', '--code-stdin'], code);
  expect(put).toMatchObject({ status: 0, out: expect.stringContaining('1 more for that day') });
  expect((await siteward([])).out).toMatch(/late +postponed from/);
  await eventually('the postponement', () => seen('auto_arm_postponed')[0], { timeoutMs: 60_000 });
  expect(seen('auto_arm_postponed').slice(0, 1)).toMatchObject([
    { partition: 'p4', actor: 'anna', contact_id: '464', data: { schedule: { id: 'late' } } },
  ]);
  const again = { schedule: 'late', minutes: 10 };
  expect(await site.lan.ask('postpone', again)).toMatchObject({ outcome: 'refused', error: { code: 'CODE_REQUIRED' } });
  expect(await site.lan.ask('postpone', { ...again, code })).toMatchObject({
    outcome: 'done',
    data: { at: new Date(due + 40 * minute).toISOString(), times_left: 0 },
  });
  expect(put.out + put.err + site.daemon.lines().join('\n')).not.toContain(code);
  expect(Date.now()).toBeLessThan(due);
});

test('at its time each schedule does what it says', patience, async () => {
  await site.lan.shows('partition/p1/state', 'armed_away', due - Date.now() + 60_000);
  await site.lan.shows('partition/p3/state', 'armed_night', 60_000);
  await eventually('the closing', () => seen('armed_away')[0], { timeoutMs: 60_000 });
  expect(seen('armed_away')).toMatchObject([
    { partition: 'p1', source: 'schedule', actor: 'closed', contact_id: '403' },
  ]);
  const bypassed = await eventually('the bypass', () => seen('zone_bypassed')[0], { timeoutMs: 60_000 });
  expect(bypassed).toMatchObject({ partition: 'p3', zone: '3', actor: 'bypassed' });
  const announced = await eventually('the announcement', () => seen('announcement')[0], { timeoutMs: 60_000 });
  expect(announced).toMatchObject({ class: 'audio', data: { schedule: { message: 'We close now.' } } });
  const failed = await inCloud('fail_to_arm');
  expect(failed.body).toMatchObject({
    event_type: 'trouble',
    should_signal_to_monitoring_center: true,
    payload: { partition: 'p2', contact_id: '454', sia: 'CI', data: { schedule: { id: 'open', reason: 'NOT_READY' } } },
  });
  const proof = await inCloud('periodic_test');
  expect(proof.body).toMatchObject({
    should_signal_to_monitoring_center: true,
    payload: { class: 'test', contact_id: '602', sia: 'RP' },
  });
  expect(['p2', 'p4'].map((id) => site.lan.retained(`partition/${id}/state`))).toEqual(['disarmed', 'disarmed']);
});

test(
  'safety 7: what a schedule could not arm shows until somebody has seen to it, also over a power cut',
  patience,
  async () => {
    const notArmed = /p2 +Part 2 +NOT ARMED by schedule open at \S+, not ready: zones 2 Window 2;/;
    const { out } = await run(['status']);
    expect(out).toMatch(notArmed);
    expect(out).toMatch(/fail_to_arm +bridge siteward p2 +since/);
    const events = await run(['events', '--class', 'trouble']);
    expect(events.out).toMatch(/fail_to_arm +p2 zones 2 /);
    const detail = () => JSON.parse(site.lan.retained('partition/p2/detail') ?? '{}') as Record<string, unknown>;
    expect(detail().not_armed).toMatchObject({ schedule: 'open', reason: 'NOT_READY', zones: ['2'] });
    await site.daemon.kill();
    await site.daemon.restart();
    expect((await run(['status'])).out).toMatch(notArmed);
    expect(await run(['disarm', 'p2', '--code-stdin'], code)).toMatchObject({
      status: 0,
      out: 'p2 is already disarmed\n',
    });
    expect((await run(['status'])).out).not.toContain('NOT ARMED');
    await eventually('the end on the LAN', () => (detail().not_armed === undefined ? true : undefined), {
      timeoutMs: 60_000,
    });
  },
);

test('nothing is done again after a power cut, and an arming missed in it is done at the start', patience, async () => {
  expect(await site.lan.ask('disarm', { partition: 'p1', code })).toMatchObject({ outcome: 'done' });
  const missed = nextMinute(20_000);
  const text = readFileSync(site.config, 'utf8');
  const more = schedule('missed', missed, 'arm: { partitions: [p5] }');
  writeFileSync(site.config, text.replace('schedules:\n', `schedules:\n  - ${more}\n`));
  site.daemon.reload();
  await eventually('the new schedule', async () => {
    const { out } = await siteward(['--json']);
    return out.includes('"missed"') ? true : undefined;
  });
  expect(Date.now()).toBeLessThan(missed);
  await site.daemon.kill();
  await eventually('its time', () => (Date.now() > missed + 5_000 ? true : undefined), { timeoutMs: 2 * minute });
  const before = site.lan.events.length;
  await site.daemon.restart();
  await site.lan.shows('partition/p5/state', 'armed_away', 60_000);
  const after = site.lan.events.slice(before).map(({ event }) => event);
  expect(after.filter(({ class: kind }) => kind === 'arming')).toMatchObject([{ partition: 'p5', actor: 'missed' }]);
  expect(site.lan.retained('partition/p1/state')).toBe('disarmed');
  expect((await siteward([])).out).toMatch(/late +postponed from/);
});

test('what a removed schedule armed stays armed', patience, async () => {
  const text = readFileSync(site.config, 'utf8');
  writeFileSync(site.config, text.replace(/schedules:\n( {2}- .*\n)+/, 'schedules: []\n'));
  site.daemon.reload();
  await eventually('no schedules', async () => {
    const { out } = await siteward([]);
    return out.includes('nothing is done by the clock') ? true : undefined;
  });
  expect(['p3', 'p5'].map((id) => site.lan.retained(`partition/${id}/state`))).toEqual(['armed_night', 'armed_away']);
});
