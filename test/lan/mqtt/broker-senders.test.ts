import { EventEmitter } from 'node:events';
import type { AedesPublishPacket, Client } from 'aedes';
import { expect, test } from 'vitest';
import { brokerAuth } from '#lan/mqtt/broker-auth.ts';
import { Secret } from '#lib/secret.ts';
import { root } from './harness.ts';

const password = Buffer.from('right');

function door() {
  const users = [
    { id: 'keypad', role: 'keypad', password: new Secret('right') },
    { id: 'script', role: 'keypad', password: new Secret('right') },
  ] as const;
  const auth = brokerAuth({ root, users, anonymous: false, isOwn: () => false });
  const to = { id: 'own', conn: new EventEmitter() } as unknown as Client;
  const come = (name: string, id: string) => {
    const client = { id, conn: new EventEmitter() } as unknown as Client;
    expect(auth.admit(client, name, password)).toBeUndefined();
    return { id: client.id, leave: () => client.conn.emit('close') };
  };
  const sends = (clientId: string) => {
    const topic = `${root}/cmd/disarm`;
    const payload = Buffer.from(clientId);
    auth.noteCommand(to, { topic, payload, clientId } as unknown as AedesPublishPacket);
    return auth.senderOf(topic, payload);
  };
  return { come, sends };
}

test('who sends a command is known however many have come and gone since it logged in', () => {
  const { come, sends } = door();
  const keypad = come('keypad', 'kp1');
  let last = keypad.id;
  for (let i = 0; i < 16_400; i += 1) {
    const one = come('script', `s${i}`);
    one.leave();
    last = one.id;
  }
  expect(sends(keypad.id)).toMatchObject({ client: 'keypad', proven: true });
  // Its command may still be on its way.
  expect(sends(last)).toMatchObject({ client: 'script', proven: true });
});

test('a client whose place was taken by another of its account leaves it its name', () => {
  const { come, sends } = door();
  const first = come('keypad', 'kp1');
  const second = come('keypad', 'kp1');
  first.leave();
  expect(sends(second.id)).toMatchObject({ client: 'keypad', proven: true });
});
