import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '#config/index.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import { systemClock } from '#lib/clock.ts';
import { watchClock } from '../../src/daemon/clock-quality.ts';
import type { House } from '../../src/daemon/house.ts';
import { siteSlots } from '../../src/daemon/site.ts';
import { createSlots } from '../../src/daemon/slots.ts';
import { keyPair, quiet } from '../cloud/support.ts';

test('a cloud that a reload removes leaves no delivery and no link behind', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-site-'));
  const key = join(dir, 'key.pem');
  writeFileSync(key, keyPair().pem.reveal(), { mode: 0o600 });
  const settingsOf = (cloud: string) => {
    const file = join(dir, 'siteward.yaml');
    writeFileSync(
      file,
      `site: { id: "4711", external_id: s, timezone: Europe/Berlin }\nbridge: { external_id: b }\nstore: { dir: ${dir} }\npartitions: [{ id: p1, name: Home }]\n${cloud}`,
    );
    return loadConfig(file).settings;
  };
  const url = 'http://127.0.0.1:1';
  const withCloud = settingsOf(
    `cloud: { base_url: "${url}", auth_url: "${url}", events: { client_id: b, private_key: { file: ${key} } } }\n`,
  );
  const house: House = {};
  const clock = systemClock();
  const quality = watchClock({ clock, log: quiet });
  const all = siteSlots(house, {
    ...{ clock, quality, log: quiet, settings: () => withCloud, lan: fakeLanPort(0), profiles: [] },
  });
  const slots = createSlots({
    slots: all.filter(({ name }) => ['store', 'delivery'].includes(name)),
    processMetrics: new Registry(),
    log: quiet,
  });
  onTestFinished(async () => {
    await slots.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  await slots.start(withCloud);
  expect(house.delivery).toBeDefined();
  house.cloudUp = true;
  expect(await slots.reload(settingsOf(''))).toEqual(['delivery']);
  expect({ delivery: house.delivery, cloudUp: house.cloudUp }).toEqual({ delivery: undefined, cloudUp: undefined });
  expect(house.store).toBeDefined();
});
