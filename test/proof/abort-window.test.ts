import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { code, type Site, startSite } from '../harness/site.ts';

const slow = { timeoutMs: 60_000 };

let site: Site | undefined;
afterEach(async () => {
  await site?.close();
  site = undefined;
});

const yaml = `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s, abort_delay: 15s } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: perimeter, name: Window, key: window, partition: p1 } }
`;

describe('kill -9 within an abort window', () => {
  it('a disarm afterwards still takes the alarm back unsignalled; without one it is signalled once, when the window ends', {
    timeout: 180_000,
  }, async () => {
    const started = await startSite({ yaml: () => yaml });
    site = started;
    const { lan, cloud, daemon } = started;
    const window = (contact: boolean) => lan.publish('zigbee2mqtt/window', JSON.stringify({ contact }));
    const told = async () =>
      (await cloud.events()).flatMap(({ body }) => {
        const { kind, class: group, data } = body.payload;
        if (group !== 'alarm' || body.event_status !== 'active') return [];
        return [
          {
            kind,
            signalled: body.should_signal_to_monitoring_center,
            evidence: data.evidence?.map(({ type }) => type),
          },
        ];
      });
    // With a code: without one it would be overruled right after a disarm (safety 5).
    const armAndTrip = async (alarms: number) => {
      await window(true);
      await lan.shows('zone/1/state', 'OFF');
      expect(await lan.ask('arm', { partition: 'p1', mode: 'away', code })).toMatchObject({ outcome: 'done' });
      await window(false);
      await eventually(
        'the alarm in the cloud',
        async () => ((await told()).length === alarms ? true : undefined),
        slow,
      );
      expect((await told()).at(-1)).toMatchObject({ kind: 'burglary_perimeter', signalled: false });
      await daemon.kill();
      await daemon.restart();
    };

    await armAndTrip(1);
    expect(await lan.ask('disarm', { partition: 'p1', code })).toMatchObject({ outcome: 'done' });
    await eventually(
      'the abort in the cloud',
      async () => (await cloud.events()).find(({ body }) => body.payload.kind === 'alarm_aborted'),
      slow,
    );
    await armAndTrip(2);
    await eventually('the signalled alarm', async () => ((await told()).length === 3 ? true : undefined), slow);
    const [first, second, last] = await told();
    expect([first?.signalled, second?.signalled]).toEqual([false, false]);
    expect(last).toMatchObject({ kind: 'burglary_perimeter', signalled: true });
    expect(last?.evidence).toContain('abort_window_ended');
    expect((await cloud.events()).filter(({ body }) => body.should_signal_to_monitoring_center)).toHaveLength(1);
  });
});
