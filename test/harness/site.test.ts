import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { camera, code, type Site, startSite } from './site.ts';

/** After an outage the waits between tries have grown, on a busy machine the more. */
const slow = { timeoutMs: 60_000 };

let site: Site | undefined;
afterEach(async () => {
  await site?.close();
  site = undefined;
});

const yaml = (cameras: Readonly<Record<string, string>>) => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: perimeter, name: Window, key: window, partition: p1, cameras: [yard] } }
cameras:
${camera('yard', cameras.yard, 'partition: p1')}
media: { snapshots: 1 }
`;

describe.each(['mosquitto', 'embedded'] as const)('a whole site on %s', (broker) => {
  it('shows an alarm on the LAN and brings it to the cloud with its picture, over restarts of every part', async () => {
    const started = await startSite({ broker, cameras: ['yard'], yaml: (at) => yaml(at.cameras) });
    site = started;
    const { lan, cloud, daemon } = started;
    const sensors = await started.panel('sensors', ['--kind', 'zigbee', '--device', 'window:contact']);
    sensors.send('close window');
    await lan.shows('zone/1/state', 'OFF');
    expect(await lan.ask('arm', { partition: 'p1', mode: 'away' })).toMatchObject({ outcome: 'done' });
    await daemon.kill();
    await daemon.restart();
    await started.broker?.restart();
    await cloud.restart();
    sensors.send('open window');
    const alarm = await eventually(
      'the alarm in the cloud',
      async () => {
        sensors.send('open window');
        return (await cloud.events()).find(({ body }) => body.event_type === 'alarm');
      },
      slow,
    );
    expect(alarm).toMatchObject({ identical: true, body: { upload_snapshot_count: 1, payload: { zone: '1' } } });
    await eventually('its picture', async () => ((await cloud.uploads()).length === 1 ? true : undefined), slow);
    expect(lan.events.map(({ event }) => event.event_id)).toContain(alarm.event_id);
    expect(await lan.ask('disarm', { partition: 'p1', code })).toMatchObject({ outcome: 'done' });
    await eventually('the trail says delivered', async () =>
      (await started.history()).find(
        ({ event, delivery }) => event.event_id === alarm.event_id && delivery === 'delivered',
      ),
    );
    await started.close();
    expect(existsSync(started.folder)).toBe(false);
    expect(() => process.kill(daemon.pid, 0)).toThrow();
  });
});
