import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { code, type Site, startSite } from '../harness/site.ts';
import { isRoot, smallDisk } from '../site/store/small-disk.ts';

/** I14 with real parts: nothing that is broken at once keeps a person with a code from disarming. */
const yaml = `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: perimeter, name: Window, key: window, partition: p1 } }
`;

let site: Site | undefined;
afterEach(async () => {
  await site?.close();
  site = undefined;
});

describe.skipIf(!isRoot)('a disarm with a code (a disk of its own needs root)', () => {
  it('works while the cloud is away, the disk is full and the broker has just come back, also after a kill', {
    timeout: 180_000,
  }, async () => {
    const small = smallDisk('ext4', 24);
    const started = await startSite({ yaml: () => yaml, stateDir: small.dir });
    site = started;
    const { lan, daemon, broker, line } = started;
    await lan.publish('zigbee2mqtt/window', '{"contact":true}');
    await lan.shows('zone/1/state', 'OFF');
    await line.cut();
    small.fill();
    for (const trouble of ['broker', 'kill'] as const) {
      expect(await lan.ask('arm', { partition: 'p1', mode: 'away', code })).toMatchObject({ outcome: 'done' });
      await lan.publish('zigbee2mqtt/window', '{"contact":false}');
      await lan.shows('partition/p1/state', 'triggered');
      await eventually('the alarm on the LAN', () => (lan.events.some(isAlarm) ? true : undefined));
      if (trouble === 'broker') await broker?.restart();
      else {
        await daemon.kill();
        await daemon.restart();
        // What was not on disk is gone; then it is armed or unknown, never less.
        await pause(200);
      }
      expect(await lan.ask('disarm', { partition: 'p1', code }, 30_000)).toMatchObject({
        outcome: expect.stringMatching(/^(done|already)$/),
        state: 'disarmed',
      });
      await lan.shows('partition/p1/state', 'disarmed');
      await lan.publish('zigbee2mqtt/window', '{"contact":true}');
      await lan.shows('zone/1/state', 'OFF');
    }
  });
});

const isAlarm = ({ event }: { event: { class: string } }): boolean => event.class === 'alarm';
