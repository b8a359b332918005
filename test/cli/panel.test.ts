import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { presets, samplesMissing } from '../devices/panels/helpers.ts';
import { siteward } from './run-cli.ts';

const samples = join(import.meta.dirname, '../../../shared/data/panel-samples');
const mine = {
  id: 'mine',
  title: 'My bridge',
  version: 1,
  hardware: ['Mine 8'],
  vars: { b: 'mine' },
  identity: { partition: 'number', zone: 'number' },
  code: { mode: 'in-payload' },
  caps: ['disarm'],
  in: [
    {
      topic: '$b/area/{partition}',
      read: [{ for: 'partition', set: 'state', map: { on: 'armed_away', off: 'disarmed' } }],
    },
    { topic: '$b/entry/{partition}', read: [{ for: 'partition', set: 'state', map: { on: 'pending', off: null } }] },
    { topic: '$b/door/{zone}', read: [{ for: 'zone', at: '/open', set: 'open' }] },
  ],
  out: { disarm: { topic: '$b/cmd', payload: 'off {code}' } },
};

let folder: string;
let config: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-panel-'));
  config = join(folder, 'siteward.yaml');
  mkdirSync(join(folder, 'panels'));
  writeFileSync(join(folder, 'panels/mine.json'), JSON.stringify(mine));
  writeFileSync(join(folder, 'panels/broken.json'), JSON.stringify({ ...mine, id: 'broken', in: [] }));
  writeFileSync(join(folder, 'panels/torn.json'), '{ "id": "torn",\n  "title": "x",, }');
  writeFileSync(join(folder, 'panels/pai.json'), JSON.stringify({ ...mine, id: 'pai' }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const panel = (...args: string[]) => siteward(['panel', ...args, '--config', config]);
/** A recording with these rows. */
function recording(...rows: readonly object[]): string {
  const file = join(folder, `rows-${Math.random()}.jsonl`);
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return file;
}

describe('siteward panel list', () => {
  test('shows presets and the site’s own profiles, and broken ones with what is wrong', async () => {
    const { code, out } = await panel('list', '--json');
    const entries = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const find = (id: string) => entries.find((entry) => entry.id === id);
    expect(code).toBe(0);
    expect(find('zigbee2mqtt')).toMatchObject({
      own: false,
      commands: [],
      file: expect.stringContaining('zigbee2mqtt.json'),
    });
    // Its bridge takes `panic` as well, which siteward never sends.
    expect(find('dsc-keybus').commands).toEqual(expect.arrayContaining(['disarm', 'arm_away']));
    expect(find('dsc-keybus').commands).not.toContain('panic');
    expect(find('galaxy-sia2mqtt4ha')).toMatchObject({ from: 'documentation', supported: false });
    const { notes } = JSON.parse(readFileSync(join(presets, 'texecom2mqtt.json'), 'utf8'));
    expect([find('texecom2mqtt').notes, notes.length > 0]).toEqual([notes, true]);
    expect(find('mine')).toMatchObject({ own: true, title: 'My bridge', commands: ['disarm'], code: 'in-payload' });
    expect(find('sia-dc09')).toMatchObject({ own: false, commands: [], from: 'the standard' });
    expect(find('pai')).toMatchObject({ own: true, hides_preset: true });
    expect(find('broken').error).toContain('profile broken: in:');
    expect(find('torn').error).toContain('is not JSON (line 2, column 16)');
    for (const file of readdirSync(presets)) expect(find(file.replace('.json', '')).error ?? '', file).toBe('');
  });

  test('is readable', async () => {
    const { out } = await panel('list');
    expect(out).toMatch(/^mine +\S+mine\.json +My bridge +- +disarm +Mine 8$/m);
    expect(out).toMatch(/^zigbee2mqtt +preset, supported +.* from recordings +reads only /m);
    expect(out).toMatch(/^sia-dc09 +built in +Panels that call by SIA DC-09 .* reads only/m);
    expect(out).toMatch(/^broken .* broken: profile broken: in:/m);
    expect(out).toMatch(/^pai +\S+ \(instead of the preset\)/m);
  });
});

describe('siteward panel try', () => {
  const door = (payload: string) => ({ topic: 'mine/door/7', payload, retain: false });

  test('shows each row with its meaning, keeps what earlier rows said, and counts what is not understood', async () => {
    const file = recording(
      { topic: 'mine/area/1', payload: 'on', retain: true },
      { topic: 'mine/entry/1', payload: 'on' },
      door('{"open":true}'),
      door('{"open":"half"}'),
      { topic: 'other/x', payload: '1' },
    );
    const { code, out, err } = await panel('try', 'mine', '--replay', file);
    expect(err).toBe('');
    expect(out.split('\n').slice(0, 5)).toEqual([
      'mine/area/1  on (retained)  ->  partition 1: armed_away',
      'mine/entry/1  on  ->  partition 1: pending',
      'mine/door/7  {"open":true}  ->  zone 7: open',
      'mine/door/7  {"open":"half"}  ->  unknown value of zone.open: half',
      'other/x  1  ->  no topic of the profile',
    ]);
    expect(out).toContain('4 messages belong to the profile: 3 understood, 1 not (75%)');
    expect(out).toContain('unknown value of zone.open on mine/door/{zone}: half');
    expect(code).toBe(0);
  });

  test('compares with what rows mean, each on its own, and ends with 1 at a difference', async () => {
    const right = [
      { topic: 'mine/entry/1', payload: 'on', means: { partition: '1', state: 'pending' } },
      { topic: 'mine/area/1', payload: 'off', means: { partition: '1', state: 'disarmed', delay: 30 } },
    ];
    const good = await panel('try', 'mine', '--replay', recording(...right));
    expect(good).toMatchObject({ code: 0, out: expect.stringContaining('2 rows say what they mean; all are read so') });
    const wrong = { ...door('{"open":true}'), means: { zone: '7', open: false } };
    const bad = await panel('try', 'mine', '--replay', recording(...right, wrong), '--json');
    const lines = bad.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(bad.code).toBe(1);
    expect(lines[2]).toMatchObject({ kind: 'row', line: 3, differs: ['open should be false and is true'] });
    expect(lines[3]).toMatchObject({ kind: 'summary', rows: 3, compared: 3, differing: 1, share: 1 });
  });

  test('shows no code, not in the text and not in JSON', async () => {
    const file = recording(
      door('{"open":true,"user_code":"48270391"}'),
      door('{"open":"48270391"}'),
      { topic: 'mine/area/1', payload: '48270391' },
      { topic: 'mine/cmd', payload: 'off 48270391' },
    );
    for (const more of [[], ['--json']])
      expect((await panel('try', 'mine', '--replay', file, ...more)).out).not.toContain('48270391');
  });

  test('takes a file for the profile, and variables', async () => {
    const file = recording({ topic: 'shop/area/2', payload: 'off' });
    const path = join(folder, 'panels/mine.json');
    const { code, out } = await panel('try', path, '--replay', file, '--var', 'b=shop');
    expect([code, out.split('\n')[0]]).toEqual([0, 'shop/area/2  off  ->  partition 2: disarmed']);
    expect(await panel('try', path, '--replay', file)).toMatchObject({
      code: 1,
      err: expect.stringContaining('no message of'),
    });
  });

  test.each([
    ['a profile that is not there', ['nothing-such'], 78, 'there is no such profile; there are'],
    ['a broken profile', ['broken'], 78, 'profile broken: in:'],
    ['a variable it does not have', ['mine', '--var', 'x=y'], 78, 'the profile has no such variable'],
    ['a variable that is none', ['mine', '--var', 'x'], 2, 'NAME=VALUE'],
  ] as const)('says what is wrong with %s', async (_what, args, code, said) => {
    const file = recording(door('1'));
    expect(await panel('try', ...args, '--replay', file)).toMatchObject({ code, err: expect.stringContaining(said) });
  });

  test('says which line of a recording is no message', async () => {
    const file = recording(door('{}'), { frame: 'x' });
    expect(await panel('try', 'mine', '--replay', file)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`${file}:2: is no message`),
    });
  });

  test('says what is wrong with a recording that cannot be opened', async () => {
    const none = join(folder, 'none.jsonl');
    expect(await panel('try', 'mine', '--replay', none)).toEqual({
      code: 1,
      out: '',
      err: `siteward: ${none} cannot be used: there is no such file or folder (file_unusable)\n`,
    });
    expect((await panel('try', 'mine', '--replay', folder)).err).toContain('(file_unusable)');
  });

  test.skipIf(samplesMissing)('reads the recordings of the supported presets as they are meant', async () => {
    for (const [id, file] of [
      ['dsc-keybus', 'dsc_keybus'],
      ['zigbee2mqtt', 'zigbee2mqtt'],
      ['pai', 'pai'],
      ['alarmo', 'alarmo'],
      ['envisalink-open-zone', 'envisalink_open_zone'],
    ] as const) {
      const own = join(presets, `${id}.json`);
      expect(existsSync(own)).toBe(true);
      const { code, out } = await panel('try', own, '--replay', join(samples, `${file}.jsonl`));
      expect([code, out], id).toEqual([0, expect.stringContaining('all are read so')]);
    }
  });

  test('needs no configuration', async () => {
    const file = recording({ topic: 'dsc/Get/Zone1', payload: '1' });
    const ran = await siteward(['panel', 'try', 'dsc-keybus', '--replay', file, '--config', '/nowhere/siteward.yaml']);
    expect(ran).toMatchObject({ code: 0, out: expect.stringContaining('zone 1: open') });
    expect(readFileSync(file, 'utf8')).not.toBe('');
  });
});

describe('siteward panel try sia-dc09', () => {
  test.each<[string, RegExp]>([
    ['Nri1/BA2', /^BA .*number 2 +burglary$/m],
    ['#1234|Nri1/OP7', /^OP .*area 1 .*the partition is disarmed$/m],
    ['3130 01 005', /^3130 .*area 01 +number 005 +burglary, its end$/m],
    ["Nri2/FA9^it's 4711^", /^FA .*fire alarm$/m],
  ])('reads %s', async (frame, said) => {
    const { code, out } = await panel('try', 'sia-dc09', '--frame', frame);
    expect([code, out]).toEqual([0, expect.stringMatching(said)]);
    expect(out).not.toContain('4711');
  });

  test('says what is wrong with a frame, and which option is meant', async () => {
    expect(await panel('try', 'sia-dc09', '--frame', 'hello')).toMatchObject({
      code: 78,
      err: expect.stringContaining('no report that can be read'),
    });
    expect(await panel('try', 'sia-dc09')).toMatchObject({ code: 2, err: expect.stringContaining('takes --frame') });
    expect(await panel('try', 'mine')).toMatchObject({ code: 2, err: expect.stringContaining('takes --replay') });
  });
});
