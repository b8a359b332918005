import type { Stamp, VerificationRequest } from '#site/model/index.ts';
import * as rules from '../../../src/site/verification/rules.ts';
import type { Book, Verification } from '../../../src/site/verification/types.ts';

export const id = '0a0a0a0a-1111-4222-8333-444444444444';
export const noon = Date.UTC(2026, 10, 28, 12);
export const minute = 60_000;

export const stamp = (afterMs = 0, more: Partial<Stamp> = {}): Stamp => ({
  mono: 1_000_000 + afterMs,
  wall: noon + afterMs,
  boot: 'boot-1',
  clock: 'synced',
  ...more,
});

export const request = (more: Partial<VerificationRequest> = {}): VerificationRequest => ({
  verification_id: id,
  contact_id: 7,
  expires_at: new Date(noon + 5 * minute).toISOString(),
  ...more,
});

export const from = { source: 'lan', client: 'platform-1' } as const;

export function asked(book: Book = new Map(), more: Partial<VerificationRequest> = {}, at = stamp()) {
  return rules.ask(book, request(more), { about: undefined, from, at });
}

let commands = 0;
export function given(more: Partial<rules.Given> = {}): rules.Given {
  commands += 1;
  return {
    verificationId: id,
    action: 'disregard',
    commandId: `command-${commands}`,
    origin: { source: 'lan', client: 'guard-1' },
    by: 'anna',
    contact: 7,
    mayAnswer: true,
    duress: false,
    pressedAt: noon,
    ...more,
  };
}

export function must(book: Book, wanted = id): Verification {
  const found = book.get(wanted);
  if (found === undefined) throw new Error('it is not in the book');
  return found;
}

export const sent = (book: Book, at = stamp()) => rules.outgoing(book, at).map(({ n, action }) => `${n} ${action}`);

/** Sends what waits, each recorded, until nothing waits; gives what the service heard. */
export function drain(book: Book, at = stamp()): { book: Book; heard: string[] } {
  let next = book;
  const heard: string[] = [];
  for (let one = rules.outgoing(next, at)[0]; one !== undefined; one = rules.outgoing(next, at)[0]) {
    heard.push(one.action);
    next = rules.settle(next, one, { fate: 'recorded' }, at).book;
  }
  return { book: next, heard };
}
