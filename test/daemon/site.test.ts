import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig, type Settings } from '#config/index.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import { systemClock } from '#lib/clock.ts';
import { watchClock } from '#site/clock-quality.ts';
import type { House } from '../../src/daemon/house.ts';
import { outboxCount } from '../../src/daemon/outbox-count.ts';
import { siteSlots } from '../../src/daemon/site.ts';
import { createSlots, type Slots } from '../../src/daemon/slots.ts';
import { keyPair, quiet } from '../cloud/support.ts';
import { commandId, mosquittoPath, now, root, slug, startMosquitto, until, watch } from '../lan/mqtt/harness.ts';

interface Site {
  readonly dir: string;
  readonly house: House;
  readonly slots: Slots<Settings>;
  /** The settings of a file with these lines. */
  settings(yaml: string): Settings;
  /** A file with this secret. */
  secret(name: string, text: string): string;
}

/** The named slots of a daemon, not yet started. */
function site(names: readonly string[]): Site {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-site-'));
  const house: House = {};
  const clock = systemClock();
  const quality = watchClock({ clock, log: quiet });
  const count = outboxCount(house);
  let current: Settings | undefined;
  const settings = () => {
    if (current === undefined) throw new Error('no settings were read');
    return current;
  };
  const all = siteSlots(house, { clock, quality, count, log: quiet, settings, lan: fakeLanPort(0), profiles: [] });
  const slots = createSlots({
    slots: all.filter(({ name }) => names.includes(name)),
    processMetrics: new Registry(),
    log: quiet,
  });
  onTestFinished(async () => {
    await slots.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  return {
    ...{ dir, house, slots },
    settings(yaml) {
      const file = join(dir, 'siteward.yaml');
      const place = `site: { id: "4711", external_id: ${slug}, timezone: Europe/Berlin }\nbridge: { external_id: b }\n`;
      writeFileSync(file, `${place}store: { dir: ${dir} }\npartitions: [{ id: p1, name: Home }]\n${yaml}`);
      current = loadConfig(file).settings;
      return current;
    },
    secret(name, text) {
      const path = join(dir, name);
      writeFileSync(path, text, { mode: 0o600 });
      return path;
    },
  };
}

test('a cloud that a reload removes leaves no delivery and no link behind', async () => {
  const { house, slots, settings, secret } = site(['store', 'delivery']);
  const key = secret('key.pem', keyPair().pem.reveal());
  const url = 'http://127.0.0.1:1';
  await slots.start(
    settings(
      `cloud: { base_url: "${url}", auth_url: "${url}", events: { client_id: b, private_key: { file: ${key} } } }\n`,
    ),
  );
  expect(house.delivery).toBeDefined();
  house.cloudUp = true;
  expect(await slots.reload(settings(''))).toEqual(['delivery']);
  expect({ delivery: house.delivery, cloudUp: house.cloudUp }).toEqual({ delivery: undefined, cloudUp: undefined });
  expect(house.store).toBeDefined();
});

test.skipIf(mosquittoPath === undefined)(
  'a user who is new at a reload may disarm at once, over the connection to the broker that stands',
  async () => {
    const broker = await startMosquitto();
    onTestFinished(() => broker.stop());
    const { house, slots, settings, secret } = site(['store', 'controller', 'codes', 'mqtt']);
    const user = (id: string, code: string) => `  - { id: ${id}, name: N, code: { file: ${secret(id, code)} } }\n`;
    const yaml = `mqtt: { broker: "${broker.url}" }\nusers:\n${user('anna', '2580')}`;
    const watcher = await watch(broker.url);
    onTestFinished(() => watcher.client.endAsync(true));
    await slots.start(settings(yaml));
    await until(() => watcher.texts('status').at(-1) === 'online', 'siteward is connected');
    const lan = house.lan;

    async function disarm(code: string) {
      const id = commandId();
      const body = { id, issued_at: now(), partition: 'p1', code, reply_to: `${root}/reply/test/a` };
      await watcher.client.publishAsync(`${root}/cmd/disarm`, JSON.stringify(body), { qos: 1 });
      return until(() => watcher.json('reply/test/a').find((reply) => reply.id === id && reply.final), 'the reply');
    }
    expect(await disarm('1357')).toMatchObject({ outcome: 'refused', error: { code: 'BAD_CODE' } });
    expect(await slots.reload(settings(`${yaml}${user('ben', '1357')}`))).toEqual([]);
    expect(await disarm('1357')).not.toHaveProperty('error');
    expect(house.lan).toBe(lan);
    expect(watcher.texts('status')).toEqual(['online']);
  },
);
