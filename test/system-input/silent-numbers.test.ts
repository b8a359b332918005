import { afterEach, describe, expect, it } from 'vitest';
import type { EventEntry } from '#lan/http/index.ts';
import { answered, openControl } from '../../src/cli/control.ts';
import { planted, type Rig, startRig } from './rig.ts';
import { pressButton, silentIn } from './silent.ts';

/** Safety 4 with real processes: of two sites that live the same days, one with calls for help, the numbers are the same. */
const sections = `users: [ { id: anna, name: Anna, code: { env: CODE }, duress_code: { env: DURESS } } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Window, key: window, partition: p1 }
      "2": { type: panic_silent, name: Button, key: button, partition: p1 }
`;
const partitions = 'partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]\n';

const rigs: Rig[] = [];
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
});

async function armAndDisarm(site: Rig, code: string): Promise<void> {
  const { lan } = site;
  expect(await lan.command('arm', { partition: 'p1', mode: 'away', code: planted.code })).toMatchObject({
    outcome: 'done',
  });
  expect(await lan.command('disarm', { partition: 'p1', code })).toMatchObject({ outcome: 'done' });
}

interface Lived {
  readonly events: readonly string[];
  /** The same by pages of two. */
  readonly paged: readonly string[];
  /** Numbers on MQTT that are not in the list. */
  readonly strange: readonly number[];
  readonly calls: number;
}

/** An evening, a clean stop, another, a kill in the middle of a third, and a fourth. */
async function days(withCalls: boolean): Promise<Lived> {
  const site = await startRig({ cloud: false, partitions, sections });
  rigs.push(site);
  const { lan } = site;
  const code = withCalls ? planted.duress : planted.code;
  const call = async (nth: number) => (withCalls ? pressButton(site, nth) : undefined);
  await lan.publish('zigbee2mqtt/button', '{"contact":true}');
  await lan.publish('zigbee2mqtt/window', '{"contact":true}');
  await lan.shows('zone/1/state', 'OFF');
  await call(1);
  await armAndDisarm(site, code);
  await call(3);
  await site.daemon.stop();
  await again(site);
  await call(4);
  await armAndDisarm(site, code);
  await call(6);
  site.daemon.signal('SIGKILL');
  await site.daemon.exited;
  await again(site);
  await call(7);
  await armAndDisarm(site, code);
  await call(9);
  const events = await site.events();
  const known = events.map(({ seq }) => seq);
  const published = lan.heard.flatMap(({ topic, payload }) =>
    topic.startsWith('event/') ? [(JSON.parse(payload) as { seq: number }).seq] : [],
  );
  return {
    events: events.map(nameOf),
    paged: (await pages(site, 2)).map(nameOf),
    strange: published.filter((number) => !known.includes(number)),
    calls: await callsIn(site),
  };
}

async function callsIn(site: Rig): Promise<number> {
  await site.daemon.stop();
  return silentIn(site);
}

const nameOf = ({ seq, event }: EventEntry): string =>
  `${seq} ${event.seq} ${event.class} ${event.kind} ${event.status}`;

async function again(site: Rig): Promise<void> {
  await site.lan.shows('status', 'offline');
  await site.start();
  await site.lan.shows('status', 'online');
}

async function pages(site: Rig, limit: number): Promise<EventEntry[]> {
  await using control = openControl(site.socket);
  const found: EventEntry[] = [];
  for (;;) {
    const before = found.at(-1)?.seq;
    const signal = AbortSignal.timeout(10_000);
    const { json } = answered(await control.client.listEvents({ query: { limit, before }, signal }));
    const { items } = json as { items: EventEntry[] };
    if (items.length === 0) return found;
    found.push(...items);
  }
}

describe('the numbers of events', () => {
  it('are the same with and without calls for help, over stops, kills, lists and pages', {
    timeout: 240_000,
  }, async () => {
    const quiet = await days(false);
    const forced = await days(true);
    expect(quiet.calls).toBe(0);
    expect(forced.calls).toBe(9);
    expect(forced.events).toEqual(quiet.events);
    expect(forced.paged).toEqual(forced.events);
    expect([forced.strange, quiet.strange]).toEqual([[], []]);
    expect(quiet.events).toHaveLength(6);
  });
});
