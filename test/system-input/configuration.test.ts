import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, member } from '#sandbox/demo/processes.ts';
import { launch } from './process.ts';
import { cli, openLan, type Rig, startRig, threePartitions } from './rig.ts';

const zone = (n: number) => `      "${n}": { type: perimeter, name: Door ${n}, key: door_${n}, partition: p1 }\n`;
const withZones = (...numbers: number[]) =>
  `${threePartitions}panels:\n  - id: sensors\n    profile: zigbee2mqtt\n    zones:\n${numbers.map(zone).join('')}`;
/** Two errors, on known lines of what follows the fixed sections. */
const broken = `${withZones(1, 2)}armin: { disarm_code: required }\nmedia: { snapshots: many }\n`;
const place = (rig: Rig) => new RegExp(`${rig.configFile.replaceAll('.', '\\.')}:\\d+:\\d+`);

let rig: Rig;
beforeEach(async () => {
  rig = await startRig({ sections: withZones(1, 2).slice(threePartitions.length) });
  await rig.daemon.line('the panels subscribed', (line) =>
    line.includes('listening to the panels') ? true : undefined,
  );
  for (const n of [1, 2]) await rig.lan.publish(`zigbee2mqtt/door_${n}`, '{"contact":true}');
  for (const n of [1, 2]) await rig.lan.shows(`zone/${n}/state`, 'OFF');
});
afterEach(() => rig?.close());

/** Sends SIGHUP and resolves with the log line that ends the reload. */
async function reload(): Promise<Record<string, unknown>> {
  const since = rig.daemon.stdout.length;
  rig.daemon.signal('SIGHUP');
  const ends = ['configuration read again', 'the configuration was not taken; the running one stays'];
  const line = await rig.daemon.line(
    'the end of the reload',
    (text) => (ends.includes(String(member(text, 'msg'))) ? text : undefined),
    { since },
  );
  return JSON.parse(line) as Record<string, unknown>;
}

async function doorWorks(n: number): Promise<void> {
  await rig.lan.publish(`zigbee2mqtt/door_${n}`, '{"contact":false}');
  await rig.lan.shows(`zone/${n}/state`, 'ON');
  await rig.lan.publish(`zigbee2mqtt/door_${n}`, '{"contact":true}');
  await rig.lan.shows(`zone/${n}/state`, 'OFF');
}

describe('SIGHUP with a good file', () => {
  it('brings the new zone, retracts the removed one, and leaves the rest alone', async () => {
    expect((await rig.lan.command('arm', { partition: 'p2', mode: 'away' })).outcome).toMatch(/accepted|done/);
    await rig.lan.shows('partition/p2/state', 'armed_away');
    rig.configure(withZones(1, 3));
    const told = await reload();
    expect(told).toMatchObject({ msg: 'configuration read again', swapped: ['panels'] });
    await eventually('zone 3 on the LAN', () => (rig.lan.topics.has('zone/3/detail') ? true : undefined));
    await eventually('zone 2 gone', () => (rig.lan.topics.has('zone/2/detail') ? undefined : true));
    await doorWorks(1);
    await doorWorks(3);
    const late = await openLan(rig.mqttUrl);
    try {
      await late.shows('zone/3/state', 'OFF');
      expect([...late.topics.keys()].filter((topic) => topic.startsWith('zone/2/'))).toEqual([]);
      expect(late.topics.get('partition/p2/state')).toBe('armed_away');
    } finally {
      await late.close();
    }
    // The daemon's own connection to the LAN was not touched.
    expect(rig.lan.heard.filter(({ topic, payload }) => topic === 'status' && payload === 'offline')).toEqual([]);
  });

  it('keeps what a zone was known to be', async () => {
    await rig.lan.publish('zigbee2mqtt/door_1', '{"contact":false}');
    await rig.lan.shows('zone/1/state', 'ON');
    rig.configure(withZones(1, 2, 3));
    await reload();
    await eventually('zone 3', () => (rig.lan.topics.has('zone/3/detail') ? true : undefined));
    expect(rig.lan.topics.get('zone/1/state')).toBe('ON');
  });

  it('takes the new text of a profile whose name stayed', async () => {
    const shipped = readFileSync(join(import.meta.dirname, '../../config/panels/zigbee2mqtt.json'), 'utf8');
    const own = join(rig.folder, 'panels', 'own.json');
    const write = (topic: string) =>
      writeFileSync(
        own,
        shipped.replace('"id": "zigbee2mqtt"', '"id": "own"').replace('"b": "zigbee2mqtt"', `"b": "${topic}"`),
      );
    mkdirSync(join(rig.folder, 'panels'));
    write('first');
    rig.configure(withZones(1).replace('profile: zigbee2mqtt', 'profile: own'));
    expect(await reload()).toMatchObject({ swapped: ['panels'] });
    expect(await reload()).toMatchObject({ swapped: [] });
    write('second');
    expect(await reload()).toMatchObject({ swapped: ['panels'] });
    const listening = await rig.daemon.line('the new filters', (line) =>
      line.includes('second/+') ? line : undefined,
    );
    expect(listening).not.toContain('first/+');
  });

  it('twice at once ends with the new configuration, each part there once', async () => {
    const since = rig.daemon.stdout.length;
    rig.configure(withZones(1, 2, 3));
    rig.daemon.signal('SIGHUP');
    await new Promise((resolve) => setTimeout(resolve, 30));
    rig.daemon.signal('SIGHUP');
    await eventually('zone 3', () => (rig.lan.topics.has('zone/3/detail') ? true : undefined));
    await rig.daemon.line(
      'the end of a reload',
      (line) => (line.includes('configuration read again') ? true : undefined),
      { since },
    );
    await doorWorks(3);
    await doorWorks(1);
    const said = rig.daemon.stdout.slice(since);
    // One swap of the panels: a second one side by side would fight with it for the broker's session.
    expect(said.filter((line) => line.includes('listening to the panels')).length).toBe(1);
    expect(said.filter((line) => /"level":"(warn|error|fatal)"/.test(line))).toEqual([]);
    await rig.daemon.stop();
    expect(rig.daemon.ended()).toBe(0);
  });
});

describe('SIGHUP with a bad file', () => {
  it('changes nothing, says where the mistakes are, and a mended file is taken', async () => {
    rig.configure(broken);
    const told = await reload();
    expect(told).toMatchObject({ level: 'error', msg: expect.stringContaining('the running one stays') });
    expect(String(told.reason)).toMatch(place(rig));
    expect(String(told.reason)).toContain('arming');
    await doorWorks(1);
    await doorWorks(2);
    const { config } = await rig.status();
    expect(config.last_good).toBe(false);
    expect(config.error).toMatch(place(rig));
    expect(await rig.statusText()).toMatch(/last reload refused/);
    rig.configure(withZones(1, 2, 3));
    await reload();
    await eventually('zone 3', () => (rig.lan.topics.has('zone/3/detail') ? true : undefined));
    expect((await rig.status()).config.error).toBeUndefined();
  });

  it.each([
    ['that is empty', ''],
    ['that is not YAML', 'site: { id: "1"\n  - ]['],
    ['of bytes', '\u0000\uFFFD\u0001'],
    ['with a list where a section belongs', '- 1\n- 2\n'],
  ])('%s changes nothing', async (_, text) => {
    writeFileSync(rig.configFile, text);
    const told = await reload();
    expect(told).toMatchObject({ level: 'error', reason: expect.stringContaining(rig.configFile) });
    await doorWorks(1);
  });

  it.each([
    [
      'another folder of the store',
      (text: string) => text.replace(/(store:\s*\{?\s*dir:\s*)([^,\n}]+)/, '$1/tmp/siteward-elsewhere'),
      'store.dir',
    ],
    ['another site', (text: string) => text.replace(/external_id: \w+/, 'external_id: another'), 'site.external_id'],
  ])('with %s is refused, and what is armed stays armed', async (_, edit, key) => {
    expect((await rig.lan.command('arm', { partition: 'p2', mode: 'away' })).outcome).toMatch(/accepted|done/);
    await rig.lan.shows('partition/p2/state', 'armed_away');
    const before = readFileSync(rig.configFile, 'utf8');
    const after = edit(before);
    expect(after).not.toBe(before);
    writeFileSync(rig.configFile, after);
    expect(await reload()).toMatchObject({
      level: 'error',
      reason: expect.stringContaining(`${key} cannot change while`),
    });
    await doorWorks(1);
    expect(rig.lan.topics.get('partition/p2/state')).toBe('armed_away');
    expect((await rig.status()).config.error).toContain('restart siteward');
  });

  it('that is gone changes nothing', async () => {
    rmSync(rig.configFile);
    expect(await reload()).toMatchObject({ level: 'error' });
    await doorWorks(2);
    expect(await rig.statusText()).toMatch(/last reload refused/);
  });
});

describe('a start with a broken file', () => {
  it('runs on the last good copy and says so in the log, on standard error and in the status', async () => {
    await rig.daemon.stop();
    rig.configure(broken);
    await rig.start();
    expect(rig.daemon.stderr.join('\n')).toMatch(place(rig));
    const logged = rig.daemon.stdout.find((line) => line.includes('running on the last good copy'));
    expect(member(logged ?? '', 'level')).toBe('error');
    expect(await rig.statusText()).toMatch(/HAS ERRORS, running on the last good copy/);
    const { config } = await rig.status();
    expect(config).toMatchObject({ path: rig.configFile, last_good: true, error: expect.stringMatching(place(rig)) });
    await rig.lan.shows('status', 'online');
    await doorWorks(1);
    await doorWorks(2);
  });

  it('with --strict exits with 78 and all errors on standard error', async () => {
    await rig.daemon.stop();
    rig.configure(broken);
    const strict = launch(process.execPath, [cli, 'run', '--config', rig.configFile, '--strict']);
    expect(await strict.exited).toBe(78);
    const said = strict.stderr.join('\n');
    expect(said).toMatch(/armin\b.*arming/);
    expect(said).toMatch(/media\.snapshots/);
    expect(said.match(new RegExp(place(rig), 'g'))?.length).toBe(2);
  });

  it('and no last good copy exits with 78', async () => {
    await rig.daemon.stop();
    rmSync(join(rig.folder, 'state'), { recursive: true });
    rig.configure(broken);
    const started = launch(process.execPath, [cli, 'run', '--config', rig.configFile]);
    expect(await started.exited).toBe(78);
    expect(started.stderr.join('\n')).toMatch(place(rig));
  });
});
