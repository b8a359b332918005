import { createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'mqtt';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { keepLine } from '#devices/panels/index.ts';
import { systemClock } from '#lib/clock.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { createConnection } from '../../../src/lan/mqtt/connection.ts';
import { createHaAudio } from '../../../src/lan/mqtt/home-assistant-audio.ts';
import { createHaCommands, type HaRefusal } from '../../../src/lan/mqtt/home-assistant-commands.ts';
import { haDevices } from '../../../src/lan/mqtt/home-assistant-devices.ts';
import type { CommandMessage } from '../../../src/lan/mqtt/parse.ts';
import { fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import { code, isThere, nameOf } from './bugcases.ts';

const clock = systemClock();
const log = pino({ level: 'silent' });
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const topic = 'dsc/Get/Zone1';
const connack = Buffer.from([0x20, 2, 1, 0]);
/** QoS 1, with the packet id 1. */
const publish = Buffer.from([0x32, topic.length + 5, 0, topic.length, ...Buffer.from(topic), 0, 1, 0x31]);
const puback = Buffer.from([0x40, 2, 0, 1]);

/** A broker that has a message waiting: it comes in one piece with the CONNACK. */
async function eagerBroker(): Promise<{ url: string; acknowledged: () => boolean }> {
  const sockets = new Set<Socket>();
  let answered = Buffer.alloc(0);
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('data', () => {
      socket.write(Buffer.concat([connack, publish]));
      socket.on('data', (bytes) => {
        answered = Buffer.concat([answered, bytes]);
      });
    });
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `mqtt://127.0.0.1:${address.port}`, acknowledged: () => answered.includes(puback) };
}

describe.skipIf(!isThere)('reports of other systems about one part (needs ../shared)', () => {
  it(nameOf(5), async () => {
    const stop = new AbortController();
    const heard: string[] = [];

    const ofPanels = await eagerBroker();
    const line = keepLine(
      {
        ...{ connect: { url: ofPanels.url }, clientId: 'siteward-hq-panels', clean: false, clock },
        up: () => new Promise(() => undefined),
        down: () => undefined,
        message: async (packet) => void heard.push(`panels ${packet.topic}`),
      },
      stop.signal,
    );
    ends.push(() => line);
    await eventually('the PUBACK of the panels', () => (ofPanels.acknowledged() ? true : undefined));

    const ofLan = await eagerBroker();
    const connection = createConnection({
      ...{ connect: { url: ofLan.url, protocolVersion: 4 }, name: 'siteward', clientId: 'siteward-hq', clock, log },
      will: { topic: 'siteward/1/hq/status', payload: 'offline' },
      onOpen: () => new Promise(() => undefined),
      onClose: () => undefined,
      onMessage: (packet) => void heard.push(`lan ${packet.topic}`),
    }).run(stop.signal);
    ends.push(() => connection);
    ends.push(() => stop.abort(new Error('the test is over')));
    await eventually('the PUBACK of the LAN', () => (ofLan.acknowledged() ? true : undefined));
    expect(heard).toEqual([`panels ${topic}`, `lan ${topic}`]);

    // What the same broker loses to a client that begins to listen a moment later.
    const ofOthers = await eagerBroker();
    const late = connect(ofOthers.url, { protocolVersion: 4, clean: false, clientId: 'other', reconnectPeriod: 0 });
    ends.push(() => late.endAsync(true));
    await pause(200);
    late.on('message', (at) => void heard.push(`late ${at}`));
    await eventually('the PUBACK of the other', () => (ofOthers.acknowledged() ? true : undefined));
    expect(heard).toHaveLength(2);
  });

  it(nameOf(27), () => {
    const { plan } = fakeSite().view();
    const taken: CommandMessage[] = [];
    const refused: HaRefusal[] = [];
    let aheadMs = 0;
    const commandsOf = (disarmNeedsCode: boolean) =>
      createHaCommands({
        plan: () => ({ ...plan, disarmNeedsCode }),
        audio: createHaAudio(),
        onAudio: () => undefined,
        take: (message) => void taken.push(message),
        tell: (_type, refusal) => void refused.push(refusal),
        clear: () => undefined,
        clock: { ...clock, monotonic: () => clock.monotonic() + aheadMs },
        metrics: new Registry(),
      });
    const from = (role: 'ha' | 'ha-trusted', payload: object | string): CommandMessage => ({
      ...{ verb: 'ha/p1', retained: false, sender: { client: role, role, proven: true } },
      payload: Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)),
    });
    const codes = () => taken.splice(0).map(({ payload }) => JSON.parse(Buffer.from(payload).toString()).code);

    // Home Assistant is given no code and no template that holds one: what is typed goes to the site, which knows it or not.
    const [device] = haDevices(plan, {
      ...{ root: 'siteward/1/hq', slug: 'hq', version: '0.1.0', siteName: 'Head office', serial: 'sw-1' },
      messages: [],
    });
    const panel = device?.config.components.p1;
    expect(panel).toMatchObject({ code: 'REMOTE_CODE', code_disarm_required: true });

    const strict = commandsOf(true);
    aheadMs += 5000;
    const issued_at = new Date().toISOString();
    for (const [index, typed] of ['{{ code }}', 'REMOTE_CODE', code].entries())
      strict.take(
        from('ha-trusted', { action: 'DISARM', code: typed, issued_at: `${issued_at.slice(0, -2)}${index}Z` }),
      );
    expect(codes()).toEqual(['{{ code }}', 'REMOTE_CODE', code]);

    // Who may disarm by a bare word is a matter of the role, and siteward puts no code into it.
    strict.take(from('ha-trusted', 'DISARM'));
    const lax = commandsOf(false);
    aheadMs += 5000;
    lax.take(from('ha', 'DISARM'));
    expect([codes(), refused.map(({ error }) => error.code)]).toEqual([[], ['CODE_REQUIRED', 'CODE_REQUIRED']]);
    lax.take(from('ha-trusted', 'DISARM'));
    expect(codes()).toEqual([undefined]);
  });
});
