import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { siteward } from '../cli/run-cli.ts';
import { metricsOf } from '../harness/control.ts';
import { main } from '../harness/site.ts';
import { codes, contact, startVerificationSite, type VerificationSite } from './rig.ts';

/** Safety 6: a duress code sends `dispatch`, invisibly. */
let site: VerificationSite;
const heard: { topic: string; text: string }[] = [];
let client: Awaited<ReturnType<typeof connectAsync>>;
beforeAll(async () => {
  site = await startVerificationSite({ broker: 'mosquitto' });
  await addBen();
  client = await connectAsync(site.mqttUrl, { clientId: 'sees-all', protocolVersion: 4 });
  client.on('message', (topic, payload, { retain }) => {
    if (!retain) heard.push({ topic, text: payload.toString() });
  });
  await client.subscribeAsync(`${site.root}/#`, { qos: 1 });
}, 60_000);
afterAll(async () => {
  await client?.endAsync(true);
  await site?.close();
});

const ben = { code: '80317496', duress: '71940826' };

/** A user of the box with a duress code; the contact is bound to the id in the configuration. */
async function addBen(): Promise<void> {
  expect(
    await run(['user', 'add', 'ben', '--name', 'Ben', '--duress', '--code-stdin'], `${ben.code}\n${ben.duress}\n`),
  ).toMatchObject({ code: 0 });
}

async function run(args: readonly string[], input: string) {
  const child = spawn(process.execPath, [main, ...args, '--socket', site.socket], { env: { PATH: process.env.PATH } });
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (out += String(bytes)));
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number];
  return { code, out };
}

/** One verification answered with `disregard` by Ben, and everything anybody sees of it, without ids and times. */
async function told(code: string) {
  const id = await site.requested();
  const before = heard.length;
  const log = site.daemon.lines().length;
  await site.handOn({
    verification_id: id,
    contact_id: contact,
    expires_at: new Date(Date.now() + 200_000).toISOString(),
  });
  // The request is taken away at the broker and told; in which order is up to it.
  const topics = ['/in/verification', `/verification/${id}`, '/reply/platform-1/x'];
  const isHeard = (end: string) =>
    heard.slice(before).some(({ topic, text }) => topic.endsWith(end) && (text === '') === (end === topics[0]));
  await eventually('the request', () => (topics.every(isHeard) ? true : undefined));
  const from = heard.length;
  const answer = await run(['verification', 'answer', id, 'disregard', '--code-stdin', '--json'], `${code}\n`);
  await site.lan.shows(`verification/${id}`, '');
  const again = await site.verify({ verification_id: id, action: 'disregard', code });
  const turned = await site.cli(['show', id]);
  const bare = (text: string) =>
    text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/gi, 'ID')
      .replaceAll(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, 'TIME')
      .replaceAll(/"(hostname|pid|time|latencyMs|oldest_s|depth)":[^,}]+/g, '');
  const messages = () =>
    heard
      .slice(from)
      .filter(({ topic }) => /\/(verification|reply|event|trouble|problem|partition|zone)\b/.test(topic))
      .map(({ topic, text }) => bare(`${topic} ${text}`));
  const lines = () =>
    site.daemon
      .lines()
      .slice(log)
      .filter((line) => /"part":"(answers|verifications|mqtt|control)"/.test(line))
      .map(bare);
  // Another client and the log may come after the answers.
  let last = '';
  await eventually(
    'nothing more comes',
    () => {
      const now = JSON.stringify([messages(), lines()]);
      const isSame = now === last;
      last = now;
      return isSame ? true : undefined;
    },
    { everyMs: 1000 },
  );
  return {
    id,
    seen: {
      answer: { ...answer, out: bare(answer.out) },
      again: again.map((one) => bare(JSON.stringify(one))),
      turned: bare(turned.out),
      messages: messages(),
      lines: lines(),
    },
  };
}

test('an answer under duress shows byte for byte what it shows without, and the service hears dispatch', {
  timeout: 90_000,
}, async () => {
  const plain = await told(ben.code);
  const before = await metrics();
  const forced = await told(ben.duress);
  const after = await metrics();
  expect(forced.seen).toEqual(plain.seen);
  expect(plain.seen.messages.length).toBeGreaterThan(3);
  expect(plain.seen.answer.out).toContain('"state":"recorded"');
  expect(await site.recorded(plain.id)).toMatchObject({ action: 'disregard', contact_id: 8 });
  expect(await site.recorded(forced.id)).toMatchObject({ action: 'dispatch', contact_id: 8 });
  await eventually('the silent alarm', async () =>
    (await site.cloud.events()).find(({ body }) => body.payload.kind === 'duress'),
  );
  // The audit log, the cloud's log beside it and the input log say the same of both.
  const verbs = [
    ['activity', '--json', '--limit', '200'],
    ['audit', 'show', '--json', '--limit', '200'],
    ['replay', '--recorded', '--json'],
  ];
  for (const verb of verbs) {
    const { out, code } = await siteward([...verb, '--socket', site.socket]);
    expect(code, out).toBe(0);
    const about = (id: string) =>
      out.split('\n').flatMap((line) => (line.includes(id) ? [/"(?:action|type)":"(\w+)"/.exec(line)?.[1]] : []));
    if (verb[0] === 'audit') expect(about(plain.id)).toContain('verification_disregard');
    expect(about(forced.id), verb.join(' ')).toEqual(about(plain.id));
    expect(out).not.toMatch(/duress/i);
  }
  // Numbers grow as with any answer, and no label tells of it.
  expect(before.match(/siteward_verification_answers_total\S+ \d+/g)).toEqual([
    'siteward_verification_answers_total{result="recorded"} 1',
  ]);
  expect(after.match(/siteward_verification_answers_total\S+ \d+/g)).toEqual([
    'siteward_verification_answers_total{result="recorded"} 2',
  ]);
  expect(after.replaceAll(/^# HELP .*$/gm, '')).not.toContain('duress');
});

test('under duress a refused answer is refused, an answered one stays answered, and the service hears dispatch', {
  timeout: 90_000,
}, async () => {
  const id = await site.requested();
  await site.handOn({ verification_id: id, contact_id: contact });
  await site.verify({ verification_id: id, action: 'disregard', code: ben.code });
  expect(await site.recorded(id)).toMatchObject({ action: 'disregard' });
  const shown = JSON.stringify(await site.list());
  expect(await site.verify({ verification_id: id, action: 'disregard', code: ben.duress })).toMatchObject([
    { outcome: 'already' },
  ]);
  await eventually('dispatch', async () => ((await site.recorded(id))?.action === 'dispatch' ? true : undefined));
  expect(JSON.stringify(await site.list())).toBe(shown);
});

test('no code stands in logs, files or topics; only the auditor learns of the duress', async () => {
  const files = readdirSync(join(site.folder, 'state'), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => readFileSync(join(site.folder, 'state', name), 'latin1'));
  const text = [
    ...files,
    ...site.daemon.lines(),
    ...heard.filter(({ topic }) => !topic.includes('/cmd/')).map((one) => one.text),
  ].join('\n');
  for (const code of [...Object.values(ben), ...Object.values(codes)]) expect(text.includes(code)).toBe(false);
  expect(site.daemon.lines().join('\n')).not.toMatch(/duress/i);
});

const metrics = () => metricsOf(site.socket);
