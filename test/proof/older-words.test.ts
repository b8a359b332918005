import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { type Site, startSite } from '../harness/site.ts';

const pai = 'paradox/states/partitions/Area_1/current_state';
const alarmo = 'alarmo/garden/state';

/**
 * A broker saves what is retained and what is queued now and then, and after a crash, or a power cut of the whole box, it comes
 * back with that: here a disarming that is older than the arming, and an alarm that is over.
 */
describe('a broker that comes back with older words', () => {
  let site: Site;
  beforeAll(async () => {
    site = await startSite({
      yaml: () => `
partitions: [ { id: p1, name: House }, { id: p2, name: Garden } ]
panels:
  - id: pai
    profile: pai
    partitions: { p1: Area_1 }
    zones: { "1": { type: perimeter, name: Front, key: Front, partition: p1 } }
  - id: alm
    profile: alarmo
    partitions: { p2: garden }
    code: { env: HARNESS_CODE }
`,
    });
  }, 60_000);
  afterAll(() => site.close());

  /** With a question mark where it is not certain. */
  const standing = async (): Promise<string> => {
    const { partitions, hints } = (await site.api('/api/v1/status')) as {
      partitions: { id: string; state: string; stale: boolean }[];
      hints: { about: string }[];
    };
    // What is stale while its panel is there has a hint, and nothing else has.
    const isHinted = (id: string) => hints.some(({ about }) => about === `partition ${id}`);
    return partitions.map(({ id, state, stale }) => `${state}${stale ? '?' : ''}${isHinted(id) ? '!' : ''}`).join();
  };
  const stands = (wanted: string) =>
    eventually(wanted, async () => ((await standing()) === wanted ? true : undefined), { everyMs: 100 });
  const say = (topic: string, payload: string) => site.lan.publish(topic, payload, { retain: true });
  /** Of alarms and of arming. */
  const events = async () =>
    (await site.history())
      .filter(({ event }) => event.class === 'alarm' || event.class === 'arming')
      .map(({ event }) => `${event.kind} ${event.status} ${event.partition ?? ''}`);
  /** Said until it is taken: for a moment after a start everything may have waited in the broker. */
  const live = (p1: string, p2: string) =>
    eventually(`${p1} and ${p2} live`, async () => {
      await say(pai, p1);
      await say(alarmo, p2);
      await pause(300);
      return (await standing()) === `${p1},${p2}` ? true : undefined;
    });
  const crash = async (): Promise<void> => {
    await site.broker?.kill();
    await site.broker?.restart();
  };

  it('disarms nothing, and tells an alarm that may be another once in all: after its crash, a start or a reload of siteward, and a power cut', async () => {
    await say('paradox/interface/availability', 'online');
    await live('triggered', 'disarmed');
    // In order: it saves.
    await site.broker?.restart();
    await live('disarmed', 'armed_away');
    const before = await events();

    await crash();
    await stands('disarmed?!,armed_away?!');
    // An alarm of the time when nobody listened looks the same.
    const again = ['burglary active p1'];
    expect((await events()).slice(before.length)).toEqual(again);
    await live('disarmed', 'armed_away');

    await site.daemon.restart();
    await live('disarmed', 'armed_away');
    await crash();
    await stands('disarmed?!,armed_away?!');
    await live('disarmed', 'armed_away');

    await site.daemon.kill();
    await crash();
    await site.daemon.restart();
    await stands('disarmed?!,armed_away?!');
    writeFileSync(site.config, readFileSync(site.config, 'utf8').replace('Front,', 'Front door,'));
    site.daemon.reload();
    await eventually('the reload', async () =>
      site.daemon.lines().some((line) => line.includes('configuration read again')) ? true : undefined,
    );
    await crash();
    await stands('disarmed?!,armed_away?!');

    expect((await events()).slice(before.length)).toEqual(again);
    await live('disarmed', 'disarmed');
    expect((await events()).slice(before.length)).toEqual([...again, 'disarmed active p2']);
  }, 120_000);

  it('disarms nothing by its queue', async () => {
    await live('armed_away', 'armed_away');
    const before = await events();
    await site.daemon.stop();
    await say(pai, 'disarmed');
    await site.broker?.restart();
    await site.daemon.restart();
    await stands('armed_away?!,armed_away');
    await live('armed_away', 'armed_away');
    await crash();
    await stands('armed_away?!,armed_away');
    expect(await events()).toEqual(before);
  }, 60_000);
});
