import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { AedesPublishPacket } from 'aedes';
import { describe, expect, it } from 'vitest';
import { createDoor } from '../../../src/lan/mqtt/broker-door.ts';
import { BrokerMemory } from '../../../src/lan/mqtt/broker-memory.ts';
import { root } from './harness.ts';

/** Loopback is one address for all, so that those of a network are played here. */
describe('the door of the embedded broker', () => {
  function rig() {
    const cut: string[] = [];
    const refused: string[] = [];
    const door = createDoor((reason) => refused.push(reason));
    let port = 0;
    const come = (address: string) => {
      port += 1;
      const name = `${address}:${port}`;
      const socket = Object.assign(new EventEmitter(), {
        ...{ remoteAddress: address, remotePort: port },
        destroy() {
          cut.push(name);
          socket.emit('close');
        },
      });
      door.take(socket as unknown as Socket);
      return { name, socket: socket as unknown as Socket };
    };
    return { door, come, cut, refused };
  }

  it('lets one address have so many that say nothing; the one that has waited longest gives way', () => {
    const { come, cut, refused } = rig();
    const all = Array.from({ length: 20 }, () => come('::ffff:192.0.2.9').name);
    const other = come('192.0.2.10').name;
    expect(cut).toEqual(all.slice(0, 4));
    expect(cut).not.toContain(other);
    expect(refused).toEqual(cut.map(() => 'too_many_silent'));
  });

  it('lets all together have so many', () => {
    const { come, cut } = rig();
    const all = Array.from({ length: 80 }, (_, n) => come(`192.0.2.${n}`).name);
    expect(cut).toEqual(all.slice(0, 16));
  });

  it('keeps who has said who they are, up to the cap of their address', () => {
    const { door, come, cut, refused } = rig();
    for (let n = 0; n < 64; n += 1) door.known(come('192.0.2.9').socket);
    expect(cut).toEqual([]);
    const late = come('192.0.2.9').name;
    expect([cut, refused]).toEqual([[late], ['too_many_of_address']]);
  });
});

describe('the memory of the embedded broker', () => {
  const caps = {
    ...{ retained: 4, retainedBytes: 1000, sessions: 6, sessionsOfAccount: 2 },
    ...{ subscriptions: 4, queued: 10, queuedBytes: 200 },
  };
  function rig() {
    const dropped: string[] = [];
    const isOurs = (topic: string) => topic.startsWith(`${root}/`);
    return { dropped, memory: new BrokerMemory({ caps, isOurs, dropped: (reason) => dropped.push(reason) }) };
  }
  const packet = (topic: string, bytes = 1) =>
    ({ cmd: 'publish', qos: 1, topic, payload: Buffer.alloc(bytes, 'x') }) as unknown as AedesPublishPacket;
  const kept = async (memory: BrokerMemory) => {
    const topics: string[] = [];
    for await (const { topic } of memory.createRetainedStream('#')) topics.push(topic);
    return topics;
  };

  it('leaves the state of the site its room, whatever others keep', async () => {
    const { memory, dropped } = rig();
    for (let n = 0; n < 5; n += 1) await memory.storeRetained(packet(`a/${n}`));
    for (let n = 0; n < 4; n += 1) await memory.storeRetained(packet(`${root}/zone/${n}/state`));
    expect((await kept(memory)).length).toBe(6);
    expect(dropped).toEqual(['retained_full', 'retained_full', 'retained_full']);
    await memory.storeRetained(packet('a/0', 0));
    await memory.storeRetained(packet('a/9'));
    expect(await kept(memory)).toContain('a/9');
  });

  it('keeps sessions of one account at its own cost', async () => {
    const { memory } = rig();
    const filter = { topic: 'a/#', qos: 1 } as const;
    await memory.addSubscriptions({ id: 'kp1/x' }, [filter]);
    for (let n = 0; n < 5; n += 1) await memory.addSubscriptions({ id: `kp2/${n}` }, [filter]);
    const ids = (await memory.subscriptionsByTopic('a/1')).map(({ clientId }) => clientId);
    expect(ids).toEqual(['kp1/x', 'kp2/3', 'kp2/4']);
  });

  it('bounds what waits for a session in bytes, and has room again when it was taken', async () => {
    const { memory, dropped } = rig();
    await memory.addSubscriptions({ id: 'kp1/x' }, [{ topic: 'a', qos: 1 }]);
    const waiting = (n: number) => ({ ...packet('a', 90), brokerId: 'b', brokerCounter: n });
    for (const n of [1, 2, 3]) await memory.outgoingEnqueue({ clientId: 'kp1/x' }, waiting(n));
    expect(dropped).toEqual(['queue_full']);
    await memory.outgoingClearMessageId({ id: 'kp1/x' }, waiting(1));
    await memory.outgoingEnqueue({ clientId: 'kp1/x' }, waiting(4));
    expect(dropped).toEqual(['queue_full']);
  });
});
