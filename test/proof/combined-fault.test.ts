import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { diskFiller } from '../harness/disk-filler.ts';
import { noPowerCut, powerCutDisk } from '../harness/power-cut.ts';
import { type Site, startSite, withStatus } from '../harness/site.ts';
import { faketime, wallClock } from '../harness/wall-clock.ts';
import { overtakers, repeatedOtherwise, sharedNumbers } from './findings.ts';
import { outboxIsEmpty } from './outbox.ts';

/** Life safety knows no cap of alarms per source: so many events are 10,000 alarms and ends of them, and each must arrive. */
const zones = Array.from({ length: 20 }, (_, at) => ({ zone: `${at + 1}`, name: `smoke_${at + 1}` }));
const rounds = 250;
const events = zones.length * rounds * 2;
/** Accepted when everything goes wrong, and when the power fails upon it. */
const [spoiltAt, cutAt] = [2000, 4000];
const sixHours = 6 * 3600;

const yaml = `
partitions: [ { id: p1, name: One }, { id: p2, name: Two }, { id: p3, name: Three }, { id: p4, name: Four } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
${zones.map(({ zone, name }, at) => `      "${zone}": { type: fire, name: ${name}, key: ${name}, partition: p${(at % 4) + 1} }`).join('\n')}
`;

const why = noPowerCut() ?? (faketime === undefined ? 'needs the Debian package faketime' : undefined);
const skipped = why === undefined ? '' : ` (skipped: ${why})`;

const ends: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function waiting(site: Site): Promise<number> {
  const { outbox } = (await site.api('/api/v1/status')) as { outbox: { waiting: Record<string, number> } };
  return Object.values(outbox.waiting).reduce((sum, count) => sum + count, 0);
}

/** While the line is cut every detector is set off and ends, over and over, until all of it waits on the disk. */
async function fillOutbox(site: Site): Promise<void> {
  const before = await waiting(site);
  const say = (smoke: boolean) =>
    Promise.all(zones.map(({ name }) => site.lan.publish(`zigbee2mqtt/${name}`, JSON.stringify({ smoke }))));
  for (let round = 0; round < rounds; round += 1) {
    await say(true);
    await say(false);
  }
  await eventually('all of it waits', async () => ((await waiting(site)) >= before + events ? true : undefined));
}

async function accepted(site: Site, count: number): Promise<void> {
  async function has(): Promise<true | undefined> {
    const { events: later } = (await site.cloud.control(`events?after=${count - 1}`)) as { events: unknown[] };
    return later.length > 0 ? true : undefined;
  }
  await eventually(`${count} events in the cloud`, has, { timeoutMs: 120_000 });
}

describe.skipIf(why !== undefined)(`the combined fault${skipped}`, () => {
  it('a power cut on a full disk, after the clock has stepped and the token has ended, in the middle of a drain of 10,000 events, loses none, doubles none and keeps their order', {
    timeout: 360_000,
  }, async () => {
    const disk = powerCutDisk({ mib: 256 });
    ends.push(disk.remove);
    const folder = mkdtempSync(join(tmpdir(), 'siteward-combined-'));
    ends.push(() => rmSync(folder, { recursive: true, force: true }));
    const clock = wallClock(folder, 0);
    const site = await startSite({ yaml: () => yaml, stateDir: disk.dir, tls: true, env: clock.env });
    ends.push(site.close);
    const { cloud, daemon, line } = site;
    const full = diskFiller(disk.mount);

    await eventually('the detectors are heard', async () => {
      await site.lan.publish('zigbee2mqtt/smoke_1', JSON.stringify({ smoke: false }));
      const { zones: known } = (await site.api('/api/v1/status')) as { zones: { unknown: string[] } };
      return known.unknown.includes('1') ? undefined : true;
    });
    await outboxIsEmpty(site, { timeoutMs: 60_000 });
    await line.cut();
    await fillOutbox(site);
    await line.restore();

    await accepted(site, spoiltAt);
    full.fill();
    clock.set(sixHours);
    const ended = cloud.control('revoke', { method: 'POST' });
    expect(await ended).toMatchObject({ revoked: expect.any(Number) });
    await accepted(site, cutAt);
    disk.cut();
    await daemon.kill();
    const atCut = await cloud.events();
    expect(atCut.length, 'the power failed in the middle').toBeLessThan(events);
    disk.restore();
    // The disk is as full as it was, the clock as wrong, and there is no token.
    await daemon.restart();
    await accepted(site, Math.min(atCut.length + 1000, events));
    full.free();
    clock.set(0);
    await outboxIsEmpty(site, { timeoutMs: 120_000 }).catch(async (error: unknown) => {
      throw await withStatus(site, error);
    });

    const record = await cloud.events();
    const again = record.filter(({ try_count }) => try_count > 1).length;
    process.stdout.write(
      `${record.length} events; ${atCut.length} accepted when the power failed, ${again} of them sent again under their ids\n`,
    );
    const counts = new Map<string, number>();
    for (const { body } of record) {
      const { kind, status, zone } = body.payload;
      counts.set(`${kind} ${status} ${zone}`, (counts.get(`${kind} ${status} ${zone}`) ?? 0) + 1);
    }
    for (const { zone } of zones)
      expect([counts.get(`fire active ${zone}`), counts.get(`fire restored ${zone}`)]).toEqual([rounds, rounds]);
    expect([...counts.keys()].filter((key) => /events_lost/.test(key))).toEqual([]);
    expect(record.filter(({ body }) => body.payload.class === 'alarm')).toHaveLength(events);
    expect(repeatedOtherwise(record), 'events that were repeated with other contents').toEqual([]);
    expect(sharedNumbers(record), 'every number belongs to one event').toEqual([]);
    expect(
      overtakers(record, { seen: site.lan.events, steps: clock.steps }),
      'events that overtook one another',
    ).toEqual([]);
    // Within a zone an alarm and its end take turns.
    for (const { zone } of zones) {
      const told = record
        .filter(({ body }) => body.payload.zone === zone)
        .sort((a, b) => a.body.payload.seq - b.body.payload.seq)
        .map(({ body }) => body.payload.status);
      expect(told).toEqual(Array.from({ length: rounds * 2 }, (_, at) => (at % 2 === 0 ? 'active' : 'restored')));
    }
    const times = record.map(({ body }) => Date.parse(body.event_time));
    expect(Math.max(...times), 'the step of the clock is in no event of before it').toBeLessThan(Date.now() + 60_000);
  });
});
