import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import type { CloudEvent } from '#sandbox/demo/record.ts';
import { fireIn, type Rig, smoke, smokes, startRig } from './rig.ts';

const timeoutMs = 40_000;
const wholeMs = 150_000;

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({
    sections: `${smokes}supervision:
  cloud: { heartbeat: 10s, report_after: 15s }
  broker: { report_after: 0s }
  panels: { report_after: 0s }
`,
  });
  await rig.lan.publish('zigbee2mqtt/bridge/state', JSON.stringify({ state: 'online' }), true);
  await shownTroubles([]);
}, wholeMs);
afterAll(() => rig?.close());

const troubles = async () => (await rig.status()).troubles.map(({ kind }) => kind);
async function shownTroubles(kinds: readonly string[]): Promise<void> {
  let last: readonly string[] = [];
  await eventually(
    `the troubles ${kinds.join(' ')}`,
    async () => {
      last = (await troubles()).sort();
      return last.join() === kinds.join() ? true : undefined;
    },
    { timeoutMs },
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}; last ${last.join(' ')}`);
  });
}

/** The record of the cloud has all fields of an event. */
interface Sent extends CloudEvent {
  readonly event_status: string;
  readonly event_time: string;
  readonly payload: CloudEvent['payload'] & { readonly contact_id?: string };
}
const inCloud = async (kind: string): Promise<Sent[]> =>
  (await rig.cloud.events()).filter((event): event is Sent => event.payload.kind === kind);
const stored = async (kind: string) => (await rig.events()).filter(({ event }) => event.kind === kind).reverse();

describe('a cloud that is cut off', () => {
  it('is told after the outage, with the times of loss and return, although siteward was killed meanwhile', {
    timeout: wholeMs,
  }, async () => {
    const beforeCut = Date.now();
    await rig.gate.cut();
    await shownTroubles(['comm_fail']);
    const lostBy = Date.now();
    expect(JSON.parse(rig.lan.topics.get('trouble') ?? '{}')).toMatchObject({
      items: [{ kind: 'comm_fail', device: 'bridge:siteward' }],
    });
    expect(await stored('comm_fail')).toEqual([]);
    rig.daemon.signal('SIGKILL');
    await rig.daemon.exited;
    await rig.start();
    expect(await troubles()).toContain('comm_fail');
    await eventually('the stored loss', async () => ((await stored('comm_fail')).length === 1 ? true : undefined), {
      timeoutMs,
    });
    await smoke(rig.lan, 1);
    const beforeReturn = Date.now();
    await rig.gate.restore();
    await rig.cloudHas('the fire of the outage', fireIn('1'), timeoutMs);
    const pair = await eventually(
      'loss and return in the cloud',
      async () => {
        const found = await inCloud('comm_fail');
        return found.length === 2 ? found : undefined;
      },
      { timeoutMs },
    );
    expect(pair.map(({ event_status }) => event_status)).toEqual(['active', 'restored']);
    expect(pair.map(({ payload }) => payload.contact_id)).toEqual(['350', '350']);
    const [loss = 0, back = 0] = pair.map(({ event_time }) => Date.parse(event_time));
    expect(loss).toBeGreaterThanOrEqual(beforeCut);
    expect(loss).toBeLessThanOrEqual(lostBy);
    expect(back).toBeGreaterThanOrEqual(beforeReturn);
    await shownTroubles([]);
  });
});

describe('a panel whose bridge comes and goes', () => {
  it('a thousand times makes a handful of rows, and a fire among them is told', { timeout: wholeMs }, async () => {
    for (let i = 0; i < 1000; i += 1) {
      for (const state of ['offline', 'online']) {
        await rig.lan.publish('zigbee2mqtt/bridge/state', JSON.stringify({ state }), true);
      }
      if (i === 500) await smoke(rig.lan, 2);
    }
    await rig.cloudHas('the fire', fireIn('2'), timeoutMs);
    await eventually(
      'a thousand losses',
      async () => {
        const trouble = (await rig.status()).troubles.find(({ kind }) => kind === 'panel_offline');
        return trouble?.losses === 1000 ? true : undefined;
      },
      { timeoutMs },
    );
    expect((await stored('panel_offline')).map(({ event }) => event.status)).toEqual([
      'active',
      'restored',
      'active',
      'restored',
      'active',
    ]);
    expect(await rig.statusText()).toMatch(/panel_offline +panel sensors +since \S+ +unstable, lost 1000 times/);
  });

  it('is still unstable after a restart', { timeout: wholeMs }, async () => {
    rig.daemon.signal('SIGKILL');
    await rig.daemon.exited;
    await rig.start();
    await shownTroubles(['panel_offline']);
    expect((await rig.status()).troubles[0]?.losses).toBeGreaterThanOrEqual(1000);
    expect(await stored('panel_offline')).toHaveLength(5);
  });
});

describe('a broker that dies', () => {
  it('is a trouble of the site at once, stored with its end, and sent', { timeout: wholeMs }, async () => {
    const beforeDeath = Date.now();
    await rig.broker?.kill();
    await shownTroubles(['broker_offline', 'panel_offline']);
    await rig.broker?.restart();
    const pair = await eventually(
      'loss and return in the cloud',
      async () => {
        const found = await inCloud('broker_offline');
        return found.length === 2 ? found : undefined;
      },
      { timeoutMs },
    );
    expect(pair.map(({ event_status }) => event_status)).toEqual(['active', 'restored']);
    expect(Date.parse(pair[0]?.event_time ?? '')).toBeGreaterThanOrEqual(beforeDeath);
  });
});
