import { setTimeout as pause } from 'node:timers/promises';
import type { SiteEvent } from '#site/model/index.ts';
import { code, type Site } from '../harness/site.ts';

interface Sensor {
  readonly zone: string;
  /** Friendly name at zigbee2mqtt. */
  readonly name: string;
}

/** One partition of the site with what happens in it, over and over. */
export interface Quarter {
  readonly partition: string;
  readonly sensors: readonly Sensor[];
}

/** How often each zone opens and closes per arming period; below the cap of alarms per source. */
const trips = 3;
const againMs = 2000;
const patienceMs = 60_000;

/**
 * The events the rounds leave in the cloud, as `class kind status zone`: armed, each zone opened and closed, disarmed with the
 * alarm cancelled; and once, since batteries are told once a day, each sensor with a low battery and a fresh one.
 */
export function expectedOf({ partition, sensors }: Quarter, rounds: number): ReadonlyMap<string, number> {
  const expected = new Map<string, number>([
    [`${partition} arming armed_away active -`, rounds],
    [`${partition} arming disarmed active -`, rounds],
    [`${partition} alarm cancelled`, rounds],
  ]);
  for (const { zone } of sensors) {
    expected.set(`${partition} alarm burglary_perimeter active ${zone}`, rounds * trips);
    expected.set(`${partition} alarm burglary_perimeter restored ${zone}`, rounds * trips);
    expected.set(`${partition} trouble sensor_battery active ${zone}`, 1);
    expected.set(`${partition} trouble sensor_battery restored ${zone}`, 1);
  }
  return expected;
}

/** What a cloud event counts as in `expectedOf`. */
export function countedAs({ partition, class: group, kind, status, zone }: SiteEvent): string {
  if (status === 'cancelled') return `${partition} ${group} cancelled`;
  return `${partition} ${group} ${kind} ${status} ${zone ?? '-'}`;
}

interface Level {
  readonly open: boolean;
  readonly low: boolean;
}

/**
 * Plays rounds. Each step waits for its event on the LAN. An event that happened while the broker was away is not shown there; then
 * the sensor says it again, and the site's status tells that it was heard. What the LAN heard last is no proof: while the broker
 * is away it may be from the time before.
 */
export async function playRounds(
  site: Site,
  quarter: Quarter,
  options: { rounds: number; restMs: () => number },
): Promise<void> {
  const { lan } = site;
  const { partition, sensors } = quarter;

  async function say(sensor: Sensor, level: Level, event?: string): Promise<void> {
    const from = lan.events.length;
    const happened = () =>
      event !== undefined && lan.events.slice(from).some((seen) => countedAs(seen.event) === event);
    const payload = JSON.stringify({ contact: !level.open, battery_low: level.low, linkquality: 120 });
    const giveUpAt = performance.now() + patienceMs;
    while (performance.now() < giveUpAt) {
      await lan.publish(`zigbee2mqtt/${sensor.name}`, payload);
      const lookAt = performance.now() + againMs;
      while (performance.now() < lookAt) {
        if (happened()) return;
        await pause(5);
      }
      if (await isKnown(site, sensor.zone, level)) return;
    }
    throw new Error(`the site never showed ${event ?? 'the first state'} of zone ${sensor.zone}`);
  }

  /** While the broker was away the sensors could not be heard; until their bridge is back the site refuses to arm. */
  async function ask(verb: string, body: object): Promise<void> {
    const giveUpAt = performance.now() + patienceMs;
    for (;;) {
      const reply = await lan.ask(verb, { partition, ...body }, patienceMs);
      if (reply.outcome === 'done') return;
      const mayPass = reply.error?.code === 'NOT_READY' && performance.now() < giveUpAt;
      if (!mayPass) throw new Error(`${verb} ${partition}: ${JSON.stringify(reply)}`);
      await pause(againMs);
    }
  }

  const rest = { open: false, low: false };
  for (const sensor of sensors) await say(sensor, rest);
  for (let round = 0; round < options.rounds; round += 1) {
    // With a code: without one a client may give five commands a minute (C8).
    await ask('arm', { mode: 'away', code });
    for (const sensor of sensors) {
      const alarm = (status: string) => `${partition} alarm burglary_perimeter ${status} ${sensor.zone}`;
      const battery = (status: string) => `${partition} trouble sensor_battery ${status} ${sensor.zone}`;
      for (let trip = 0; trip < trips; trip += 1) {
        await say(sensor, { open: true, low: false }, alarm('active'));
        await say(sensor, rest, alarm('restored'));
      }
      if (round > 0) continue;
      await say(sensor, { open: false, low: true }, battery('active'));
      await say(sensor, rest, battery('restored'));
    }
    await ask('disarm', { code });
    await pause(options.restMs());
  }
}

/** Whether the site, if it runs, knows the zone to be so. */
async function isKnown(site: Site, zone: string, level: Level): Promise<boolean> {
  const status = await site.api('/api/v1/status').catch(() => undefined);
  if (status === undefined) return false;
  const { zones } = status as { zones: Record<'open' | 'alarm' | 'low_battery' | 'unknown', readonly string[]> };
  const is = (list: 'open' | 'alarm' | 'low_battery' | 'unknown') => zones[list].includes(zone);
  // A word that may have waited in the broker closes a door and ends no alarm: then it is said again.
  return !is('unknown') && is('open') === level.open && is('alarm') === level.open && is('low_battery') === level.low;
}
