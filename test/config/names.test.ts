import { expect, test } from 'vitest';
import { checkForm } from '#config/index.ts';

const text = (camera: string, hidden = '"Till"') => `site: { id: "4711", external_id: hq, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: Offices } ]
store: { dir: /var/lib/siteward }
cameras:
  - id: yard
    name: ${camera}
    url: http://192.0.2.10/onvif
    inputs: { "1": { zone: "7", zone_type: panic_silent, name: ${hidden} } }
`;

test('a file with a name that nobody can read still counts, with a warning that does not repeat it', () => {
  expect(checkForm(text('"Büro 😀 عربي"')).warnings).toEqual([]);
  for (const odd of ['\\0', '\\a', '\\u202E', '\\u2028', '\\uD800']) {
    const { problems, warnings } = checkForm(text(`"Ya${odd}rd"`));
    expect([problems, warnings]).toEqual([[], [expect.stringMatching(/^cameras\[0\]\.name must not hold/)]]);
    expect(warnings.join()).not.toContain('Ya');
  }
});

test('of a zone of silent hold-up nothing is said', () => {
  expect(checkForm(text('Yard', '"T\\u202E"'))).toMatchObject({ problems: [], warnings: [] });
});
