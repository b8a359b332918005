import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Running, startProcess } from '#sandbox/demo/processes.ts';
import * as operations from '../../src/sandbox/cloud/control/operations.ts';
import { type Block, blocks, read, root, timeless } from './markdown.ts';

/** docs/sandbox.md: a request in an `http` block is followed by its answer. */
const examples = blocks(read('docs/sandbox.md')).flatMap((request, index, all) => {
  const answer = all[index + 1];
  return request.info === 'http' && answer !== undefined ? [{ ...requestOf(request), answer }] : [];
});

let folder: string;
let sandbox: Running;
let url: string;
/** Of the one upload; the one in the text is from another run. */
let uploadId = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-docs-'));
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keyFile = join(folder, 'key.pem');
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  sandbox = startProcess({
    name: 'sandbox',
    args: [join(root, 'src/cli/main.ts'), 'sandbox', '--control', '--json', '--client', `bridge-1=${keyFile}`],
  });
  url = await sandbox.until((line) => (JSON.parse(line) as { listen?: string }).listen, 'start');
  await sendEvent(privateKey, eventOfTheText());
  await playMessage();
});
afterAll(async () => {
  await sandbox?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test.each(examples)('$method $path answers as docs/sandbox.md says', async ({ method, path, body, answer }) => {
  const response = await fetch(url + path.replace(/(?<=uploads\/)[0-9a-f]{16}/, uploadId), {
    method,
    ...(body === '' ? {} : { headers: { 'content-type': 'application/json' }, body }),
  });
  expect(response.status).toBe(200);
  const text = await response.text();
  if (answer.info === 'text') expect(text).toBe(answer.text.trim());
  else expect(timeless(JSON.parse(text))).toEqual(timeless(JSON.parse(answer.text)));
});

test('every operation of the control path has an example', () => {
  const shown = examples.map(
    ({ method, path }) => `${method} ${path.replace(/\?.*/, '').replace(/[0-9a-f]{16}/, '{id}')}`,
  );
  const known = Object.values(operations).map(({ method, path }) => `${method} ${path}`);
  expect(shown.toSorted()).toEqual(known.toSorted());
});

test('every rule from S-034 to S-043 is in the table', () => {
  const rules = [...read('docs/sandbox.md').matchAll(/^\| (S-\d{3}) \|/gm)].map((match) => match[1]);
  expect(rules).toEqual(Array.from({ length: 10 }, (_, index) => `S-0${34 + index}`));
});

function requestOf({ text }: Block): { method: string; path: string; body: string } {
  const [first = '', ...rest] = text.split('\n');
  const [method = '', path = ''] = first.split(' ');
  return { method, path, body: rest.join('\n').trim() };
}

function eventOfTheText(): object {
  const listing = examples.find(({ path }) => path.startsWith('/__sandbox/events'));
  return JSON.parse(listing?.answer.text ?? '').events[0].body;
}

async function sendEvent(key: KeyObject, event: object): Promise<void> {
  const iat = Math.floor(Date.now() / 1000);
  const claims = { iss: 'bridge-1', sub: 'bridge-1', aud: url, iat, exp: iat + 300, jti: randomUUID() };
  const assertion = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(key);
  const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
  const form = new URLSearchParams({ grant_type, assertion });
  const token = await fetch(`${url}/oauth/token`, { method: 'POST', body: form });
  const { access_token } = (await token.json()) as { access_token: string };
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
  const accepted = await fetch(`${url}/partner/v1/events`, { method: 'POST', headers, body: JSON.stringify(event) });
  const { uploads } = (await accepted.json()) as { uploads: { url: string }[] };
  const picture = await fetch(uploads[0]?.url ?? '', {
    method: 'PUT',
    headers: { 'content-type': 'image/jpeg' },
    body: Buffer.from('picture'),
  });
  uploadId = ((await picture.json()) as { id: string }).id;
}

async function playMessage(): Promise<void> {
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    };
    return (await fetch(url + path, init)).json();
  };
  const { token } = (await post('/__sandbox/tokens', { kind: 'api_key' })) as { token: string };
  const request = { repeat: 5, target_devices: ['401'] };
  await post('/ext/v1/sites/101/audio-messages/msg-intruder/play', request, { authorization: `Bearer ${token}` });
}
