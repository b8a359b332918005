import { afterAll, expect, test } from 'vitest';
import type { OutboxHistory } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { type Site, startSite } from '../harness/site.ts';

let site: Site | undefined;
afterAll(() => site?.close());

test('the last day tells what the cloud accepted and what waits for it, and begins anew with a start', async () => {
  const running = await startSite({
    broker: 'embedded',
    yaml: () => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: panic_audible, name: Button, key: button, partition: p1 } }
`,
  });
  site = running;
  const slow = { timeoutMs: 60_000 };
  const items = async () => ((await running.api('/api/v1/outbox/history')) as OutboxHistory).items;
  const sensors = await running.panel('sensors', ['--kind', 'zigbee', '--device', 'button:contact']);
  const press = async (alarms: number) => {
    sensors.send('open button');
    sensors.send('close button');
    const told = async () => (await running.history()).filter((entry) => entry.event.class === 'alarm').length;
    await eventually('the alarm', async () => ((await told()) >= alarms ? true : undefined), slow);
  };
  await press(1);
  const taken = await eventually('acceptance', async () => (await items()).find(({ accepted }) => accepted > 0), slow);
  const { p50 = 0, p95 = 0 } = taken.latency_ms ?? {};
  expect(p50).toBeGreaterThan(0);
  expect(p95).toBeGreaterThanOrEqual(p50);

  await running.line.cut();
  await press(2);
  await running.daemon.restart();
  const counted = await eventually(
    'a count',
    async () => (await items()).find(({ waiting }) => waiting !== null),
    slow,
  );
  expect(counted.waiting).toBeGreaterThan(0);
  expect(counted).toMatchObject({ accepted: 0, latency_ms: null });
  expect(await items()).toHaveLength(1);
}, 180_000);
