import { setTimeout as pause } from 'node:timers/promises';
import { code, type Site } from '../harness/site.ts';
import type { Random } from './random.ts';

/** Something done to the site from outside; every event of the site is explained by one of these or by a restart. */
export interface Stimulus {
  /** Wall clock milliseconds, before it was done. */
  readonly at: number;
  readonly what: 'open' | 'close' | 'person' | 'nobody' | 'arm' | 'disarm';
  /** Zone for sensors and cameras, partition for commands. */
  readonly about: string;
}

export interface Sensor {
  readonly zone: string;
  /** Friendly name at zigbee2mqtt. */
  readonly name: string;
}

export interface Stream {
  readonly stimuli: readonly Stimulus[];
  /** Sensors still send; people and cameras rest. As while the daemon is away. */
  sensorsOnly(on: boolean): void;
  stop(): Promise<void>;
}

/**
 * A lively site: contacts open and close, people arm and disarm, cameras see somebody. Contacts are published with QoS 1 and not
 * retained, so that what siteward did not acknowledge must come again from the broker.
 */
export function startStream(options: {
  site: Site;
  random: Random;
  sensors: readonly Sensor[];
  partitions: readonly string[];
  cameras: Readonly<Record<string, string>>;
}): Stream {
  const { site, random, sensors } = options;
  const stimuli: Stimulus[] = [];
  const levels = new Map<string, boolean>();
  const failures: unknown[] = [];
  let running = true;
  let away = false;
  const note = (what: Stimulus['what'], about: string) => stimuli.push({ at: Date.now(), what, about });
  const toggled = (zone: string): boolean => {
    const next = levels.get(zone) !== true;
    levels.set(zone, next);
    return next;
  };

  async function sensor(): Promise<void> {
    const { zone, name } = random.pick(sensors);
    const open = toggled(zone);
    note(open ? 'open' : 'close', zone);
    await site.lan.publish(`zigbee2mqtt/${name}`, JSON.stringify({ contact: !open, linkquality: 120 }));
  }

  async function command(): Promise<void> {
    const partition = random.pick(options.partitions);
    if (random.chance(0.6)) {
      note('arm', partition);
      await site.lan.send('arm', { partition, mode: 'away', force: random.chance(0.5), code });
    } else {
      note('disarm', partition);
      await site.lan.send('disarm', { partition, code });
    }
  }

  function camera(): void {
    const [id = '', zone = ''] = random.pick(Object.entries(options.cameras));
    const person = toggled(zone);
    note(person ? 'person' : 'nobody', zone);
    site.cameras[id]?.send(`person ${person ? 'on' : 'off'}`);
  }

  async function run(): Promise<void> {
    while (running) {
      const dice = away ? 1 : random.between(0, 1);
      if (dice < 0.2) await command();
      else if (dice < 0.35) camera();
      else await sensor();
      await pause(random.between(2, 30));
    }
  }

  const done = run().catch((error: unknown) => failures.push(error));
  return {
    stimuli,
    sensorsOnly(on) {
      away = on;
    },
    async stop() {
      running = false;
      await done;
      if (failures.length > 0) throw failures[0];
    },
  };
}
