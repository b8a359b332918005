import pino from 'pino';
import { expect, it } from 'vitest';
import type { House } from '#daemon/house.ts';
import { verificationsPort } from '#daemon/verification.ts';
import type { AnswerResult, GivenAnswer, VerificationDocument } from '#site/model/index.ts';

type Knowledge = 'known' | 'unknown' | 'unsure';
const id = '0b3f5c1e-0d1f-4c9b-8f5e-0d6f7d3c2b1a';
const request = { verification_id: id, contact_id: 7 };
const document: VerificationDocument = {
  ...{ verification_id: id, state: 'waiting', contact_id: 9, asked_at: '2026-11-30T06:00:00.000Z' },
  expires_at: '2026-11-30T06:10:00.000Z',
  answers: [
    { action: 'dispatch', contact_id: 7, by: 'anna', responded_at: '2026-11-30T06:01:00.000Z', fate: 'waiting' },
  ],
};

function port(knowledge: Knowledge | undefined, result: Partial<AnswerResult> = {}, open: readonly unknown[] = []) {
  const asked: string[] = [];
  const contact = (how: string) => (contactId: string) => {
    asked.push(`${how} ${contactId}`);
    return knowledge;
  };
  const mirror = knowledge && { knows: async (one: string) => contact('ask')(one), knowsNow: contact('look') };
  const house = {
    ...(mirror && { mirror }),
    verifications: {
      list: () => open,
      ask: async () => ({ outcome: 'done', document }),
      answer: async (_: GivenAnswer, reply: (result: AnswerResult) => void) =>
        reply({ outcome: 'accepted', at: 0, final: false, document, ...result }),
    },
  } as unknown as House;
  return { ...verificationsPort(house, pino({ level: 'silent' })), asked };
}
const answered = (knowledge: Knowledge | undefined, result: Partial<AnswerResult> = {}) =>
  new Promise<AnswerResult>((resolve) => {
    void port(knowledge, result).answer({} as GivenAnswer, resolve);
  });
const from = { source: 'lan', client: 'platform' } as const;

it.each<[Knowledge | undefined, unknown]>([
  ['known', { outcome: 'done', document }],
  ['unsure', { outcome: 'done', document, warning: 'CONTACT_UNSURE' }],
  ['unknown', { outcome: 'refused', code: 'UNKNOWN_TARGET', field: 'contact_id' }],
  // Without a way to the service nothing is kept of its contacts.
  [undefined, { outcome: 'done', document }],
])('a request that names a contact that is %s comes to %j', async (knowledge, expected) => {
  expect(await port(knowledge).ask(request, from)).toEqual(expected);
});

it('a request that is known already is asked for nothing again', async () => {
  const some = port('unknown', {}, [{ verification_id: id }]);
  expect(await some.ask(request, from)).toEqual({ outcome: 'done', document });
  expect(some.asked).toEqual([]);
});

it.each<[Knowledge | undefined, string | undefined]>([
  ['known', undefined],
  ['unsure', 'CONTACT_UNSURE'],
  ['unknown', 'CONTACT_UNKNOWN'],
  [undefined, undefined],
])('an answer for a contact that is %s goes up; its reply warns: %s', async (knowledge, warning) => {
  const result = await answered(knowledge);
  expect([result.outcome, result.warning]).toEqual(['accepted', warning]);
});

it('an answer never waits for the cloud to be asked, and is judged by the contact of who answered', async () => {
  const some = port('unknown');
  await new Promise<void>((resolve) => {
    void some.answer({} as GivenAnswer, () => resolve());
  });
  expect(some.asked).toEqual(['look 7']);
});

it('safety 4: a reply that shows no verification, and one that refuses, say nothing of a contact', async () => {
  const { document: _, ...silent } = await answered('unknown', { document: undefined as never });
  expect(silent).toEqual({ outcome: 'accepted', at: 0, final: false });
  expect(await answered('unknown', { outcome: 'refused', error: { code: 'BAD_CODE' } })).not.toHaveProperty('warning');
});
