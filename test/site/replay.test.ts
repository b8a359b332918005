import { afterEach, expect, test } from 'vitest';
import { type ReplayItem, replay } from '#site/replay.ts';
import { plan, type Rig, startRig } from './rig.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function rig(dir?: string): Promise<Rig> {
  const started = await startRig(dir === undefined ? {} : { dir });
  cleanups.push(() => started.remove());
  return started;
}

async function recorded({ store }: Rig): Promise<string[]> {
  const lines: string[] = [];
  for (let after = 0; ; ) {
    const page = await store.inputsAfter({ after, limit: 7 });
    lines.push(...page.map(({ line }) => line));
    const last = page.at(-1);
    if (last === undefined) return lines;
    after = last.id;
  }
}

async function items(lines: Iterable<string>): Promise<ReplayItem[]> {
  const all: ReplayItem[] = [];
  for await (const item of replay(lines)) all.push(item);
  return all;
}
type Made = Extract<ReplayItem, { kind: 'decision' }>;
const decisions = (all: readonly ReplayItem[]) => all.filter((item): item is Made => item.kind === 'decision');
const differing = (all: readonly ReplayItem[]) =>
  all.filter((item) => 'recorded' in item || 'differs' in item || item.kind === 'failed');

let clients = 0;

/** Arms, alarms, refuses and disarms. */
async function evening(site: Rig): Promise<void> {
  // One client gives five commands a minute (C8).
  clients += 1;
  const client = `keypad-${clients}`;
  await site.open('1', false);
  await site.command({ verb: 'arm', code: 'ok', client });
  await site.open('1', true);
  await site.command({
    verb: 'disarm',
    source: 'cloud',
    code: 'none',
    issuedAt: Date.now() - 60_000,
    expiresAt: Date.now() + 1000,
  });
  await site.command({ verb: 'disarm', code: 'bad', client });
  await site.command({ verb: 'disarm', client });
  await site.open('1', false);
}

test('what was recorded is decided in the same way, over restarts, a new plan and a power cut', async () => {
  const site = await rig();
  await evening(site);
  await site.controller.reconfigure({ ...plan, confirmMs: 5000 });
  await evening(site);
  await site.stop();
  const again = await rig(site.dir);
  await evening(again);
  const all = await items(await recorded(again));
  expect(differing(all)).toEqual([]);
  expect(all.filter(({ kind }) => kind === 'skipped')).toEqual([]);
  const states = all.flatMap((item) => (item.kind === 'state' ? [item.why] : []));
  expect(states).toEqual(['start', 'plan', 'start']);
  const refused = decisions(all).filter(({ mark }) => mark.replies?.[0]?.includes(' ') === true);
  expect(refused.map(({ mark }) => [mark.replies?.[0], mark.rules])).toEqual(
    Array.from({ length: 3 }, () => [
      ['superseded NEWER_LOCAL_CHANGE', ['C3', 'C9']],
      ['refused BAD_CODE', ['C8', 'C9']],
    ]).flat(),
  );
  const armed = decisions(all).find(({ mark }) => mark.partitions?.p1?.startsWith('armed_away') === true);
  expect([armed?.before.p1, armed?.mark.partitions?.p1]).toEqual(['disarmed - 0', 'armed_away away 1']);
});

test('a log without its beginning is replayed from its next state, and what is missing is told', async () => {
  const site = await rig();
  await evening(site);
  await site.stop();
  const again = await rig(site.dir);
  await evening(again);
  const lines = await recorded(again);
  const cut = await items(lines.slice(2));
  const second = lines.findIndex((line, index) => index > 2 && line.includes('"kind":"state"'));
  expect(cut[0]).toEqual({ kind: 'skipped', line: 1, lines: second - 2, why: 'no state' });
  expect(decisions(cut)).toHaveLength(lines.length - second - 1);
  expect(differing(cut)).toEqual([]);
  const holed = await items(lines.filter((_, index) => index !== 3));
  expect(holed.find(({ kind }) => kind === 'skipped')).toEqual({
    ...{ kind: 'skipped', line: 4, lines: second - 4, why: 'missing', missing: 1 },
  });
  const spoilt = await items(lines.map((line, index) => (index === 3 ? line.slice(0, -9) : line)));
  expect(spoilt.find(({ kind }) => kind === 'skipped')).toEqual({
    ...{ kind: 'skipped', line: 4, lines: second - 3, why: 'unreadable', unreadable: 1 },
  });
});

test('lines that are missing up to the next state are told too, and a file that is no log has no readable line', async () => {
  const site = await rig();
  await evening(site);
  await site.controller.reconfigure({ ...plan, confirmMs: 5000 });
  await evening(site);
  const lines = await recorded(site);
  const state = lines.findIndex((line, index) => index > 0 && line.includes('"kind":"state"'));
  const holed = await items(lines.filter((_, index) => index < state - 2 || index >= state));
  expect(holed.filter(({ kind }) => kind === 'skipped')).toEqual([
    { kind: 'skipped', line: state - 1, lines: 0, why: 'missing', missing: 2 },
  ]);
  expect(differing(holed)).toEqual([]);
  expect(await items(['# siteward', '', 'no log'])).toEqual([
    { kind: 'skipped', line: 1, lines: 2, why: 'unreadable', unreadable: 2 },
  ]);
});

test('what this version decides otherwise is told, with what was recorded', async () => {
  const site = await rig();
  await evening(site);
  const lines = (await recorded(site)).map((line) => line.replace('refused BAD_CODE', 'done'));
  const all = await items(lines);
  expect(differing(all)).toMatchObject([{ mark: { replies: ['refused BAD_CODE'] }, recorded: { replies: ['done'] } }]);
});

test('safety 4: hold-up and duress leave the log as it would be without them', async () => {
  const logs: object[][] = [];
  for (const isForced of [false, true]) {
    const site = await rig();
    await site.open('1', false);
    await site.open('9', false);
    await site.command({ verb: 'arm', code: 'ok', id: 'a' });
    if (isForced) await site.open('9', true);
    await site.command({ verb: 'disarm', code: isForced ? 'duress' : 'ok', id: 'b' });
    if (isForced) await site.open('9', false);
    await site.open('1', true);
    const lines = await recorded(site);
    expect(differing(await items(lines))).toEqual([]);
    expect(lines.join('\n')).not.toMatch(/duress|holdup/);
    logs.push(lines.map((line) => timeless(JSON.parse(line) as object)));
    await site.stop();
  }
  expect(logs[1]).toEqual(logs[0]);
});

/** Without what differs between any two runs. */
const timeless = (line: object): object =>
  JSON.parse(
    JSON.stringify(line, (name, value: unknown) =>
      ['at', 'run', 'mono', 'wall', 'boot', 'issuedAt', 'bodyHash'].includes(name) ? undefined : value,
    ),
  ) as object;

test('a state stands at least after every thousand inputs, and lines that no commit took are told', async () => {
  const site = await rig();
  for (let round = 0; round < 600; round += 1) {
    void site.open('1', true);
    await site.open('1', false);
  }
  const lines = await recorded(site);
  expect(lines.filter((line) => line.includes('"why":"between"'))).toHaveLength(1);
  expect(differing(await items(lines))).toEqual([]);
  // As if the version that recorded it had come to another state.
  const other = lines.map((line) =>
    line.includes('"why":"between"') ? line.replace('"state":"disarmed"', '"state":"unknown"') : line,
  );
  expect(differing(await items(other))[0]).toMatchObject({ why: 'between', differs: { p1: 'disarmed - 0' } });
  site.refuse = true;
  for (let round = 0; round < 600; round += 1) {
    void site.open('1', true);
    void site.open('1', false);
  }
  site.refuse = false;
  await site.open('1', true);
  await expect.poll(async () => (await recorded(site)).length, { timeout: 20_000 }).toBeGreaterThan(lines.length + 500);
  expect(differing(await items(await recorded(site)))).toEqual([]);
}, 60_000);
