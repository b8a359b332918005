import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFailed } from 'vitest';
import { camera, type Site, startSite } from '../harness/site.ts';
import {
  acknowledgedEventsArrived,
  acknowledgedRepliesArrived,
  cloudKnowsOnlyWhatWasKept,
  eachIdIsOneEvent,
  orderIsKept,
} from './checks.ts';
import { unexplained } from './explained.ts';
import { outboxIsEmpty } from './outbox.ts';
import { randomOf } from './random.ts';
import { startStream } from './stream.ts';

/** Kill -9 at random moments during a stream of events. */
const kills = 50;

const sensors = [
  { zone: '1', name: 'window' },
  { zone: '2', name: 'gate' },
  { zone: '3', name: 'hatch' },
];

const yaml = (cameras: Readonly<Record<string, string>>) => `
partitions:
  - { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s }
  - { id: p2, name: Store, exit_delay: 0s, entry_delay: 0s }
  - { id: p3, name: Yard, exit_delay: 0s, entry_delay: 0s }
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Window, key: window, partition: p1 }
      "2": { type: perimeter, name: Gate, key: gate, partition: p1, cameras: [yard] }
      "3": { type: perimeter, name: Hatch, key: hatch, partition: p2 }
      "9": { type: perimeter, name: Marker, key: marker, partition: p2 }
cameras:
${camera('yard', cameras.yard, 'zone: "21", zone_type: video_person_perimeter, partition: p3')}
media: { snapshots: 1 }
`;

let site: Site | undefined;
afterEach(async () => {
  await site?.close();
  site = undefined;
});

/** Everything that waited at the broker has been read, and everything in the outbox is settled. */
async function settled(of: Site): Promise<void> {
  await of.lan.publish('zigbee2mqtt/marker', JSON.stringify({ contact: false }));
  await of.lan.shows('zone/9/state', 'ON', 30_000);
  await outboxIsEmpty(of, { timeoutMs: 60_000 });
}

describe('kill -9', () => {
  it(`at ${kills} random moments loses no acknowledged event, repeats none with other contents and invents none`, {
    timeout: 300_000,
  }, async () => {
    const random = randomOf();
    onTestFailed(() => void process.stderr.write(`repeat with SITEWARD_SEED=${random.seed}\n`));
    const started = await startSite({ cameras: ['yard'], yaml: (at) => yaml(at.cameras) });
    site = started;
    const { daemon, cloud, lan } = started;
    const stream = startStream({
      site: started,
      random,
      sensors,
      partitions: ['p1', 'p2', 'p3'],
      cameras: { yard: '21' },
    });
    const ends: number[] = [];
    for (let round = 0; round < kills; round += 1) {
      if (random.chance(0.3)) await plantLostAnswer(started);
      await pause(random.between(200, 1500));
      await daemon.kill();
      ends.push(Date.now());
      stream.sensorsOnly(true);
      await daemon.restart();
      stream.sensorsOnly(false);
    }
    await stream.stop();
    await settled(started);

    const record = await cloud.events();
    const history = await started.history();
    const acknowledged = lan.events.length + lan.replies.length;
    process.stdout.write(
      `seed ${random.seed}: ${kills} kills, ${stream.stimuli.length} stimuli, ${acknowledged} acknowledgements, ` +
        `${record.length} events in the cloud, ${record.filter(({ try_count }) => try_count > 1).length} of them repeated\n`,
    );
    acknowledgedEventsArrived(lan.events, record, history);
    acknowledgedRepliesArrived(lan.replies, record);
    eachIdIsOneEvent(lan.events, record);
    cloudKnowsOnlyWhatWasKept(record, history);
    orderIsKept(lan.events, record);
    expect(unexplained(record, stream.stimuli, ends), 'events that nothing explains').toEqual([]);
    expect(record.length).toBeGreaterThan(kills);
  });
});

/** The cloud takes the next event, and its answer is lost on the way. */
async function plantLostAnswer({ cloud }: Site): Promise<void> {
  const fault = { path: '/partner/v1/events', method: 'POST', mode: 'reset', when: 'after', count: 1 };
  await cloud.control('faults', { method: 'POST', body: fault });
}
