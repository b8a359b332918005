import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { openLan, planted, type Rig, root, startRig } from './rig.ts';

/** Nothing that comes over the LAN disarms but a good command with a good code. */
const partitions = `partitions:
  - { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s }
  - { id: p2, name: Store, exit_delay: 0s, entry_delay: 0s }
`;
const sections = `users: [ { id: anna, name: Anna, code: { env: CODE }, duress_code: { env: DURESS } } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: perimeter, name: Window, key: window, partition: p1 } }
`;
const code = planted.code;
const hour = 3_600_000;
const at = (ms: number) => new Date(Date.now() + ms).toISOString();

/** A whole disarm with one thing wrong; `undefined` takes a member away. */
const bad: readonly (readonly [what: string, change: Readonly<Record<string, unknown>>, answer: string | undefined])[] =
  [
    ['no id', { id: undefined }, 'SCHEMA'],
    ['an id that is no UUID', { id: 'one' }, 'SCHEMA'],
    ['an id that is a number', { id: 7 }, 'SCHEMA'],
    ['no time', { issued_at: undefined }, 'SCHEMA'],
    ['no partition', { partition: undefined }, 'SCHEMA'],
    ['a partition nobody has', { partition: 'p9' }, 'UNKNOWN_TARGET'],
    ['a partition that every object has', { partition: 'constructor' }, 'SCHEMA'],
    ['no code', { code: undefined }, 'CODE_REQUIRED'],
    ['a code that is a number', { code: Number(code) }, 'SCHEMA'],
    ['a code in a list', { code: [code] }, 'SCHEMA'],
    ['a code with a space', { code: ` ${code}` }, 'SCHEMA'],
    ['a code under another name', { code: undefined, pin: code }, 'SCHEMA'],
    ['a time an hour ahead', { issued_at: at(hour) }, 'FUTURE'],
    ['a time a year ahead', { issued_at: at(365 * 24 * hour) }, 'FUTURE'],
    ['a time an hour ago', { issued_at: at(-hour) }, 'EXPIRED'],
    ['a time of 1970', { issued_at: '1970-01-01T00:00:10Z' }, 'EXPIRED'],
    ['an end before its time', { expires_at: at(-hour) }, 'EXPIRED'],
    ['another sequence in mind', { expected: { seq: 999 } }, 'CONFLICT'],
    ['another state in mind', { expected: { state: ['disarmed'] } }, 'CONFLICT'],
  ];

describe.each(['mosquitto', 'embedded'] as const)('an armed site over %s', (broker) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig({ broker, cloud: false, partitions, sections });
    await rig.lan.publish('zigbee2mqtt/window', '{"contact":true}');
    await rig.lan.shows('zone/1/state', 'OFF');
    expect(await rig.lan.command('arm', { partition: 'p1', mode: 'away' })).toMatchObject({ outcome: 'done' });
    await rig.lan.shows('partition/p1/state', 'armed_away');
  });
  afterAll(() => rig?.close());

  const seen = (topic: string) => rig.lan.heard.filter((message) => message.topic === topic);
  const words = () => new Set(seen('partition/p1/state').map(({ payload }) => payload));

  it.each(bad)('is not disarmed by a command with %s', async (_, change, answer) => {
    const id = randomUUID();
    const topic = `reply/tester/${id}`;
    const whole = { id, issued_at: at(0), reply_to: `${root}/${topic}`, partition: 'p1', code };
    await rig.lan.publish(`${root}/cmd/disarm`, JSON.stringify({ ...whole, ...change }));
    const reply = await eventually('the refusal', () => seen(topic)[0]);
    expect(JSON.parse(reply.payload)).toMatchObject({ error: { code: answer }, final: true });
    expect(rig.lan.topics.get('partition/p1/state')).toBe('armed_away');
  });

  it('shows it armed all the time, and a good command still disarms it', async () => {
    expect([...words()].filter((word) => word !== 'disarmed' && word !== 'armed_away')).toEqual([]);
    const from = seen('partition/p1/state').length;
    expect(await rig.lan.command('disarm', { partition: 'p1', code })).toMatchObject({ outcome: 'done' });
    await rig.lan.shows('partition/p1/state', 'disarmed');
    expect(seen('partition/p1/state').length).toBeGreaterThan(from);
  });

  it('outlives 10,000 commands in a row: still armed, within its memory, and it still alarms', {
    timeout: 180_000,
  }, async () => {
    expect(await rig.lan.command('arm', { partition: 'p1', mode: 'away', code })).toMatchObject({ outcome: 'done' });
    await rig.lan.shows('partition/p1/state', 'armed_away');
    const before = memoryMiB(rig.daemon.pid);
    const answers = seen('reply/flood/1').length;
    const flood = await openLan(rig.mqttUrl);
    try {
      for (let sent = 0; sent < 10_000; sent += 250) {
        await Promise.all(
          Array.from({ length: 250 }, (_, n) => {
            const verb = (sent + n) % 2 === 0 ? 'disarm' : 'arm';
            const body = { id: randomUUID(), issued_at: at(0), reply_to: `${root}/reply/flood/1`, partition: 'p1' };
            const more = verb === 'arm' ? { mode: 'home' } : { code: String(1000 + ((sent + n) % 9000)) };
            return flood.publish(`${root}/cmd/${verb}`, JSON.stringify({ ...body, ...more }));
          }),
        );
      }
    } finally {
      await flood.close();
    }
    const reply = await eventually(
      'the answer to a person',
      async () => {
        const said = await rig.lan.command('query', { what: 'partitions' });
        return said.outcome === 'done' ? said : undefined;
      },
      { timeoutMs: 60_000 },
    );
    expect(reply.outcome).toBe('done');
    expect(rig.daemon.ended()).toBeUndefined();
    expect(rig.lan.topics.get('partition/p1/state')).toBe('armed_away');
    // The answers to a flood are not one.
    expect(seen('reply/flood/1').length - answers).toBeLessThan(2_000);
    // What 10,000 remembered commands would weigh is told from what a running program needs.
    expect(memoryMiB(rig.daemon.pid) - before).toBeLessThan(150);
    expect(await rig.metrics()).toMatch(/siteward_mqtt_commands_total\{[^}]*result="RATE_LIMITED"\} [1-9]/);
    await rig.lan.publish('zigbee2mqtt/window', '{"contact":false}');
    await rig.lan.shows('partition/p1/state', 'triggered');
  });
});

/** Resident memory. */
const memoryMiB = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1024;
