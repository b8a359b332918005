import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Controller } from '#site/controller.ts';
import type { Command, CommandResult, PanicCall, PartitionId } from '#site/model/index.ts';
import { callForHelp, callsPort } from '../../src/daemon/call-for-help.ts';
import type { House } from '../../src/daemon/house.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const call: PanicCall = { id: 'c1', kind: 'silent', source: 'lan', client: 'keypad' };
const command = {
  id: 'd1',
  partition: 'p1' as PartitionId,
  source: 'lan',
  client: 'keypad',
  actor: 'anna',
  bodyHash: '',
} as unknown as Command;

/** The time of a reload, between two controllers. */
function gap() {
  const house: House = {};
  const heard: unknown[] = [];
  const replies: CommandResult[] = [];
  const port = callsPort(house, () => 0);
  const next = {
    panic(given: PanicCall, reply: (result: CommandResult) => void) {
      heard.push(given);
      reply({ commandId: given.id, outcome: 'done', at: 0, final: true });
    },
    tell: async (news: unknown) => void heard.push(news),
  };
  const reply = (result: CommandResult) => void replies.push(result);
  const arrive = () => {
    house.controller = next as unknown as Controller;
  };
  return { house, port, heard, replies, reply, arrive };
}

test('a call for help between two controllers goes to the next one and is answered once', async () => {
  const { port, heard, replies, reply, arrive } = gap();
  port.panic(call, reply);
  await vi.advanceTimersByTimeAsync(3000);
  expect([...heard, ...replies]).toEqual([]);
  arrive();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(heard).toEqual([call]);
  expect(replies).toMatchObject([{ commandId: 'c1', outcome: 'done' }]);
});

test('one that no controller comes for, or of too many, is answered as failed', async () => {
  const { port, replies, reply } = gap();
  for (let i = 0; i < 65; i += 1) port.panic({ ...call, id: `c${i}` }, reply);
  await vi.advanceTimersByTimeAsync(0);
  expect(replies).toMatchObject([{ commandId: 'c64', outcome: 'failed', error: { code: 'BUSY' } }]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(replies).toHaveLength(65);
  expect(replies.every(({ outcome, final }) => outcome === 'failed' && final)).toBe(true);
  // Those that were given up make room.
  port.panic({ ...call, id: 'later' }, reply);
  await vi.advanceTimersByTimeAsync(0);
  expect(replies).toHaveLength(65);
});

test('a duress code at the socket or in a command of the LAN is told to the next controller, and shows nowhere', async () => {
  const { house, port, heard, replies, reply, arrive } = gap();
  callForHelp(house, 'bert', 'users');
  port.submit({ ...command, code: 'duress' }, reply);
  port.submit({ ...command, code: 'ok' }, reply);
  const { commandId: _, ...shown } = replies[0] ?? {};
  expect(replies).toMatchObject([shown, { outcome: 'failed', error: { code: 'BUSY' } }]);
  arrive();
  await vi.advanceTimersByTimeAsync(1000);
  expect(heard).toEqual([
    { kind: 'duress', source: 'cli', client: expect.any(String), actor: 'bert', target: 'users' },
    { kind: 'duress', source: 'lan', client: 'keypad', actor: 'anna', target: 'p1' },
  ]);
});
