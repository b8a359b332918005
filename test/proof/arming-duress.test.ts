import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { withFile } from '../site/store/helpers.ts';
import { planted, type Rig, startRig } from '../system-input/rig.ts';
import { pressButton, silentIn } from '../system-input/silent.ts';

/** I11 by a real broker: what anybody on the LAN can see of a disarm under duress is what an ordinary one shows. */
const sections = `users: [ { id: anna, name: Anna, code: { env: CODE }, duress_code: { env: DURESS } } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Window, key: window, partition: p1 }
      "2": { type: panic_silent, name: Button, key: button, partition: p1 }
`;
const partitions = 'partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]\n';

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

/** What goes on from evening to evening: it differs between any two, and is compared by how far it went. */
interface Start {
  /** Of the last event before. */
  readonly event: number;
  readonly arming: number;
  readonly incident: number;
}

/** Ids and times differ between any two evenings. */
const bare = (text: string, start: Start): string =>
  text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, 'TIME')
    .replaceAll(/"uptime_s":\d+/g, '"uptime_s":N')
    .replaceAll(/p1-(\d+)/g, (_, number) => `INCIDENT+${Number(number) - start.incident}`);

/** The `seq` of an event counts events, every other one armings. */
function relative(payload: string, start: Start): string {
  if (!/^[[{]/.test(payload)) return payload;
  const value: unknown = JSON.parse(payload, function (this: object, key, member: unknown) {
    if (key !== 'seq' || typeof member !== 'number') return member;
    return `+${member - ('event_id' in this || 'event' in this ? start.event : start.arming)}`;
  });
  return JSON.stringify(value);
}

interface Evening {
  /** Every message of the LAN, in order: those of the zone, which a gate may hold back for a moment, and all others. */
  readonly zone: readonly string[];
  readonly lan: readonly string[];
  /** What each metric of siteward's own has grown by. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly waiting: Readonly<Record<string, number>>;
  readonly status: string;
  /** What `siteward events` shows of it. */
  readonly history: readonly string[];
}

/** These come with the clock, whatever happens. */
const timely = ['outbox', 'info'];
const unsteady =
  /nodejs|process_|seconds|bytes|_ms|control_requests|kind="tick"|published_total\{kind="state"|commit\w+\{.*file="bulk"/;

/** Somebody arms, the window is opened, and somebody disarms with this code. */
async function evening(site: Rig, code: string): Promise<Evening> {
  const { lan } = site;
  await lan.publish('zigbee2mqtt/window', '{"contact":true}');
  const metrics = await settled(site, { state: 'disarmed', isOpen: false });
  const [from, before] = [lan.heard.length, await site.status()];
  const start = startOf(before, await site.events());
  // With a code: an arming without one right after the disarm of the evening before would be overruled (safety 5).
  expect(await lan.command('arm', { partition: 'p1', mode: 'away', code: planted.code })).toMatchObject({
    outcome: 'done',
  });
  await lan.publish('zigbee2mqtt/window', '{"contact":false}');
  await lan.shows('partition/p1/state', 'triggered');
  expect(await lan.command('disarm', { partition: 'p1', code })).toMatchObject({ outcome: 'done' });
  const grownTo = await settled(site, { state: 'disarmed', isOpen: true });
  const after = await site.status();
  const heard = lan.heard.slice(from).filter(({ topic }) => !timely.includes(topic));
  const shown = (ofZone: boolean) =>
    heard
      .filter(({ topic }) => topic.startsWith('zone/') === ofZone)
      .map(({ topic, payload }) => bare(`${topic} ${relative(payload, start)}`, start));
  return {
    zone: shown(true),
    lan: shown(false),
    metrics: grown(metrics, grownTo),
    waiting: grown(waitingIn(before), waitingIn(after)),
    status: bare(relative(JSON.stringify(after.partitions), start), start),
    history: (await site.events())
      .filter(({ seq }) => seq > start.event)
      .map((entry) => bare(relative(JSON.stringify(entry), start), start)),
  };
}

function startOf(status: Status, events: Awaited<ReturnType<Rig['events']>>): Start {
  const incidents = events.map(({ event }) => Number(/-(\d+)$/.exec(event.data.incident_id ?? '')?.[1] ?? 0));
  return { event: events[0]?.seq ?? 0, arming: status.partitions[0]?.seq ?? 0, incident: Math.max(0, ...incidents) };
}

/**
 * Nothing of what happened is still on the way: the LAN shows how it ended, all that was published before has come, and
 * no count moves any more. Returns the counts.
 */
async function settled(
  site: Rig,
  { state, isOpen }: { readonly state: string; readonly isOpen: boolean },
): Promise<Record<string, number>> {
  const { lan } = site;
  const shows = (topic: string, members: object) =>
    eventually(`${topic} with ${JSON.stringify(members)}`, () => {
      const detail = JSON.parse(lan.topics.get(topic) ?? '{}') as object;
      return isDeepStrictEqual(detail, { ...detail, ...members }) ? true : undefined;
    });
  await lan.shows('zone/1/state', isOpen ? 'ON' : 'OFF');
  await shows('zone/1/detail', { open: isOpen, alarm: false });
  // It lags behind the zone, and comes once.
  await shows('partition/p1/detail', { state, open_zones: isOpen ? ['1'] : [] });
  // The answer leaves after everything that was published before it.
  expect(await lan.command('query', { what: 'troubles' })).toMatchObject({ outcome: 'done' });
  // A message counts when the broker has acknowledged it, which on a loaded machine is well after the LAN heard it.
  let last = await counted(site);
  let still = 0;
  return eventually(
    'counts that stand still',
    async () => {
      const now = await counted(site);
      still = isDeepStrictEqual(now, last) ? still + 1 : 0;
      last = now;
      return still >= stillFor ? now : undefined;
    },
    { everyMs: 400 },
  );
}

/** So many looks in a row. */
const stillFor = 4;

type Status = Awaited<ReturnType<Rig['status']>>;

const waitingIn = ({ outbox }: Status): Record<string, number> => ({ ...outbox?.waiting });

/**
 * Counters and gauges that do not follow the clock or the machine: ticks and the retained topics that come with it, and how
 * many transactions of `bulk.db` the lines of the input log shared.
 */
async function counted(site: Rig): Promise<Record<string, number>> {
  const lines = (await site.metrics()).split('\n').filter((line) => line.startsWith('siteward_'));
  const own = lines.filter((line) => !unsteady.test(line));
  return Object.fromEntries(own.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

function grown(before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>) {
  return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]));
}

/** Duress events in the files, which the cloud and the auditor may see. */
const duressIn = (site: Rig): number =>
  withFile(join(site.folder, 'state', 'site.db'), (db) =>
    db.prepare<[], { event: string; silent: number }>('SELECT event, silent FROM ev').all(),
  ).filter(({ event, silent }) => silent === 1 && event.includes('"kind":"duress"')).length;

describe.each(['mosquitto', 'embedded'] as const)('a disarm under duress over %s', (broker) => {
  it('gives the LAN the same messages, counts and status as an ordinary one, and the store an alarm', {
    timeout: 240_000,
  }, async () => {
    const site = await startRig({ broker, cloud: false, partitions, sections });
    rig = site;
    // The first evening makes topics and counters that later ones only change.
    await evening(site, planted.code);
    const ordinary = await evening(site, planted.code);
    const forced = await evening(site, planted.duress);
    expect(forced).toEqual(ordinary);
    expect(ordinary.lan.length).toBeGreaterThan(5);
    const waiting = Object.values(waitingIn(await site.status())).reduce((sum, count) => sum + count, 0);
    await eventually('the outbox on the LAN', () =>
      site.lan.topics.get('outbox')?.includes(`"depth":${waiting},`) === true ? true : undefined,
    );
    await site.daemon.stop();
    expect(duressIn(site)).toBe(1);
  });
});

/** A while in which nothing happens, or somebody presses the button: what the LAN hears, and what grows. */
async function aWhile(site: Rig, press: number | undefined, by: 'button' | 'call' = 'button') {
  const { lan } = site;
  const at = { state: 'disarmed', isOpen: false };
  const before = await settled(site, at);
  const [from, shown] = [lan.heard.length, await site.status()];
  if (press !== undefined && by === 'button') await pressButton(site, press);
  if (press !== undefined && by === 'call') {
    expect(await lan.command('panic', { kind: 'silent', partition: 'p1' })).toMatchObject({ outcome: 'done' });
    expect(silentIn(site)).toBe(press);
  }
  const after = await settled(site, at);
  const heard = lan.heard.slice(from).filter(({ topic }) => !timely.includes(topic) && !topic.startsWith('reply/'));
  const steady = ({ parts, partitions, troubles, outbox, hints }: Status) => ({
    ...{ partitions, troubles, outbox, hints },
    parts: parts.map(({ name, state, facts = {} }) => ({ name, state, lastCommit: facts.lastCommit })),
  });
  return {
    heard,
    grown: grown(before, after),
    isSameStatus: isDeepStrictEqual(steady(await site.status()), steady(shown)),
    events: (await site.events()).length,
  };
}

describe('a silent hold-up alone', () => {
  it('moves nothing that anybody can see, and is on disk', { timeout: 240_000 }, async () => {
    const site = await startRig({ cloud: false, partitions, sections });
    rig = site;
    await site.lan.publish('zigbee2mqtt/window', '{"contact":true}');
    // Nothing was ever heard of the button.
    await site.lan.shows('zone/1/state', 'OFF');
    await aWhile(site, undefined);
    const quiet = await aWhile(site, undefined);
    expect(await aWhile(site, 1)).toEqual(quiet);
    expect(quiet).toMatchObject({ heard: [], isSameStatus: true });
    expect(silentIn(site)).toBe(1);
  });
});

describe.each(['mosquitto', 'embedded'] as const)('a silent call for help over %s', (broker) => {
  it('moves nothing that anybody can see but its answer, stands in no log line, and is on disk', {
    timeout: 240_000,
  }, async () => {
    const site = await startRig({ broker, cloud: false, partitions, sections });
    rig = site;
    await site.lan.publish('zigbee2mqtt/window', '{"contact":true}');
    await site.lan.shows('zone/1/state', 'OFF');
    await aWhile(site, undefined);
    const quiet = await aWhile(site, undefined);
    const logged = site.daemon.stdout.length;
    expect(await aWhile(site, 1, 'call')).toEqual(quiet);
    expect(quiet).toMatchObject({ heard: [], isSameStatus: true });
    expect(site.daemon.stdout.slice(logged)).toEqual([]);
  });
});
