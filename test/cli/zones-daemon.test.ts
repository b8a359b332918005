import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StatusDocument, ZoneEntry } from '#lan/http/index.ts';
import { type Site, startSite } from '../harness/site.ts';
import { siteward } from './run-cli.ts';

/** A door and two smoke detectors that tell no more than their alarm. */
const yaml = `partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Door, key: door, partition: p1 }
      "5": { type: fire, name: Smoke hall, key: smoke_hall, partition: p1 }
      "6": { type: fire, name: Smoke attic, key: smoke_attic, partition: p1 }
`;

let site: Site;
beforeAll(async () => {
  site = await startSite({ yaml: () => yaml });
  await site.lan.publish('zigbee2mqtt/bridge/state', '{"state":"online"}');
}, 120_000);
afterAll(() => site?.close());

const tell = (device: string, body: object) => site.lan.publish(`zigbee2mqtt/${device}`, JSON.stringify(body));
const run = async (...args: string[]) => {
  const { code, out, err } = await siteward([...args, '--socket', site.socket]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
};
const zonesLine = async () => (await run('status')).split('\n').find((line) => /^\d+ zones/.test(line));
const status = async () => (await site.api('/api/v1/status')) as StatusDocument;
const hints = async () =>
  Object.fromEntries(
    (await status()).hints.flatMap(({ about, text }) => (text.startsWith('Nothing was heard') ? [[about, text]] : [])),
  );
/** A zone as HTTP, the command line and MQTT show it. */
async function zone(number: string, lan = site.lan) {
  const { items } = (await site.api('/api/v1/zones')) as { items: ZoneEntry[] };
  const { open, alarm } = items.find((one) => one.number === number) ?? {};
  const words = (await run('zones')).split('\n').find((line) => line.startsWith(`${number} `)) ?? '';
  const detail = JSON.parse(lan.retained(`zone/${number}/detail`) ?? '{}');
  return {
    http: [open, alarm],
    // Beside number, name, type and partition.
    cli: words.split(/ {2,}/).slice(4),
    mqtt: [lan.retained(`zone/${number}/state`) ?? '', detail.open, detail.alarm],
  };
}
const unheard = { http: [null, false], cli: ['not heard yet'], mqtt: ['', null, false] };
const quiet = { http: [false, false], cli: ['no alarm'], mqtt: ['OFF', false, false] };
const tripped = { http: [true, true], cli: ['tripped', 'IN ALARM'], mqtt: ['ON', true, true] };

/** Later tests go on where earlier ones stop. */
test('smoke detectors of which nothing was heard are not closed, and not in the way of arming', async () => {
  await tell('door', { contact: true });
  await site.lan.shows('zone/1/state', 'OFF');
  // That it is there, and how its battery is, says nothing of smoke.
  await tell('smoke_hall/availability', { state: 'online' });
  await tell('smoke_hall', { battery_low: true });
  await expect.poll(async () => (await status()).zones.low_battery).toEqual(['5']);
  expect(await zonesLine()).toBe('3 zones; low battery: 5; not heard yet: 5 6');
  expect((await status()).zones.unknown).toEqual(['5', '6']);
  expect([await zone('5'), await zone('6')]).toEqual([{ ...unheard, cli: ['not heard yet', 'low battery'] }, unheard]);
  expect(await hints()).toEqual({
    '5': expect.stringMatching(/press its test button once: .* tell the monitoring station first/),
    '6': expect.stringMatching(/press its test button once: .* tell the monitoring station first/),
  });
  const { items } = (await site.api('/api/v1/partitions')) as { items: { ready: boolean; not_ready: string[] }[] };
  expect(items).toMatchObject([{ ready: true, not_ready: [] }]);
});

test('one that says that there is no smoke is heard, and shows no alarm', async () => {
  await tell('smoke_hall', { smoke: false, battery_low: false });
  await site.lan.shows('zone/5/state', 'OFF');
  expect(await zonesLine()).toBe('3 zones; not heard yet: 6');
  expect([await zone('5'), await zone('6')]).toEqual([quiet, unheard]);
  expect(Object.keys(await hints())).toEqual(['6']);
});

test('after a power cut each is as it was, though nothing was retained', async () => {
  await site.daemon.kill();
  await site.daemon.restart();
  // A new client sees what the broker has.
  const lan = await site.watch();
  await lan.shows('status', 'online');
  expect(await zonesLine()).toBe('3 zones; not heard yet: 6');
  expect([await zone('5', lan), await zone('6', lan)]).toEqual([quiet, unheard]);
  // Nobody is asked to raise an alarm at a detector that is known; the door is asked for in each run.
  expect(Object.keys(await hints())).toEqual(['1', '6']);
});

test('one whose first word is smoke has tripped, and shows no alarm when the smoke is gone', async () => {
  await tell('smoke_attic', { smoke: true });
  await site.lan.shows('zone/6/state', 'ON');
  expect(await zonesLine()).toBe('3 zones; in alarm: 6; open: 6');
  expect([await zone('5'), await zone('6')]).toEqual([quiet, tripped]);
  await tell('smoke_attic', { smoke: false });
  await site.lan.shows('zone/6/state', 'OFF');
  expect([await zonesLine(), await zone('6')]).toEqual(['3 zones, all closed', quiet]);
});

const bridge = (state: string) => site.lan.publish('zigbee2mqtt/bridge/state', JSON.stringify({ state }));
const standing = async () => {
  const { items } = (await site.api('/api/v1/partitions')) as { items: { ready: boolean; not_ready: string[] }[] };
  return items.map(({ ready, not_ready }) => ({ ready, not_ready }));
};

test('zones of a panel that is away are not heard any more, over a power cut too, and nothing is armed behind them', async () => {
  await bridge('offline');
  await site.lan.shows('zone/1/availability', 'offline');
  const away = [{ ready: false, not_ready: ['1', '5', '6'] }];
  expect([await zonesLine(), await standing()]).toEqual(['3 zones; not heard any more: 1 5 6', away]);
  await site.daemon.kill();
  await site.daemon.restart();
  const lan = await site.watch();
  await lan.shows('status', 'online');
  await lan.shows('zone/1/availability', 'offline');
  expect([await zonesLine(), await standing()]).toEqual(['3 zones; not heard any more: 1 5 6', away]);
  await bridge('online');
  await lan.shows('zone/1/availability', 'online');
  expect([await zonesLine(), await standing()]).toEqual(['3 zones, all closed', [{ ready: true, not_ready: [] }]]);
});

test('a zone that takes another detector with a reload is not heard until that has spoken', async () => {
  writeFileSync(site.config, readFileSync(site.config, 'utf8').replace('smoke_hall', 'smoke_cellar'));
  site.daemon.reload();
  await expect.poll(zonesLine).toBe('3 zones; not heard yet: 5');
  expect(await zone('5')).toEqual(unheard);
  await site.daemon.restart();
  expect(await zonesLine()).toBe('3 zones; not heard yet: 5');
  await tell('smoke_cellar', { smoke: false });
  await site.lan.shows('zone/5/state', 'OFF');
  expect([await zonesLine(), await zone('5')]).toEqual(['3 zones, all closed', quiet]);
});
