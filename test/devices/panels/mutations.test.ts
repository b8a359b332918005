import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Compiled,
  createMapping,
  emptyMemory,
  interpret,
  type Memory,
  mapReading,
  profileIds,
  type Reading,
} from '#devices/panels/index.ts';
import {
  compilePreset,
  fixtures,
  panel,
  preset,
  presets,
  readFixture,
  readOne,
  type Sample,
  samplesMissing,
} from './helpers.ts';
import { recordings, rowsOf } from './recordings.ts';
import { statesOf } from './rows.ts';

interface Traffic {
  readonly id: string;
  readonly compiled: Compiled;
  readonly rows: readonly Sample[];
}

/** All traffic there is: what was recorded, where it is at hand, and what was written for these tests. */
const traffic: readonly Traffic[] = [
  ...recordings.map((one) => ({ id: one.id, compiled: compilePreset(one.id, one.options), rows: rowsOf(one) })),
  ...fixtures.map((id) => ({ id, compiled: compilePreset(id), rows: readFixture(id) })),
]
  .map(({ rows, ...rest }) => ({ ...rest, rows: rows.filter((row) => row.dir === 'from_bridge') }))
  .filter(({ rows }) => rows.length > 0);

const encoder = new TextEncoder();

/** What all the messages together say: the last word on every partition, zone, trouble and link. */
function picture(compiled: Compiled, messages: readonly Sample[]): Record<string, unknown> {
  let memory = emptyMemory();
  const known: Record<string, unknown> = {};
  for (const { topic, payload } of messages) {
    const result = interpret(compiled, memory, { topic, payload: encoder.encode(payload), retain: true });
    memory = result.memory;
    for (const reading of result.readings) if (!reading.context) Object.assign(known, facts(reading));
  }
  return known;
}

function facts(reading: Reading): Record<string, unknown> {
  const { kind, replay: _, context: __, ...rest } = reading;
  const name = 'key' in rest ? rest.key : 'trouble' in rest ? rest.trouble : 'layer' in rest ? rest.layer : '';
  return Object.fromEntries(Object.entries(rest).map(([field, value]) => [`${kind} ${name} ${field}`, value]));
}

describe('all retained messages of a bridge', () => {
  it.skipIf(samplesMissing)('are there for every preset', () => {
    expect([...new Set(traffic.map(({ id }) => id))].sort()).toEqual([...profileIds([presets])].sort());
  });

  it.each(traffic)('give one picture in whatever order they come: $id', ({ compiled, rows }) => {
    const topics = [...Map.groupBy(rows, (row) => row.topic).values()];
    const world = fc.tuple(...topics.map((choices) => fc.constantFrom(...choices))).chain((messages) => {
      const order = fc.shuffledSubarray(messages, { minLength: messages.length });
      return fc.tuple(order, order);
    });
    fc.assert(
      fc.property(world, ([one, other]) => {
        expect(picture(compiled, one)).toEqual(picture(compiled, other));
      }),
      { numRuns: 60 },
    );
  });
});

describe('a message in another form', () => {
  it.each(traffic)('means the same with a mark, a line end, quotes, or twice: $id', ({ compiled, rows }) => {
    for (const { topic, payload } of rows) {
      const said = readOne(compiled, topic, payload);
      const forms = [`\uFEFF${payload}`, `${payload}\n`, `  ${payload}\r\n`];
      if (!/^[[{]/.test(payload)) forms.push(JSON.stringify(payload));
      for (const form of forms)
        expect(readOne(compiled, topic, form).readings, `${topic} ${form}`).toEqual(said.readings);
      const message = { topic, payload: encoder.encode(payload), retain: false };
      const twice = interpret(compiled, said.memory, message);
      // A zone that an alarm names begins anew only the first time.
      const isFirst = (one: Reading, i: number) =>
        one.kind !== 'zone' ||
        !said.readings.some((other, j) => j > i && other.kind === 'zone' && other.key === one.key);
      const names = compiled.rules.some(({ reads }) => reads.some(({ lasts }) => lasts !== null));
      expect(twice.readings, topic).toEqual(names ? said.readings.filter(isFirst) : said.readings);
    }
  });

  it.each(traffic)('means the same or nothing in the other case: $id', ({ compiled, rows }) => {
    for (const { topic, payload } of rows) {
      const swapped = [...payload].map((one) => (one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase()));
      const said = Object.assign({}, ...readOne(compiled, topic, payload).readings.map(facts));
      const other = Object.assign({}, ...readOne(compiled, topic, swapped.join('')).readings.map(facts));
      for (const [name, value] of Object.entries(other)) {
        if (/^(partition|zone|trouble|link)/.test(name)) expect(value, `${topic} ${name}`).toEqual(said[name]);
      }
    }
  });

  it.each(traffic)('retained tells the state and no more: $id', ({ id, compiled, rows }) => {
    const zones = new Set(rows.flatMap((row) => (typeof row.means.zone === 'string' ? [row.means.zone] : [])));
    const numbered = [...zones].map((key, i) => [
      String(i + 1),
      { type: 'perimeter', key: key.replaceAll(/[/+#]/g, '_') },
    ]);
    const given = panel({ id: 'main', profile: id, zones: Object.fromEntries(numbered) });
    const mapping = createMapping(given, compiled.profile.identity);
    for (const { topic, payload } of rows) {
      for (const reading of readOne(compiled, topic, payload, true).readings) {
        for (const signal of mapReading(mapping, reading).signals) {
          expect(signal.kind, topic).not.toBe('refusal');
          if (signal.kind !== 'link') expect(signal, topic).toMatchObject({ replay: true });
        }
      }
    }
  });
});

describe('pending', () => {
  const pendingIsExit = ['dsc-keybus', 'vista-ecp', 'jablotron2mqtt'];
  const ids = profileIds([presets]).filter((id) => Object.values(stateTopics(id)).length > 0);

  it.each(ids)('is an entry delay for %s, or an exit delay where its makers say so', (id) => {
    const said = Object.values(stateTopics(id)).flatMap((topic) =>
      statesOf(readOne(compilePreset(id), topic, 'pending').readings),
    );
    for (const state of said) expect(state).toBe(pendingIsExit.includes(id) ? 'arming' : 'pending');
  });
});

/** The topics of a preset that tell the state of a partition in plain words, with 1 for what they catch. */
function stateTopics(id: string): string[] {
  const { rules } = compilePreset(id);
  return rules
    .filter((rule) => rule.format === 'text' && rule.reads.some((read) => read.for === 'partition'))
    .map((rule) => rule.template.text.replaceAll(/\{[a-z_:]+\}/g, '1'));
}

describe('what no bridge says', () => {
  const ids = profileIds([presets]);
  const garbage = fc.stringMatching(/^zz[ -~]{0,40}$/);

  it.each(ids)('is no state, no alarm and no trouble for %s', (id) => {
    const compiled = compilePreset(id);
    const names = [...JSON.stringify(preset(id)).matchAll(/"(\/[^"]+)"/g)].flatMap((match) =>
      (match[1] ?? '').split('/').filter((part) => part !== ''),
    );
    const words = fc.constantFrom(...names, 'other');
    const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        garbage,
        fc.constant(null),
        // 0 and 1 are words of bridges, and so are the codes above 1000.
        fc.double({ min: 7, max: 99, noNaN: true }),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(words, tie('value'), { maxKeys: 5 }),
      ),
    })).value as fc.Arbitrary<unknown>;
    const topic = fc.constantFrom(...compiled.rules.map((rule) => rule.template.text.replaceAll(/\{[a-z_:]+\}/g, '1')));
    const payload = fc.oneof(
      garbage.map((text) => encoder.encode(text)),
      value.map((json) => encoder.encode(JSON.stringify(json))),
      value.map((json) => encoder.encode(JSON.stringify(json)?.slice(0, -1))),
      fc.uint8Array({ maxLength: 64, min: 0x80 }),
    );
    fc.assert(
      fc.property(topic, payload, fc.boolean(), (name, bytes, retain) => {
        const { readings } = readOne(compiled, name, bytes, retain);
        for (const reading of readings) {
          expect(statesOf([reading])).toEqual([]);
          if (reading.kind === 'zone') expect(reading.alarm ?? false).toBe(false);
          expect(reading.kind === 'trouble' && reading.active).toBe(false);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('is passed over without reading it where the topic is 64 kB long', () => {
    for (const id of ids) {
      const compiled = compilePreset(id);
      for (const { template } of compiled.rules) {
        const head = template.text.split('/')[0] ?? '';
        for (const topic of [`${head}/${'x'.repeat(65_000)}`, `${head}${'/x'.repeat(32_000)}`]) {
          expect(readOne(compiled, topic, 'disarmed').notes).toEqual([{ kind: 'unmatched' }]);
        }
      }
    }
  });

  it.each(traffic)('again and again leaves the memory as it is: $id', ({ compiled, rows }) => {
    let memory: Memory = emptyMemory();
    const turn = () => {
      for (const { topic, payload } of rows) {
        memory = interpret(compiled, memory, { topic, payload: encoder.encode(payload), retain: false }).memory;
      }
    };
    turn();
    const once = JSON.stringify([...memory.states].map(([key, slots]) => [key, [...slots].toSorted()]).toSorted());
    for (let i = 0; i < 50; i += 1) turn();
    expect(JSON.stringify([...memory.states].map(([key, slots]) => [key, [...slots].toSorted()]).toSorted())).toBe(
      once,
    );
  });

  it('fills no memory with partitions and sources nobody configured', () => {
    const compiled = compilePreset('ad2iot');
    let memory: Memory = emptyMemory();
    for (let i = 0; i < 3000; i += 1) {
      const payload = encoder.encode('{"armed_away":true,"ac_power":false,"battery_low":true}');
      memory = interpret(compiled, memory, {
        topic: `ad2iot/device-id/partitions/${i}`,
        payload,
        retain: false,
      }).memory;
    }
    expect(memory.states.size).toBeLessThanOrEqual(256);
    for (const sources of memory.troubles.values()) expect(sources.size).toBeLessThanOrEqual(256);
  });
});
