import { expect, test } from 'vitest';
import { helpFor, statusHelp, statusTable } from '#cloud/delivery/index.ts';
import { read } from './markdown.ts';

test('every row of the status table is explained, and nothing else', () => {
  expect(Object.keys(statusHelp).sort()).toEqual(statusTable.map(({ name }) => name).sort());
});

test('the page has every row of the table with its explanation', () => {
  const page = read('docs/outbox.md');
  for (const { name } of statusTable) {
    expect(page).toContain(`| ${name} | ${statusHelp[name]?.means} | ${statusHelp[name]?.remedy} |`);
  }
});

test.each([
  [422, '422 refused as invalid: camera_id unknown', 'refused as invalid'],
  [422, '422 refused as invalid', 'refused as invalid'],
  [413, '413 too large for the cloud', 'too large for the cloud'],
  [200, '200 accepted, but for another event', 'accepted, but for another event'],
  [500, '500 server error: stack overflow', 'server error'],
  [418, '418 another refusal: short and stout', 'another refusal'],
  // A reason of an earlier version, whose row had another name.
  [400, '400 malformed', 'refused as invalid'],
])('status %d with "%s" is explained as "%s"', (status, reason, row) => {
  expect(helpFor(status, reason)).toEqual(statusHelp[row]);
});

test('an event that the disk damaged is explained as such, whatever the table says', () => {
  expect(helpFor(undefined, 'the stored event does not fit its checksum').means).toContain('does not fit its checksum');
});
