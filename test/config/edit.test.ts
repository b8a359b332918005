import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { addEntry, changeEntry, changeSection, removeEntry } from '../../src/config/edit.ts';

const entry = {
  id: 'gate',
  name: 'Gate: east #2',
  url: 'http://192.0.2.11/onvif/device_service',
  password: { file: '/etc/siteward/secrets/camera-gate' },
  zone: '22',
};
const shown = `  - id: gate
    name: "Gate: east #2"
    url: http://192.0.2.11/onvif/device_service
    password: { file: /etc/siteward/secrets/camera-gate }
    zone: "22"
`;

const block = `# The site.
site:   { id: "4711" }   # two blanks stay


cameras:                                # ONVIF cameras
  # the first one
  - id: yard                            # short id
    url:   'http://192.0.2.10/onvif/device_service'   # the address
    password:
      file: /x # where it lies
    # below the password

  # - id: later
panels:
  - { id: main, zones: { 01: { type: fire } } }
`;

/** Every way a list may stand in the file, and how it looks with one more entry. */
const ways: readonly (readonly [name: string, before: string, after: string])[] = [
  ['absent', 'a: 1 # one\n', `a: 1 # one\ncameras:\n${shown}`],
  ['absent, the last line without an end', 'a: 1', `a: 1\ncameras:\n${shown}`],
  ['empty', 'cameras: [] # none yet\nb: 2\n', `cameras: # none yet\n${shown}b: 2\n`],
  ['without a value', 'cameras: # none yet\nb: 2\n', `cameras: # none yet\n${shown}b: 2\n`],
  ['without a value at the end', 'b: 2\ncameras:', `b: 2\ncameras:\n${shown.trimEnd()}`],
  ['not indented', 'cameras:\n- id: a\n\n# end\n', `cameras:\n- id: a\n${shown.replaceAll(/^ {2}/gm, '')}\n# end\n`],
  [
    'of entries in braces',
    'cameras:\n    - { id: a }  # aa\n# end\n',
    'cameras:\n    - { id: a }  # aa\n    - { id: gate, name: "Gate: east #2", url: http://192.0.2.11/onvif/device_service, password: { file: /etc/siteward/secrets/camera-gate }, zone: "22" }\n# end\n',
  ],
  [
    'in brackets',
    'cameras: [ { id: a } ] # all\nb: 2\n',
    'cameras: [ { id: a }, { id: gate, name: "Gate: east #2", url: http://192.0.2.11/onvif/device_service, password: { file: /etc/siteward/secrets/camera-gate }, zone: "22" } ] # all\nb: 2\n',
  ],
  [
    'with the line ends of another system',
    'cameras: []\r\nb: 2\r\n',
    `cameras:\n${shown}b: 2\n`.replaceAll('\n', '\r\n'),
  ],
];

test.each(ways)('adds an entry to a list that is %s', (_, before, after) => {
  expect(addEntry(before, 'cameras', entry)).toBe(after);
});

test('adds behind the last entry and touches no other line', () => {
  const made = addEntry(block, 'cameras', entry);
  expect(made).toBe(block.replace('    # below the password\n', `${shown}    # below the password\n`));
  expect(parse(made).cameras[1]).toEqual(entry);
});

describe('changes members', () => {
  test('of an entry of lines', () => {
    const made = changeEntry(block, 'cameras', 0, {
      url: 'https://192.0.2.20/onvif/device_service',
      password: { file: '/y' },
      username: 'siteward',
    });
    expect(made).toBe(
      block
        .replace("'http://192.0.2.10/onvif/device_service'", 'https://192.0.2.20/onvif/device_service')
        .replace('file: /x', '{ file: /y }')
        .replace('where it lies\n', 'where it lies\n    username: siteward\n'),
    );
  });

  test('and takes some away', () => {
    expect(changeEntry(block, 'cameras', 0, { password: undefined, name: undefined })).toBe(
      block.replace('    password:\n      file: /x # where it lies\n', ''),
    );
  });

  test.each([
    ['id', 'cameras: [ { url: x, zone: "1" } ]'],
    ['url', 'cameras: [ { id: a, zone: "1" } ]'],
    ['zone', 'cameras: [ { id: a, url: x } ]'],
  ])('of an entry in braces: without %s', (key, after) => {
    expect(changeEntry('cameras: [ { id: a, url: x, zone: "1" } ]', 'cameras', 0, { [key]: undefined })).toBe(after);
  });

  test('of an entry in braces: one more', () => {
    expect(changeEntry('cameras: [ { id: a } ] # x', 'cameras', 0, { zone: '01' })).toBe(
      'cameras: [ { id: a, zone: "01" } ] # x',
    );
  });
});

describe('changes members of a section', () => {
  const members = { broker: 'mqtts://127.0.0.1:8884', ca: '/x/ca.crt' };
  test.each([
    [
      '# top\nmqtt:\n  # how\n  broker: embedded   # now\n\nlog: {}\n',
      '# top\nmqtt:\n  # how\n  broker: mqtts://127.0.0.1:8884   # now\n  ca: /x/ca.crt\n\nlog: {}\n',
    ],
    [
      'mqtt: { listen: 127.0.0.1:1883 } # x\n',
      'mqtt: { listen: 127.0.0.1:1883, broker: mqtts://127.0.0.1:8884, ca: /x/ca.crt } # x\n',
    ],
    ['log: {}', 'log: {}\nmqtt: { broker: mqtts://127.0.0.1:8884, ca: /x/ca.crt }\n'],
  ])('of %j and leaves the rest as it is', (before, after) => {
    expect(changeSection(before, 'mqtt', members)).toBe(after);
  });

  test('that is empty so far', () => {
    expect(parse(changeSection('mqtt:\nlog: {}\n', 'mqtt', members))).toEqual({ mqtt: members, log: {} });
  });
});

describe('removes an entry', () => {
  test('and leaves the comments around it', () => {
    const both = addEntry(block, 'cameras', entry);
    expect(removeEntry(both, 'cameras', 1)).toBe(block);
    const text = removeEntry(both, 'cameras', 0);
    expect(text).not.toContain('yard');
    expect(text).toContain('  # the first one\n');
    expect(text).toContain('  # - id: later\n');
    expect(parse(text).cameras).toEqual([entry]);
  });

  test('the only one: an empty list stays', () => {
    expect(removeEntry('cameras: # all\n  - id: a\n    url: x\nb: 2\n', 'cameras', 0)).toBe(
      'cameras: [] # all\nb: 2\n',
    );
    expect(removeEntry('cameras: [ { id: a } ]', 'cameras', 0)).toBe('cameras: [  ]');
  });

  test.each([0, 1, 2])('number %i of a list in brackets', (index) => {
    const made = removeEntry('cameras: [ { id: a }, { id: b }, { id: c } ] # all', 'cameras', index);
    expect(parse(made).cameras.map(({ id }: { id: string }) => id)).toEqual(['a', 'b', 'c'].toSpliced(index, 1));
    expect(made).toMatch(/^cameras: \[ .* \] # all$/);
  });
});

test('what no line can be put into is written anew, with its comments', () => {
  const made = addEntry('{ # all\n  a: 1, cameras: [ ] # none\n}\n', 'cameras', entry);
  expect(parse(made)).toEqual({ a: 1, cameras: [entry] });
  expect(made).toContain('# none');
  const anchored = 'cameras:\n  - &one\n    id: a\nb: 2 # two\n';
  expect(parse(changeEntry(anchored, 'cameras', 0, { url: 'x' }))).toEqual({ cameras: [{ id: 'a', url: 'x' }], b: 2 });
});

test.each(['', '- a\n', 'a: [', 'cameras: text\n? [x]\n: 1\n', 'a: 1\na: 2\n', 'a: *none\n'])(
  'a text that is no configuration is refused: %j',
  (text) => {
    expect(() => addEntry(text, 'cameras', entry)).toThrowError(expect.objectContaining({ code: 'config_invalid' }));
  },
);

test('the example of the product: an entry that is added and removed leaves it as it was', () => {
  const example = readFileSync(join(import.meta.dirname, '../../config/siteward.example.yaml'), 'utf8');
  const made = addEntry(example, 'cameras', entry);
  const lines = made.split('\n');
  expect(example.split('\n').filter((line) => !lines.includes(line))).toEqual([]);
  expect(removeEntry(made, 'cameras', 1)).toBe(example);
  const changed = changeEntry(example, 'cameras', 0, { url: 'http://192.0.2.99/' });
  expect(changed).toBe(example.replace('http://192.0.2.10/onvif/device_service', 'http://192.0.2.99/'));
});

test('whatever the lines between are, only the lines of the entry change', () => {
  const between = fc.array(
    fc.constantFrom('', '# a comment', '   ', '  # - id: old', '# "quoted: [', 'other: { a: 1, b: [ 2, 3 ] }  # c'),
    { maxLength: 4 },
  );
  const members = fc.subarray([
    '    url: x # why',
    '    zone: "07"',
    "    name:   'It''s'",
    '    pull: 20s',
    '    # c',
  ]);
  const entries = fc.array(fc.tuple(members, fc.constantFrom('', '\n', '\n  # note\n')), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(entries, between, fc.nat({ max: 3 }), (list, after, pick) => {
      const names = new Set<string>();
      const unique = after.filter((line) => !line.startsWith('other') || (!names.has(line) && names.add(line)));
      const items = list.map(
        ([lines, gap], at) => `  - id: c${at}\n${lines.join('\n')}${lines.length > 0 ? '\n' : ''}${gap}`,
      );
      const text = `site: {a:   1}\ncameras:\n${items.join('')}${unique.join('\n')}\n`;
      const added = addEntry(text, 'cameras', entry);
      expect(removeEntry(added, 'cameras', list.length)).toBe(text);
      const kept = (one: string) => one.split('\n').filter((line) => !/^ {2,4}[-\w]/.test(line));
      const index = pick % list.length;
      const removed = removeEntry(added, 'cameras', index);
      const inside = (list[index]?.[0] ?? []).includes('    # c');
      if (!inside) expect(kept(removed)).toEqual(kept(added));
      const changed = changeEntry(text, 'cameras', index, { url: 'y', zone: undefined, password: { env: 'X' } });
      expect(changed.split('\n').filter((line) => line.includes('#') && !line.includes('url'))).toEqual(
        text.split('\n').filter((line) => line.includes('#') && !line.includes('url')),
      );
      expect(parse(changed).cameras[index]).toMatchObject({ url: 'y', password: { env: 'X' } });
    }),
    { numRuns: 100 },
  );
});

describe('a comment stays with the line it is of', () => {
  const flow = `site: {
  id: "4711", # from the portal
  external_id: proof, # never change
  name: Hello, # for the guard
  timezone: UTC # last
}
`;
  const without = (text: string, line: string) => text.replace(line, '');
  test.each([
    [
      'of a member that goes from a flow map',
      flow,
      { name: undefined },
      without(flow, '  name: Hello, # for the guard\n'),
    ],
    ['of the last one that goes', flow, { timezone: undefined }, without(flow, '  timezone: UTC # last\n')],
    [
      'behind a key without a value',
      'site:\n  name: # later\n  id: "1"\n',
      { name: 'N' },
      'site:\n  name: N # later\n  id: "1"\n',
    ],
    ['behind a reference', 'a: &n x\nsite:\n  name: *n # of a\n', { name: 'N' }, 'a: &n x\nsite:\n  name: N # of a\n'],
  ] as const)('%s', (_, before, changes, after) => expect(changeSection(before, 'site', changes)).toBe(after));

  test.each([['>-'], ['|'], ['|+']])('below a text of several lines (%s)', (style) => {
    const text = (name: string) => `site:\n  id: "1"\n${name}  # the zone\n  timezone: UTC\n`;
    const before = text(`  name: ${style}\n    Long\n    name\n`);
    expect(changeSection(before, 'site', { name: undefined })).toBe(text(''));
    expect(changeSection(before, 'site', { name: 'N' })).toBe(text('  name: N\n'));
  });

  test('beside the dash of an entry, and below one that goes', () => {
    const text = (entry: string) => `cameras:\n${entry}  # of the next\n  - # beside\n    id: b\n    name: old\n`;
    const before = text('  - # gone\n    id: a\n');
    expect(removeEntry(before, 'cameras', 0)).toBe(text(''));
    expect(changeEntry(before, 'cameras', 1, { name: 'new' })).toBe(before.replace('old', 'new'));
  });
});

test('what others refer to is not changed, and that is said', () => {
  const text = 'site:\n  name: &n old\ncameras:\n  - id: a\n    name: *n\n';
  expect(() => changeSection(text, 'site', { name: 'N' })).toThrow('edit it by hand');
});
