import { expect, test } from 'vitest';
import { logLevelsShown, statusDocument } from '#lan/http/index.ts';
import { eventKinds, troubleKinds } from '#site/model/index.ts';
import { eventCode } from '../../src/site/core/codes.ts';
import { askSocket } from '../harness/control.ts';
import { camera, startSite } from '../harness/site.ts';
import { read } from './markdown.ts';

const page = read('docs/operations.md');

/** What stands between a heading and the next of its kind. */
function section(title: string): string {
  const [, text] = page.split(`\n## ${title}\n`);
  return (text ?? '').split('\n## ')[0] ?? '';
}

/** First cells of the rows, and how many further cells of each say something. */
const rows = (text: string): { readonly name: string; readonly told: number }[] =>
  [...text.matchAll(/^\| `([\w-]+)` \|(.*)\|$/gm)].map(([, name = '', cells = '']) => ({
    name,
    told: cells.split(' | ').filter((cell) => cell.trim() !== '').length,
  }));

test('each trouble has one row with what it means and what to do: those of the status first, then those that are events alone', () => {
  const [lasting = '', alone = ''] = section('Troubles').split('Some come as events alone');
  const status = ['fail_to_arm', ...troubleKinds].sort();
  // Whatever has a code as a trouble, and the one that has none in the field.
  const others = [...eventKinds.filter((kind) => eventCode('trouble', kind) !== undefined), 'arming_conflict'];
  expect(rows(lasting).map(({ name }) => name)).toEqual(status);
  expect(rows(alone).map(({ name }) => name)).toEqual(
    [...new Set(others)].filter((kind) => !status.includes(kind)).sort(),
  );
  expect(rows(section('Troubles')).filter(({ told }) => told !== 2)).toEqual([]);
});

test('each part that a whole daemon shows or logs by has a row, and no other', async () => {
  const site = await startSite({
    broker: 'embedded',
    httpYaml: ', listen: "127.0.0.1:0"',
    cameras: ['yard'],
    siteYaml: 'id: "4711", dealer_id: "17"',
    cloudYaml:
      '  ext_base_url: http://127.0.0.1:9\n  api_key: { env: PARTNER }\n  partner: { client_id: partner-9, client_secret: { env: PARTNER } }\n',
    env: { PARTNER: 'operations-partner-secret' },
    yaml: ({ cameras }) => `
partitions: [ { id: p1, name: Shop } ]
verification: { contacts: [ { user: anna, contact_id: 7 } ] }
dc09: { listen: "127.0.0.1:0" }
panels:
  - { id: sensors, profile: zigbee2mqtt, zones: { "1": { type: perimeter, name: Door, key: door, partition: p1 } } }
  - { id: caller, profile: sia-dc09, dc09: { account: "1234" } }
cameras:
${camera('yard', cameras.yard, 'partition: p1, pre_roll: 2s')}
`,
  });
  try {
    const { parts } = statusDocument.parse((await askSocket(site.socket, 'GET', '/api/v1/status')).body);
    const levels = logLevelsShown.parse((await askSocket(site.socket, 'GET', '/api/v1/log/levels')).body);
    const named = [...new Set([...parts, ...levels.parts].map(({ name }) => name))].sort();
    expect(rows(section('Parts of siteward')).map(({ name }) => name)).toEqual(named);
  } finally {
    await site.close();
  }
});
