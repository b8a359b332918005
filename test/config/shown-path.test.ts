import { expect, test } from 'vitest';
import { parseConfig, shownPath } from '#config/index.ts';

const { value } = parseConfig(
  '',
  `
panels:
  - { id: main, zones: { "1": { type: perimeter }, "2": { type: panic_silent } } }
cameras:
  - { id: desk, zone: "7", zone_type: panic_silent }
  - { id: yard, zone: "2" }
  - { name: none }
  - { id: gate, inputs: { "1": { zone: "9", zone_type: panic_silent } } }
  - { id: shop, zone: "7" }
nvrs:
  - { id: rec, channels: [ { id: a, zone: "9" } ] }
holidays: [ { from: "12-24" } ]
`,
);

test.each([
  ['cameras[1].url', 'cameras[yard].url'],
  // Counted as whoever sees the file without what is not shown.
  ['cameras[2].url', 'cameras[1].url'],
  ['nvrs[0].channels[0].zone', 'nvrs[rec].channels[a].zone'],
  ['holidays[0].to', 'holidays[12-24].to'],
  ['panels[0].zones.1', 'panels[main].zones.1'],
  ['media.snapshots', 'media.snapshots'],
  ['cameras[9].url', 'cameras[4].url'],
  ['', ''],
])('%s is shown as %s', (path, shown) => {
  expect(shownPath(value, path)).toBe(shown);
});

test.each([
  ['of a panel', 'panels[0].zones.2', 'cameras[yard].zone'],
  ['of a camera', 'cameras[0].zone', 'cameras[shop].zone'],
  ['of a button', 'cameras[3].inputs.1.zone', 'nvrs[rec].channels[a].zone'],
])('a clash with a hidden zone %s stands at the shown one', (_, path, shown) => {
  expect(shownPath(value, path)).toBe(shown);
});

test('anything else of a hidden zone has no place', () => {
  expect(shownPath(value, 'cameras[0].url')).toBe('');
});
