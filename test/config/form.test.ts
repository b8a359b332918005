import { expect, test } from 'vitest';
import { shownConfig } from '#config/index.ts';
import { minimal } from './fixture.ts';

test('zones of silent hold-up are not shown, of a panel or wired to a camera or recorder (safety 4)', () => {
  const silent = '{ zone: "91", name: Under the desk, zone_type: panic_silent }';
  const shown = JSON.stringify(
    shownConfig(`${minimal}
panels: [ { id: a, profile: zigbee2mqtt, zones: { "90": { type: panic_silent, key: desk }, "1": { type: perimeter, key: door } } } ]
cameras: [ { id: yard, url: "http://192.0.2.1/", inputs: { "1": ${silent}, "2": { zone: "2", zone_type: perimeter } } } ]
nvrs: [ { id: r, url: "http://192.0.2.2/", inputs: { "1": ${silent} }, channels: [] } ]
`),
  );
  expect(shown).not.toMatch(/panic_silent|desk|"9[01]"/);
  expect(shown).toContain('"2":{"zone":"2","zone_type":"perimeter"}');
  expect(shown).toContain('"key":"door"');
});
