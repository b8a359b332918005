import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { hangDisk, hasStrace } from '../harness/hanging-disk.ts';
import { code, type Site, startSite } from '../harness/site.ts';
import { measureWav } from '../harness/sound.ts';
import { isRoot, smallDisk } from '../site/store/small-disk.ts';

/** Safety 9, and that no disk holds up a sound, with the whole daemon: what a speaker hears lies in files. */
let site: Site | undefined;
let hang: ChildProcess | undefined;
afterEach(async () => {
  hang?.kill('SIGKILL');
  hang = undefined;
  await site?.close();
  site = undefined;
});

async function start(stateDir?: string): Promise<Site> {
  site = await startSite({
    broker: 'embedded',
    ...(stateDir !== undefined && { stateDir }),
    yaml: ({ folder }) => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Window, key: window, partition: p1 }
      "9": { type: panic_silent, name: Button, key: button, partition: p1 }
speakers: [ { id: gate, driver: capture, folder: ${join(folder, 'heard')} } ]
rules:
  - { id: intrusion, on: { kind: burglary_perimeter, armed: [away] }, play: { message: alarm.siren, repeat: 5 } }
  - { id: all, on: { class: alarm }, cool_down: 0s, play: { message: alarm.siren } }
`,
  });
  const { lan } = site;
  await lan.publish('zigbee2mqtt/button', '{"contact":true}');
  await lan.publish('zigbee2mqtt/window', '{"contact":true}');
  await lan.shows('zone/1/state', 'OFF');
  return site;
}

const arm = ({ lan }: Site) => lan.ask('arm', { partition: 'p1', mode: 'away', code });
const breakIn = ({ lan }: Site) => lan.publish('zigbee2mqtt/window', '{"contact":false}');
function heard({ folder }: Site): string[] {
  const at = join(folder, 'heard');
  return existsSync(at)
    ? readdirSync(at)
        .filter((name) => name.endsWith('.wav'))
        .map((name) => join(at, name))
    : [];
}
const sound = (of: Site) => eventually('the sound', () => heard(of)[0], { timeoutMs: 15_000, everyMs: 20 });
const tones = (file: string) => measureWav(file)[0]?.lengthMs ?? 0;

describe('an intrusion that panels tell over MQTT', () => {
  it('is heard until the disarm with a code; a silent button before it is not', { timeout: 120_000 }, async () => {
    const house = await start();
    await house.lan.publish('zigbee2mqtt/button', '{"contact":false}');
    expect(await arm(house)).toMatchObject({ outcome: 'done' });
    expect(heard(house)).toEqual([]);
    await breakIn(house);
    const file = await sound(house);
    expect(await house.lan.ask('disarm', { partition: 'p1', code })).toMatchObject({ outcome: 'done' });
    const ended = () => house.daemon.lines().filter((line) => line.includes('a message has ended'));
    await eventually('the end of both', async () => (ended().length === 2 ? true : undefined));
    expect(ended().map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ by: 'rule:intrusion', status: 'cancelled', reasons: ['gate: disarmed'] }),
    );
    expect(tones(file)).toBeGreaterThan(0);
    const sizes = () => heard(house).map((one) => [one, statSync(one).size] as const);
    const before = sizes();
    // Nothing more of it while the next one is heard.
    await house.lan.publish('zigbee2mqtt/window', '{"contact":true}');
    await house.lan.shows('zone/1/state', 'OFF');
    expect(await arm(house)).toMatchObject({ outcome: 'done' });
    await breakIn(house);
    const half = 48_000;
    const isNew = (one: string) => before.every(([former]) => former !== one);
    await eventually('half a second of it', () => sizes().find(([one, size]) => isNew(one) && size > half), {
      timeoutMs: 15_000,
    });
    expect(sizes()).toEqual(expect.arrayContaining(before));
  });

  it.skipIf(!isRoot)(
    'is heard while the disk is full (a disk of its own needs root)',
    {
      timeout: 120_000,
    },
    async () => {
      const small = smallDisk('ext4', 24);
      const house = await start(small.dir);
      expect(await arm(house)).toMatchObject({ outcome: 'done' });
      await house.line.cut();
      small.fill();
      await breakIn(house);
      expect(existsSync(await sound(house))).toBe(true);
    },
  );

  it.skipIf(!hasStrace)('is heard while the disk does not answer (needs strace)', { timeout: 120_000 }, async () => {
    const house = await start();
    expect(await arm(house)).toMatchObject({ outcome: 'done' });
    hang = await hangDisk(house.daemon.pid);
    await breakIn(house);
    expect(existsSync(await sound(house))).toBe(true);
  });
});
