import { describe, expect, it } from 'vitest';
import { type Compiled, emptyMemory, interpret, profileIds, renderCommand } from '#devices/panels/index.ts';
import { Secret } from '#lib/secret.ts';
import { compare } from '../../../src/cli/panel/means.ts';
import {
  compilePreset,
  fixtures,
  presets,
  readFixture,
  readOne,
  readSamples,
  type Sample,
  sampleFiles,
  samplesMissing,
} from './helpers.ts';
import { recordings, rowsOf } from './recordings.ts';
import { expectReadings, readingsOf, sayNothing } from './rows.ts';

const why = samplesMissing ? ' (skipped: ../shared/data/panel-samples is not there)' : '';

describe.skipIf(samplesMissing)(`every recorded message${why}`, () => {
  it.each(recordings)('of $file is read by $id as it is meant', (recording) => {
    const counts = expectRead(compilePreset(recording.id, recording.options), rowsOf(recording), recording.perDevice);
    expect([counts.compared, counts.nothing]).toEqual(recording.rows);
  });

  it.each(recordings)('of $file means to "siteward panel try $id" what it says', (recording) => {
    const compiled = compilePreset(recording.id, recording.options);
    let compared = 0;
    for (const { dir, topic, payload, retain, means } of rowsOf(recording)) {
      if (dir !== 'from_bridge') continue;
      const told = compare(means, readOne(compiled, topic, payload, retain).readings, { retain });
      expect(told.differs, `${topic} ${payload}`).toEqual([]);
      if (told.compared.length > 0) compared += 1;
    }
    expect(compared).toBe(recording.rows[0]);
  });

  it.each(recordings)('that $id would send is sent as it was recorded, and none is read back ($file)', (recording) => {
    expect(sentOf(compilePreset(recording.id, recording.options), rowsOf(recording))).toBe(recording.commands);
  });
});

describe.skipIf(samplesMissing)(`the recordings${why}`, () => {
  it('are all there is, and every row of each belongs to one preset or to the receiver', () => {
    const files = sampleFiles().filter((file) => file !== 'sia_dc09_frames');
    expect([...new Set(recordings.map(({ file }) => file))].sort()).toEqual(files.sort());
    for (const file of files) {
      const read = recordings.filter((one) => one.file === file).flatMap(rowsOf);
      expect(read.length, file).toBe(readSamples(file).length);
    }
    const all = recordings.reduce((sum, { rows: [compared, nothing] }) => sum + compared + nothing, 0);
    const commands = recordings.flatMap(rowsOf).filter(({ dir }) => dir === 'to_bridge').length;
    expect([all, commands]).toEqual([208, 65]);
  });
});

describe('every message written after the documentation', () => {
  it.each(fixtures)('of %s is read as it is meant, and its commands are sent as written', (id) => {
    const rows = readFixture(id);
    const compiled = compilePreset(id);
    expectRead(compiled, rows);
    expect(sentOf(compiled, rows)).toBe(rows.filter((row) => row.dir === 'to_bridge').length);
  });
});

/** Reads the rows of the bridge and gives how many were compared, and how many say nothing siteward has a word for. */
function expectRead(compiled: Compiled, rows: readonly Sample[], perDevice = false) {
  const counts = { compared: 0, nothing: 0 };
  const heard = rows.filter((row) => row.dir === 'from_bridge');
  expect(heard.length).toBeGreaterThan(0);
  for (const row of heard) {
    const about = `${row.topic} ${row.payload}`;
    // The zone that set an alarm off is told by a live message only; a kept one tells the state.
    const retain = row.retain && (row.means.state !== 'triggered' || row.means.zone === undefined);
    const { readings, notes } = readOne(compiled, row.topic, row.payload, retain);
    if (sayNothing(row.means)) {
      counts.nothing += 1;
      expect(
        notes.filter(({ kind }) => kind !== 'unmatched' && kind !== 'ignored'),
        about,
      ).toEqual([]);
      expect(
        readings.filter(({ kind }) => kind === 'partition' || kind === 'link'),
        about,
      ).toEqual(row.means.snapshot === true ? expect.anything() : []);
      continue;
    }
    const isNothing = readingsOf(row.means).length === 0;
    counts[isNothing ? 'nothing' : 'compared'] += 1;
    // An LED nobody needs is not listened to.
    if (isNothing && notes[0]?.kind === 'unmatched') continue;
    expectReadings(readings, perDevice ? deviceMeans(row, readings) : row.means, about);
    expect(notes, about).toEqual([]);
  }
  return counts;
}

/** How many of the commands in the rows are sent word for word; none of them may be read back. */
function sentOf(compiled: Compiled, rows: readonly Sample[]): number {
  const commands = rows.filter((row) => row.dir === 'to_bridge');
  for (const row of commands) {
    expect(readOne(compiled, row.topic, row.payload).notes, row.topic).toEqual([{ kind: 'unmatched' }]);
  }
  return commands.filter((row) => sentLike(compiled, row)).length;
}

/** Whether one of the profile's commands for the row's meaning is, word for word, what was recorded. */
function sentLike(compiled: Compiled, row: Sample): boolean {
  const { cmd, all, user, kind, partition } = row.means;
  if (all === true || user !== undefined || (cmd === 'panic' && kind !== undefined)) return false;
  const name = String(cmd).replace('arm_custom_bypass', 'arm_custom');
  const action = [...compiled.out.keys()].find((one) => one === name);
  if (action === undefined) return false;
  const recorded = jsonOf(row.payload);
  const given = recorded?.code ?? row.means.code;
  const code = given === undefined ? undefined : new Secret(String(given));
  const keyOf = (topic: string, template: string, hole: string) =>
    topic.split('/')[template.split('/').findIndex((level) => level.includes(hole))];
  const template = compiled.out.get(action)?.topic ?? '';
  const key =
    partition ??
    recorded?.partition ??
    recorded?.partition_id ??
    recorded?.area ??
    keyOf(row.topic, template, '{partition}');
  const rendered = renderCommand(compiled, {
    action: action as Parameters<typeof renderCommand>[1]['action'],
    partition: String(key ?? '1'),
    zone: keyOf(row.topic, template, '{zone}') ?? '',
    code,
    tokens: new Map([['session_token', new Secret('<session_token>')]]),
  });
  const own = jsonOf(rendered.payload);
  if (rendered.topic !== row.topic || (own === undefined) !== (recorded === undefined)) return false;
  if (own === undefined) return rendered.payload === row.payload;
  // A recording may hold more than a command needs, such as a delay of its own.
  return Object.entries(own).every(([member, value]) => recorded?.[member] === value);
}

function jsonOf(text: string): Record<string, unknown> | undefined {
  return text.trimStart().startsWith('{') ? JSON.parse(text) : undefined;
}

/** What a device says of itself it says of its zones. */
function deviceMeans(row: Sample, readings: ReturnType<typeof readOne>['readings']): Sample['means'] {
  const { bridge, ...means } = row.means;
  const [first] = readings;
  if (bridge === undefined || first?.kind !== 'zone') return row.means;
  return { ...means, zone: first.key, online: bridge === 'online' };
}

describe('the presets', () => {
  it('are all replayed: by recordings, or by messages written for these tests', () => {
    const recorded = recordings.map(({ id }) => id);
    for (const id of profileIds([presets])) {
      expect(compilePreset(id).profile.from_documentation === true, id).toBe(!recorded.includes(id));
      expect(recorded.includes(id) || fixtures.includes(id), id).toBe(true);
    }
  });

  it('never raise the retained reports of ad2iot or the log of texecom2mqtt', () => {
    const log = '{"type":"ArmFailed","areas":["A"],"parameter":8}';
    const kept = [
      readOne(
        compilePreset('ad2iot', { vars: { uuid: 'u' } }),
        'ad2iot/u/cid',
        '{"event_message":"!LRR:008,1,CID_1130,ff"}',
        true,
      ),
      readOne(compilePreset('texecom2mqtt'), 'texecom2mqtt/log', log, true),
    ];
    for (const { readings } of kept) expect(readings).toMatchObject([{ context: true }]);
  });

  it('keep what a partition was when the bridge says a word of the moment', () => {
    const compiled = compilePreset('envisalink-open-zone');
    let memory = emptyMemory();
    const say = (state: string) => {
      const payload = new TextEncoder().encode(JSON.stringify({ state }));
      const result = interpret(compiled, memory, { topic: 'tele/envisalink/partition/1', payload, retain: false });
      memory = result.memory;
      return result.readings;
    };
    say('armed-away');
    const armed = memory;
    expect(say('busy')).toEqual([]);
    expect(say('arm-failed')).toMatchObject([{ fault: 'arm_failed' }]);
    expect(memory).toBe(armed);
  });
});
