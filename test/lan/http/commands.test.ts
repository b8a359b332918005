import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { identifyLocal, lanApp } from '#lan/http/app.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';

const log: string[] = [];
const logger = () => pino({ base: null, level: 'trace' }, { write: (line) => void log.push(line) });
const base = () => ({ id: randomUUID(), issued_at: '2026-11-27T22:03:00Z' });

async function give(body: unknown) {
  log.length = 0;
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await lanApp(fakeLanPort(), { log: logger(), identify: identifyLocal }).request(
    '/api/v1/commands',
    init,
  );
  const said = await answer.text();
  return { status: answer.status, said, json: JSON.parse(said) as Record<string, unknown> };
}

test('a command is answered with its final outcome, a refusal too', async () => {
  const arm = { ...base(), verb: 'arm', partition: 'p1', mode: 'away' };
  expect(await give(arm)).toMatchObject({ status: 200, json: { id: arm.id, outcome: 'done', state: 'arming' } });
  const refused = await give({ ...base(), verb: 'disarm', partition: 'p1', code: '0000' });
  expect(refused).toMatchObject({ status: 200, json: { outcome: 'refused', error: { code: 'BAD_CODE' } } });
});

test.each<[string, object, string]>([
  ['another verb', { verb: 'open_sesame' }, 'verb'],
  ['no partition', { verb: 'disarm' }, 'partition'],
  ['a code as a number', { verb: 'disarm', partition: 'p1', code: 25_804_713 }, 'code'],
  ['a member of another verb', { verb: 'disarm', partition: 'p1', 25804713: true }, 'body'],
  ['minutes beyond a day', { verb: 'bypass', zone: '2', minutes: 1441 }, 'minutes'],
  ['a time without a zone', { verb: 'disarm', partition: 'p1', issued_at: '2026-11-27T22:03:00' }, 'issued_at'],
])('%s is refused by its name, and nothing that was given comes back', async (_what, more, field) => {
  const { status, said, json } = await give({ ...base(), ...more });
  expect({ status, fields: (json.errors as { field: string }[]).map((error) => error.field) }).toEqual({
    status: 400,
    fields: [field],
  });
  expect(said + log.join('')).not.toMatch(/25804713|sesame/);
});
