import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Socket, connect as tcp } from 'node:net';
import { join } from 'node:path';
import { connect as tls } from 'node:tls';
import mqtt, { type IClientOptions } from 'mqtt';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeSite, fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import { event } from './bench.ts';
import { commandId, now, type Running, root, startLan, until, type Watcher, watch } from './harness.ts';
import { type Stand, stands } from './stands.ts';

/** What one bad client does to the others: nothing. */
for (const [name, start, missing] of stands) {
  describe.skipIf(missing)(`a bad client on ${name}`, () => {
    let stand: Stand;
    let site: FakeSite;
    let running: Running;
    let good: Watcher;
    /** Whether siteward had its connection, each time that changed. */
    let links: boolean[];
    let cuts: string[];
    const ends: (() => unknown)[] = [];

    beforeAll(async () => {
      stand = await start();
    }, 60_000);
    afterAll(() => stand?.stop());
    beforeEach(async () => {
      site = fakeSite();
      links = [];
      cuts = [];
      running = await startLan(stand.broker, site, { onLink: (up) => links.push(up) });
      good = await client('kp1', {}, [`${root}/reply/kp1/#`]);
    });
    afterEach(async () => {
      // Neither the keypad nor siteward has lost its connection by whatever happened.
      expect([links, cuts.filter((id) => id === 'kp1')]).toEqual([[true], []]);
      good.client.removeAllListeners('close');
      for (const end of ends.splice(0).reverse()) await end();
      await running.lan.stop();
    });

    async function client(id: string, change: IClientOptions = {}, filters: string[] = []): Promise<Watcher> {
      const watcher = await watch(stand.url, { ...stand.login(id), ...change }, filters);
      watcher.client.on('close', () => cuts.push(id));
      ends.push(() => watcher.client.endAsync(true));
      return watcher;
    }

    const raw = async (): Promise<Socket> => {
      const { hostname: host, port } = new URL(stand.url);
      const to = { host, port: Number(port) };
      const socket = stand.kind === 'embedded' ? tcp(to) : tls({ ...to, rejectUnauthorized: false });
      socket.on('error', () => undefined);
      ends.push(() => socket.destroy());
      await once(socket, stand.kind === 'embedded' ? 'connect' : 'secureConnect');
      return socket;
    };

    /** So many commands of the good client, one after the other; what became of each. */
    async function works(count = 10): Promise<void> {
      const outcomes: string[] = [];
      for (let n = 0; n < count; n += 1) {
        const id = commandId();
        const reply_to = `${root}/reply/kp1/${id}`;
        const body = { id, issued_at: now(), partition: 'p2', code: '48270391', reply_to };
        await good.client.publishAsync(`${root}/cmd/disarm`, JSON.stringify(body), { qos: 1 });
        const reply = await until(
          () => good.json(`reply/kp1/${id}`).find(({ final }) => final === true),
          `the answer to command ${n}`,
          30_000,
        );
        outcomes.push(String(reply.outcome));
      }
      expect(outcomes).toEqual(Array.from({ length: count }, () => 'done'));
    }

    const refusalOf = (options: IClientOptions) =>
      new Promise<unknown>((resolve) => {
        const one = mqtt.connect(stand.url, { ...stand.login('kp1'), ...options });
        ends.push(() => one.endAsync(true));
        one.once('connect', () => resolve('in'));
        one.once('error', (error) => resolve('code' in error ? error.code : -1));
      });

    it('pushes nobody out by taking an id, with a right password or a wrong one', async () => {
      const ids = ['test-kp1', 'kp1', 'siteward', 'siteward-hq', 'kp1/test-kp1', '/test-kp1'];
      for (const clientId of ids) {
        await refusalOf({ ...stand.login('kp2'), clientId });
        expect(await refusalOf({ clientId, password: 'wrong' })).not.toBe('in');
        expect(await refusalOf({ clientId, username: 'siteward', password: 'wrong' })).not.toBe('in');
        expect(await refusalOf({ clientId, username: 'siteward', password: '' })).not.toBe('in');
        await refusalOf({ clientId, username: '', password: '' });
      }
      await works(3);
      // mosquitto 2.0.11 forgets a client whose id somebody without a name has given, and takes its next connection for deaf.
      await running.lan.stop();
      links = [];
      running = await startLan(stand.broker, site, { onLink: (up) => links.push(up) });
      await works(3);
    });

    it('keeps nobody out by taking an id first', async () => {
      await client('kp2', { clientId: 'test-kp3' });
      const late = await client('kp3', {}, [`${root}/status`]);
      await until(() => late.texts('status').length > 0, 'what is retained');
      expect(cuts).toEqual([]);
    });

    it('takes nobody the messages that wait for a session', async () => {
      const first = await client('kp3', { clean: false }, [`${root}/event/arming`]);
      await first.client.endAsync();
      const thief = await client('kp2', { clientId: 'test-kp3', clean: false });
      running.lan.publishEvent(event({ class: 'arming', kind: 'armed_away' }));
      const [again] = await Promise.all([client('kp3', { clean: false }), works(1)]);
      await until(() => again.texts('event/arming').length > 0, 'what has waited');
      expect(thief.packets).toEqual([]);
    });

    it('holds no one up by connections that say nothing, or half of something', async () => {
      const halves = [Buffer.alloc(0), Buffer.from([0x10]), Buffer.from([0x10, 0x40, 0x00, 0x04, 0x4d])];
      for (let n = 0; n < 100; n += 1) (await raw()).write(halves[n % halves.length] ?? '');
      const late = await client('tablet', {}, [`${root}/status`]);
      await until(() => late.texts('status').length > 0, 'what is retained');
      await works(3);
      if (stand.kind === 'embedded') expect(await stand.metrics()).toMatch(/reason="too_many_silent"\} [1-9]/);
    });

    it('is cut when what it sends is no MQTT or over the cap, and counted', async () => {
      for (const bytes of ['GET / HTTP/1.1\r\n\r\n', '\x10\xff\xff\xff\xff\x7f', '\x30\x02\x00']) {
        const socket = await raw();
        const closed = new Promise((resolve) => socket.once('close', resolve));
        socket.write(Buffer.from(bytes, 'latin1'));
        if (!bytes.startsWith('\x30')) await closed;
      }
      const large = await client('kp2');
      const closed = new Promise<void>((resolve) => large.client.once('close', () => resolve()));
      large.client.publish(`${root}/cmd/arm`, Buffer.alloc(1_100_000));
      await closed;
      await works(3);
      if (stand.kind === 'embedded') expect(await stand.metrics()).toMatch(/reason="packet_too_large"\} [2-9]/);
    });

    it('holds no one up by thousands of subscriptions', async () => {
      const bad = await client('tablet');
      const filters = Array.from({ length: 3000 }, (_, n) => `${root}/zone/${n}/state`);
      const granted = await bad.client.subscribeAsync(filters, { qos: 1 }).catch((error) => error.packet.granted);
      await works(3);
      if (stand.kind === 'mosquitto') return;
      expect(granted.filter((qos: number) => qos === 128).length).toBe(3000 - 256);
      expect(await stand.metrics()).toMatch(/reason="subscribe"\} [1-9]/);
    });

    it('holds no one up by reading nothing', async () => {
      site.pictures = { yard: Buffer.alloc(512 * 1024 - 1) };
      const images = [`${root}/camera/+/image`];
      const stuck = await client('guard1', {}, images);
      stuck.client.stream.pause();
      const tech = await client('tech', {}, [...images, `${root}/reply/tech/#`]);
      for (let n = 0; n < 40; n += 1) {
        const id = commandId();
        const reply_to = `${root}/reply/tech/${id}`;
        const body = { id, issued_at: now(), camera: 'yard', reply_to };
        await tech.client.publishAsync(`${root}/cmd/snapshot`, JSON.stringify(body), { qos: 1 });
        const isFinal = () => tech.json(`reply/tech/${id}`).some(({ final }) => final === true);
        await until(isFinal, 'a picture');
      }
      await works(3);
      expect(tech.packets.filter(({ topic }) => topic.endsWith('/image')).length).toBe(40);
      if (stand.kind === 'embedded') expect(await stand.metrics()).toMatch(/reason="slow_client"\} [1-9]/);
    });

    // mosquitto has no bound on what one client sends in a second: docs/mqtt.md says what comes of it.
    const floods = [
      ['commands', { topic: 'cmd/query', payload: query('%n') }],
      ['commands that wait to be taken', { topic: 'cmd/query', payload: query('%n'), qos: 1 }],
      ['commands that are alike', { topic: 'cmd/query', payload: query('1') }],
      ['wrong codes', { topic: 'cmd/disarm', payload: query('%n', { partition: 'p1', code: '0000' }) }],
      ['broken commands', { topic: 'cmd/arm', payload: '{' }],
      ['large commands', { topic: 'cmd/arm', payload: '', fill: 60_000 }],
      ['verbs that nobody has', { topic: 'cmd/x%n', payload: '{}' }],
    ] as const;
    it.each(name.startsWith('mosquitto') ? [] : floods)(
      'holds up no command of another by a flood of %s',
      async (_, what) => {
        const end = await flood(what);
        await works();
        expect(await end()).toBeGreaterThan(0);
      },
    );

    /** Goes on until it is told to end; says how much it has sent. */
    async function flood(what: object): Promise<() => Promise<number>> {
      const flooded = { fill: 0, qos: 0, ...what, topic: `${root}/${(what as { topic: string }).topic}` };
      const args = [join(import.meta.dirname, 'flooder.ts'), stand.url];
      const child = spawn(process.execPath, [...args, JSON.stringify(stand.login('kp2')), JSON.stringify(flooded)]);
      ends.push(() => child.kill('SIGKILL'));
      let said = '';
      child.stdout.on('data', (data) => {
        said += data;
      });
      await until(() => said.includes('begun'), 'the flood', 30_000);
      return async () => {
        const exited = once(child, 'exit');
        child.stdin.end();
        await exited;
        return Number(/"sent":(\d+)/.exec(said)?.[1]);
      };
    }
  });
}

const query = (n: string, more: object = { what: 'troubles' }) =>
  JSON.stringify({
    id: `00000000-0000-4000-8000-0000000000${n}`,
    issued_at: '%t',
    reply_to: `${root}/reply/kp2/${n}`,
    ...more,
  });
