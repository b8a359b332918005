import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Commit } from '#site/store/index.ts';
import { plan, type Rig, startRig } from './rig.ts';

const rigs: Rig[] = [];

afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.remove();
});

async function rig(options: Parameters<typeof startRig>[0] = {}): Promise<Rig> {
  const started = await startRig(options);
  rigs.push(started);
  return started;
}

/** Armed away with its window closed. */
async function armed(): Promise<Rig> {
  const started = await rig();
  await started.open('1', false);
  expect(await started.command({ verb: 'arm' })).toMatchObject({ outcome: 'done' });
  expect(started.state()).toBe('armed_away');
  return started;
}

const alarmsOf = (started: Rig) => started.events.filter((event) => event.class === 'alarm');

describe('the one durable moment', () => {
  it('shows an event on the LAN only after its commit has returned', async () => {
    const site = await armed();
    const gate = Promise.withResolvers<void>();
    site.hold = () => gate.promise;
    const done = site.open('1', true);
    await new Promise((resolve) => setImmediate(resolve));
    expect(alarmsOf(site)).toEqual([]);
    expect(site.shown.at(-1)?.view.partitions[0]?.state).toBe('armed_away');
    gate.resolve();
    await done;
    expect(alarmsOf(site)).toHaveLength(1);
    expect(site.shown.at(-1)?.view.partitions[0]?.state).toBe('triggered');
  });

  it('starts the pictures at the decision, before the commit', async () => {
    const site = await armed();
    const gate = Promise.withResolvers<void>();
    site.hold = () => gate.promise;
    const done = site.open('1', true);
    expect(site.captures.map((job) => job.items.map((item) => item.camera))).toEqual([['yard']]);
    gate.resolve();
    await done;
    await site.captures[0]?.committed;
  });

  it('publishes in the order of seq when a later commit returns first', async () => {
    const site = await armed();
    const gate = Promise.withResolvers<void>();
    let first = true;
    site.hold = () => {
      if (!first) return Promise.resolve();
      first = false;
      return gate.promise;
    };
    const both = [site.open('1', true), site.command({ verb: 'disarm' })];
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(alarmsOf(site)).toEqual([]);
    gate.resolve();
    await Promise.all(both);
    const seqs = site.events.map((event) => event.seq);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    expect(site.state()).toBe('disarmed');
  });

  it('sends a failed commit again under the same numbers, and shows its event once', async () => {
    const site = await armed();
    site.refuse = true;
    const done = site.open('1', true);
    await expect.poll(() => site.commits.length).toBeGreaterThan(2);
    site.refuse = false;
    await done;
    const tries = site.commits.filter((commit: Commit) => commit.rows.some((row) => row.lane === 'alarm'));
    expect(tries.length).toBeGreaterThan(1);
    expect(new Set(tries.map((commit) => JSON.stringify(commit.rows))).size).toBe(1);
    expect(alarmsOf(site)).toHaveLength(1);
    expect(alarmsOf(site)[0]?.data.durable).toBeUndefined();
  });

  it('shows an alarm after two seconds without a disk, marked, and hands it to delivery from memory', async () => {
    const site = await armed();
    site.refuse = true;
    await site.open('1', true);
    expect(alarmsOf(site)).toHaveLength(1);
    expect(alarmsOf(site)[0]?.data.durable).toBe(false);
    expect(site.direct.map((row) => row.eventId)).toContain(alarmsOf(site)[0]?.event_id);
    expect(site.controller.health()).toMatchObject({ state: 'degraded' });
    const wakes = site.wakes.length;
    site.refuse = false;
    await expect.poll(() => site.controller.health().state, { timeout: 10_000 }).toBe('ok');
    // What was sent from memory meanwhile can be settled now.
    await expect.poll(() => site.wakes.length).toBeGreaterThan(wakes);
    const stored = await site.store.events({ limit: 10 });
    expect(stored.filter((record) => record.event.event_id === alarmsOf(site)[0]?.event_id)).toHaveLength(1);
  });

  it('goes on deciding and showing zones while nothing can be written', async () => {
    const site = await rig();
    site.refuse = true;
    for (let round = 0; round < 5; round += 1) {
      await site.open('1', true);
      await site.open('1', false);
    }
    expect(site.shown.at(-1)?.view.zones.find((zone) => zone.number === '1')?.open).toBe(false);
    site.refuse = false;
  });
});

describe('quiet changes', () => {
  it('share writes and are shown in order, the last one last', async () => {
    const site = await rig();
    const before = site.commits.length;
    const gate = Promise.withResolvers<void>();
    site.hold = () => gate.promise;
    const all = Array.from({ length: 200 }, (_, index) => site.open('1', index % 2 === 0));
    gate.resolve();
    await Promise.all(all);
    expect(site.commits.length - before).toBeLessThan(10);
    const states = site.shown.map(({ view }) => view.zones.find((zone) => zone.number === '1')?.open);
    expect(states.at(-1)).toBe(false);
    expect(states.filter((open, index) => open === true && states[index - 1] === false).length).toBeGreaterThan(50);
  });

  it('never show something older after an event that came later', async () => {
    const site = await armed();
    const gate = Promise.withResolvers<void>();
    site.hold = () => gate.promise;
    const work = [
      site.controller.signals([
        { kind: 'zone', source: { kind: 'panel', id: 's' }, zone: '1', lowBattery: true, replay: false },
      ]),
      site.open('1', true),
      site.open('1', false),
    ];
    gate.resolve();
    await Promise.all(work);
    expect(site.shown.at(-1)?.view.zones.find((zone) => zone.number === '1')?.open).toBe(false);
    expect(site.shown.at(-1)?.view.partitions[0]?.state).toBe('triggered');
  });
});

describe('restarts', () => {
  it('finds the arming as it was, and goes on counting', async () => {
    const first = await armed();
    const lastSeq = first.controller.view().seq;
    await first.stop();
    const second = await rig({ dir: first.dir });
    expect(second.state()).toBe('armed_away');
    await second.open('1', true);
    expect(alarmsOf(second)).toHaveLength(1);
    expect(alarmsOf(second)[0]?.seq).toBeGreaterThan(lastSeq);
  });

  it('does not take an older copy of the database for the present: unknown, never disarmed', async () => {
    const first = await rig();
    await first.stop();
    const copy = mkdtempSync(join(tmpdir(), 'siteward-copy-'));
    cpSync(first.dir, copy, { recursive: true });
    // The store was lost once in between: the side file tells a newer epoch than the copy knows.
    rmSync(join(first.dir, 'site.db'));
    const second = await rig({ dir: first.dir });
    await second.stop();
    cpSync(join(copy, 'site.db'), join(first.dir, 'site.db'));
    for (const tail of ['-wal', '-shm']) rmSync(join(first.dir, `site.db${tail}`), { force: true });
    rmSync(copy, { recursive: true });
    const third = await rig({ dir: first.dir });
    expect(third.state()).toBe('unknown');
  });

  it.each([
    ['disarmed is unknown', 'disarm', 'unknown'],
    ['armed stays armed', 'arm', 'armed_away'],
  ] as const)('takes an older copy of the database of the same epoch for a backup: %s', async (_what, then, found) => {
    const first = await armed();
    if (then === 'disarm') expect(await first.command({ verb: 'disarm' })).toMatchObject({ outcome: 'done' });
    await first.stop();
    const older = readFileSync(join(first.dir, 'site.db'));
    const now = then === 'disarm' ? 'arm' : 'disarm';
    const second = await rig({ dir: first.dir });
    await second.open('1', false);
    expect(await second.command({ verb: now, code: 'ok' })).toMatchObject({ outcome: 'done' });
    await second.stop();
    writeFileSync(join(first.dir, 'site.db'), older);
    const third = await rig({ dir: first.dir });
    expect(third.state()).toBe(found);
    expect(third.store.recovery()).toMatchObject({ epoch: 2, lost: false, restored: true });
    // What is said from here on is of now.
    await third.open('1', false);
    expect(await third.command({ verb: now, code: 'ok' })).toMatchObject({ outcome: 'done' });
    await third.stop();
    const fourth = await rig({ dir: first.dir });
    expect(fourth.state()).toBe(now === 'arm' ? 'armed_away' : 'disarmed');
    expect(fourth.store.recovery()).toMatchObject({ epoch: 2 });
  });

  it('gives a box that was set up anew other event ids than in its former life', async () => {
    const idsOf = async () => {
      const site = await armed();
      await site.open('1', true);
      return site.events.map((event) => event.event_id);
    };
    const [former, anew] = [await idsOf(), await idsOf()];
    expect(former.length).toBeGreaterThan(0);
    expect(former.filter((id) => anew.includes(id))).toEqual([]);
  });

  it('gives the same event the same id, and every event its own', async () => {
    const site = await armed();
    await site.open('1', true);
    await site.command({ verb: 'disarm' });
    const ids = site.events.map((event) => event.event_id);
    expect(new Set(ids).size).toBe(ids.length);
    const stored = await site.store.events({ limit: 50 });
    expect(stored.map((record) => record.event.event_id)).toEqual(expect.arrayContaining(ids));
  });
});

describe('commands', () => {
  it('C9: a refused command shows the true state again', async () => {
    const site = await armed();
    const before = site.shown.length;
    const result = await site.command({ verb: 'disarm', code: 'bad' });
    expect(result).toMatchObject({ outcome: 'refused', error: { code: 'BAD_CODE' } });
    expect(site.state()).toBe('armed_away');
    const again = site.shown.slice(before).flatMap(({ changes }) => changes.partitions);
    expect(again).toContain('p1');
  });

  it('answers finally only after the commit', async () => {
    const site = await rig();
    await site.open('1', false);
    const gate = Promise.withResolvers<void>();
    site.hold = () => gate.promise;
    let answered = false;
    const reply = site.command({ verb: 'arm' }).then((result) => {
      answered = true;
      return result;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(answered).toBe(false);
    gate.resolve();
    expect(await reply).toMatchObject({ outcome: 'done', state: 'armed_away' });
  });

  it('sends a panel its command after the commit of what allows it', async () => {
    const site = await panelSite();
    const gate = Promise.withResolvers<void>();
    site.hold = () => gate.promise;
    void site.command({ verb: 'arm', partition: 'p2' });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(site.panelCommands).toEqual([]);
    gate.resolve();
    await expect.poll(() => site.panelCommands).toMatchObject([{ panel: 'main', partition: 'p2', action: 'arm_away' }]);
  });

  it('sends a panel its command after half a second when there is no disk', async () => {
    const site = await panelSite();
    site.refuse = true;
    void site.command({ verb: 'arm', partition: 'p2' });
    await expect.poll(() => site.panelCommands, { timeout: 1900 }).toMatchObject([{ action: 'arm_away' }]);
    site.refuse = false;
  });
});

async function panelSite(): Promise<Rig> {
  const site = await rig();
  const source = { kind: 'panel', id: 'main' } as const;
  await site.controller.signals([
    { kind: 'link', source, layer: 'bridge', up: true },
    { kind: 'link', source, layer: 'device', up: true },
    { kind: 'partition', source, partition: 'p2', state: 'disarmed', replay: false },
  ]);
  expect(site.state('p2')).toBe('disarmed');
  return site;
}

describe('safety 4', () => {
  it('a silent hold-up reaches the outbox and changes nothing that is shown or counted', async () => {
    const site = await armed();
    const before = {
      shown: site.shown.length,
      metrics: await site.metrics.getSingleMetricAsString('siteward_events_total'),
      inputs: await site.metrics.getSingleMetricAsString('siteward_inputs_total'),
    };
    await site.open('9', true);
    expect(site.events.filter((event) => event.kind === 'panic_silent')).toEqual([]);
    expect(site.state()).toBe('armed_away');
    for (const { changes } of site.shown.slice(before.shown)) {
      expect(changes).toMatchObject({ partitions: [], zones: [], troubles: false });
    }
    expect(await site.metrics.getSingleMetricAsString('siteward_events_total')).toBe(before.metrics);
    expect(await site.metrics.getSingleMetricAsString('siteward_inputs_total')).toBe(before.inputs);
    const waiting = await site.store.take('alarm', 0, 10);
    expect(waiting).toHaveLength(1);
    expect((await site.store.events({ limit: 10 })).map((record) => record.event.kind)).not.toContain('panic_silent');
    expect((await site.store.events({ limit: 10, withSilent: true })).map((record) => record.event.kind)).toContain(
      'panic_silent',
    );
    expect((await site.store.stats()).pending.alarm).toBe(0);
  });
});

describe('reload', () => {
  it('takes a new plan and keeps the state of what stayed', async () => {
    const site = await armed();
    await site.controller.reconfigure({ ...plan, partitions: plan.partitions.slice(0, 1) });
    expect(site.state('p1')).toBe('armed_away');
    expect(site.state('p2')).toBeUndefined();
  });
});

it('shows one plan as long as it is in force, so that nobody draws the whole site anew for another', async () => {
  const site = await rig();
  await site.controller.tell({ kind: 'security_type', securityType: 1, by: 'cli', whileArmed: true });
  await site.open('1', true);
  await site.open('1', false);
  const plans = site.shown.slice(-2).map(({ view }) => view.plan);
  expect(plans[0]).toMatchObject({ securityType: 1 });
  expect(plans[1]).toBe(plans[0]);
  expect(site.controller.view().plan).toBe(plans[0]);
});
