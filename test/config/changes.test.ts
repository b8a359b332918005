import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { applyChanges, patchOf, removeSection } from '#config/index.ts';

const text = `# The site of the shop.
site:   { id: "4711", external_id: hq, timezone: Europe/Berlin } # never changes
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: Offices } ]

# The cloud, since 2024.
cloud:
  base_url: https://api.example.net   # production
  auth_url: https://auth.example.net
  # The client of this box.
  events:
    client_id: bridge-1   # as the operator says
    # Made by the operator.
    private_key: { file: /etc/siteward/secrets/key }
# Cameras of the yard.
cameras:
  - id: yard              # at the gate
    url: http://192.0.2.10/onvif/device_service
    zone: "21"
    inputs:
      "1": { zone: "31", zone_type: perimeter }   # contact
      "2": { zone: "32", zone_type: panic_silent } # under the desk
  - id: door
    url: http://192.0.2.11/onvif/device_service
holidays: [ { name: Xmas, from: 2026-12-24 }, { name: New year, from: 2026-12-31 } ]
`;

test('members of groups are changed one by one, and every other byte stays', () => {
  const after = applyChanges(text, [
    {
      do: 'set',
      section: 'cloud',
      members: { events: { client_id: 'bridge-2', private_key: { file: '/etc/siteward/secrets/key' }, key_id: 'k2' } },
    },
    { do: 'change', section: 'cameras', id: 'yard', members: { name: 'Yard: east', zone: null } },
    { do: 'remove', section: 'holidays', id: '2026-12-24' },
    { do: 'add', section: 'speakers', entry: { id: 'gate', driver: 'null', name: null } },
    { do: 'set', section: 'audio', members: { memory: null } },
  ]);
  expect(after).toBe(
    `${text
      .replace('client_id: bridge-1', 'client_id: bridge-2')
      .replace('secrets/key }\n', 'secrets/key }\n    key_id: k2\n')
      .replace('    zone: "21"\n', '')
      .replace('# under the desk\n', '# under the desk\n    name: "Yard: east"\n')
      .replace('{ name: Xmas, from: 2026-12-24 }, ', '')}speakers:\n  - id: gate\n    driver: "null"\n`,
  );
});

test('what is wanted as it stands changes no byte', () => {
  const cloud = {
    base_url: 'https://api.example.net',
    events: { client_id: 'bridge-1', private_key: { file: '/etc/siteward/secrets/key' } },
  };
  expect(applyChanges(text, [{ do: 'set', section: 'cloud', members: cloud }])).toBe(text);
});

test('a section goes with the comments in it; those above it and after it stay', () => {
  expect(removeSection(text, 'cloud')).toBe(
    text.slice(0, text.indexOf('cloud:')) + text.slice(text.indexOf('# Cameras of the yard.')),
  );
  expect(applyChanges(text, [{ do: 'drop', section: 'cloud' }])).toBe(removeSection(text, 'cloud'));
  expect(removeSection('a: 1\ncloud: { b: 2 }', 'cloud')).toBe('a: 1\n');
});

test('a section whose last member goes is not written as nothing', () => {
  const before = 'site: { id: "1" }\nmedia:\n  snapshots: 3 # many\nlog: { level: info }\n';
  expect(applyChanges(before, [{ do: 'set', section: 'media', members: { snapshots: null } }])).toBe(
    'site: { id: "1" }\nlog: { level: info }\n',
  );
});

test('an input of silent hold-up, which nobody was shown, stays when what was shown is changed', () => {
  const inputs = { '1': { zone: '31', zone_type: 'entry_exit_1' } };
  const after = applyChanges(text, [{ do: 'change', section: 'cameras', id: 'yard', members: { inputs } }]);
  expect(after).toBe(text.replace('zone_type: perimeter', 'zone_type: entry_exit_1'));
});

test.each([
  [{ do: 'remove', section: 'cameras', id: 'yard' }],
  [{ do: 'change', section: 'cameras', id: 'yard', members: { inputs: null } }],
  [
    {
      do: 'change',
      section: 'cameras',
      id: 'yard',
      members: { inputs: { '2': { zone: '9', zone_type: 'perimeter' } } },
    },
  ],
] as const)('what would take it away is done on the box alone: %j', (change) => {
  expect(() => applyChanges(text, [change])).toThrow(/on the box alone/);
});

test.each([
  [{ do: 'change', section: 'cameras', id: 'gone', members: {} }, 'changes[1].id'],
  [{ do: 'remove', section: 'rules', id: 'gone' }, 'changes[1].id'],
  [{ do: 'set', section: 'site', members: { 'name: x\nusers': 1 } }, 'changes[1].members'],
] as const)('what cannot be done names its place: %j', (change, field) => {
  const before = { do: 'set', section: 'site', members: { name: 'x' } } as const;
  expect(() => applyChanges(text, [before, change])).toThrow(
    expect.objectContaining({ code: 'config_invalid', issues: [{ field, message: expect.any(String) }] }),
  );
});

test('an item that hides something is named by its id when it is taken away', () => {
  const before = `nvrs:
  - id: rec
    channels:
      - { id: a, zone: "1" }
      - { id: b, inputs: { "1": { zone: "9", zone_type: panic_silent } } }
`;
  const members = { channels: [{ id: 'a', zone: '1' }] };
  expect(() => applyChanges(before, [{ do: 'change', section: 'nvrs', id: 'rec', members }])).toThrow(
    expect.objectContaining({ issues: [expect.objectContaining({ field: 'nvrs[rec].channels[b]' })] }),
  );
});

test('text that looks like YAML stays text', () => {
  const name = 'x"\nusers: [ { id: eve } ] # ';
  const after = applyChanges(text, [{ do: 'set', section: 'site', members: { name } }]);
  expect(after).not.toMatch(/^users/m);
  expect(applyChanges(after, [{ do: 'set', section: 'site', members: { name } }])).toBe(after);
});

test('the patch has the lines that go and come, with their numbers, and no comment', () => {
  const after = applyChanges(text, [
    { do: 'change', section: 'cameras', id: 'door', members: { url: 'http://192.0.2.12/onvif/device_service' } },
    { do: 'set', section: 'site', members: { name: 'Shop' } },
  ]);
  expect(patchOf(text, after)).toEqual([
    { sign: '-', line: 2, text: 'site:   { id: "4711", external_id: hq, timezone: Europe/Berlin } # ...' },
    { sign: '+', line: 2, text: 'site:   { id: "4711", external_id: hq, timezone: Europe/Berlin, name: Shop } # ...' },
    { sign: '-', line: 24, text: '    url: http://192.0.2.11/onvif/device_service' },
    { sign: '+', line: 24, text: '    url: http://192.0.2.12/onvif/device_service' },
  ]);
});

test('what is not shown of the file is not shown in the patch either', () => {
  const line = (name: string) =>
    `cameras: [ { id: yard, name: ${name}, snapshot_url: "http://u:pw@192.0.2.1/?token=abc", inputs: { "7": { zone: "9", zone_type: panic_silent } } } ] # secret: xyz\n` +
    `speakers: [ { id: a, name: ${name}, command: [play, --token, abc], probe: [x, abc] } ]\n` +
    `users: [ { id: anna, name: ${name}, code: { env: CODE } } ]\n`;
  const said = JSON.stringify(patchOf(line('Old'), line('New')));
  expect(said).toContain('name: New');
  for (const hidden of ['pw@', 'abc', 'panic', '"7"', 'xyz', 'anna', 'CODE']) expect(said).not.toContain(hidden);
});

test('with an input of silent hold-up a patch is the same as with another', () => {
  const of = (type: string) =>
    `cameras:\n  - { id: yard, url: x, inputs: { "7": { zone: "9", zone_type: ${type} } } }\n  - { id: b, url: y }\n`;
  const patch = (type: string) => patchOf(of(type), of(type).replace('url: x', 'url: z'));
  expect(patch('panic_silent')).toEqual(patch('perimeter'));
});

const recorder = `nvrs:
  - id: rec
    url: http://192.0.2.30/onvif
    # What is watched.
    channels:
      # The gate.
      - id: gate   # at the street
        position: 1 # first plug
        pictures: armed
      # The button of the till.
      - { id: till, position: 2, zone_type: panic_silent }
      # The hall.
      - id: hall
        position: 3
        clips:
          - short # ten seconds
          - event
    # Behind the channels.
    pull: 20s
# Behind the recorder.
`;
const [gate, hall] = [
  { id: 'gate', position: 1, pictures: 'armed' },
  { id: 'hall', position: 3, clips: ['short', 'event'] },
];
const withChannels = (...channels: unknown[]) =>
  applyChanges(recorder, [{ do: 'change', section: 'nvrs', id: 'rec', members: { channels } }]);

test('a list within an entry that grows or shrinks keeps every other line, and what is not shown of it', () => {
  expect(withChannels(gate, hall, { id: 'yard', position: 4, clips: ['short'] })).toBe(
    recorder.replace(
      '          - event\n',
      '          - event\n      - id: yard\n        position: 4\n        clips: [ short ]\n',
    ),
  );
  const gone = `      - id: gate   # at the street
        position: 1 # first plug
        pictures: armed
`;
  expect(withChannels(hall)).toBe(recorder.replace(gone, ''));
  expect(withChannels({ ...hall, position: 5, clips: ['event'] }, { id: 'yard', position: 1 })).toBe(
    recorder
      .replace(gone, '')
      .replace('position: 3', 'position: 5')
      .replace('          - short # ten seconds\n', '')
      .replace('          - event\n', '          - event\n      - id: yard\n        position: 1\n'),
  );
});

test('a list in another order is what was wanted, and loses nothing that is not shown', () => {
  const after = withChannels(hall, gate);
  expect(parse(after).nvrs[0].channels).toEqual([hall, gate, { id: 'till', position: 2, zone_type: 'panic_silent' }]);
  expect(after).toContain('    # Behind the channels.\n    pull: 20s\n# Behind the recorder.\n');
});
