import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dangerZones } from '#lan/page/danger-zones.ts';
import { dangerTypes } from '#site/model/index.ts';
import { type Stage, seriousFaults, startStage } from './stage.ts';

const yaml = () => `partitions: [ { id: p1, name: Shop } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Door, key: door, partition: p1 }
      "5": { type: fire, name: Smoke, key: smoke, partition: p1 }
`;

let stage: Stage;
let page: Page;
beforeAll(async () => {
  stage = await startStage({ yaml });
  await stage.site.lan.publish('zigbee2mqtt/bridge/state', '{"state":"online"}');
  page = await stage.open('#/partitions');
  await page.getByText('2 zones').click();
}, 120_000);
afterAll(() => stage?.close());

const tell = (device: string, body: object) => stage.site.lan.publish(`zigbee2mqtt/${device}`, JSON.stringify(body));
const rows = () => page.locator('details ul.rows li').allTextContents();

test('a zone that was never heard stands out, a door is closed, and a smoke detector tells no alarm or has tripped', async () => {
  await expect
    .poll(rows)
    .toEqual([expect.stringMatching(/Door.*not heard yet$/), expect.stringMatching(/Smoke.*not heard yet$/)]);
  expect(await seriousFaults(page)).toEqual([]);
  await tell('door', { contact: true });
  await tell('smoke', { smoke: false });
  await expect.poll(rows).toEqual([expect.stringMatching(/Door.*closed$/), expect.stringMatching(/Smoke.*no alarm$/)]);
  await tell('smoke', { smoke: true });
  await expect.poll(rows).toEqual([expect.anything(), expect.stringMatching(/Smoke.*alarm, tripped$/)]);
  expect(await page.getByText('Open:').count()).toBe(0);
  expect(stage.complaints).toEqual([]);
});

test('the page knows the detectors of danger as siteward does', () => {
  expect(dangerZones).toEqual(dangerTypes);
});
