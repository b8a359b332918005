import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blocks, read } from '../markdown.ts';
import { type Bridge, startBridge } from './bridge.ts';
import { arming, cameras, mqtt, network, sound, whole } from './bridge-devices.ts';
import { ranInShell, runRows } from './line.ts';

/** A stage of its own: what a person changes here would be in the way of those who look. */
let stage: Bridge;
beforeAll(async () => {
  stage = await startBridge();
}, 120_000);
afterAll(() => stage?.close());

describe.each([
  { name: 'cameras', rows: cameras },
  { name: 'sound', rows: sound },
  { name: 'network', rows: network },
])('$name', ({ rows }) => runRows(rows, () => stage));

/** At most 30 days ahead, whenever the page is read. */
const inAWeek = new Date(Date.now() + 7 * 86_400_000).toISOString();

/** Blocks of requests: method, path, and a body where there is one. */
const requests = blocks(read('docs/access.md'))
  .filter(({ info }) => info === 'http')
  .flatMap(({ text }) => text.trim().split('\n'))
  .map((request) => ({ request }));

/** As the owner who has claimed the bridge before, with the cookies of that. */
function asOwner(request: string): Promise<string> {
  const [, method = '', path = '', body = ''] = /^(\w+) (\S+) +(.+)$/.exec(request) ?? [];
  const origin = 'https://192.0.2.10:8443';
  const command = `curl -s --cacert siteward-ca.crt -H 'Origin: ${origin}' -b cookies -X ${method} --json '${body}' ${origin}${path}`;
  return ranInShell(command, stage.place);
}

test('the stage has the installer of docs/access.md', async () => {
  const ines = { id: 'ines', name: 'Ines', role: 'installer', password: 'kessel-ahorn-sieben', valid_until: inAWeek };
  expect(await asOwner(`POST /api/v1/access/people  ${JSON.stringify(ines)}`)).toContain('"id":"ines"');
});

test.each(requests)('"$request" of docs/access.md is done', async ({ request }) => {
  const answer = await asOwner(request.replace('2026-12-24T17:00:00Z', inAWeek));
  expect(answer).toMatch(/"changed":"ines"|"token":"sw_/);
});

describe.each([
  { name: 'mqtt', rows: mqtt },
  { name: 'arming', rows: arming },
  { name: 'whole', rows: whole },
])('$name', ({ rows }) => runRows(rows, () => stage));
