import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import type { Rig } from '../../system-input/rig.ts';
import { root, startRig } from '../../system-input/rig.ts';

/** Public reports of other systems as exact messages, in a file beside the repository. */
const file = new URL('../../../../shared/data/bugcases.jsonl', import.meta.url);
export const isThere = existsSync(file);

interface Step {
  readonly pub?: string;
  readonly payload?: string;
  readonly payload_hex?: string;
  readonly retain?: boolean;
  readonly tcp?: string;
  readonly times?: number;
}
interface Case {
  readonly n: number;
  readonly title: string;
  readonly right: string;
  readonly steps: readonly Step[];
}

export const cases: readonly Case[] = isThere
  ? readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Case)
  : [];

export function caseOf(n: number): Case {
  const found = cases.find((one) => one.n === n);
  if (found === undefined) throw new Error(`there is no case ${n}`);
  return found;
}

/** `7: subscribe once; handler idempotent`. */
export const nameOf = (n: number): string => (isThere ? `${n}: ${caseOf(n).right}` : `${n}`);

export interface Played {
  readonly topic: string;
  readonly payload: Buffer;
  readonly retain: boolean;
  /** Of a command that has one. */
  readonly id: string;
}

/** The messages of a case as they are sent now: the site is ours, and the time is now. */
export function messagesOf(n: number, siteRoot = root): Played[] {
  return caseOf(n).steps.flatMap(({ pub, payload = '', payload_hex: hex, retain = false }) => {
    if (pub === undefined) return [];
    const text = payload.replaceAll('2026-11-27T20:00:00Z', new Date().toISOString());
    // The panel topic of case 15 is the profile's own, not below the site's root.
    const topic = pub.replace('siteward/1/hq/dsc-alarm', 'dsc-alarm').replace('siteward/1/hq', siteRoot);
    const bytes = hex === undefined ? Buffer.from(text) : Buffer.from(hex.replaceAll(' ', ''), 'hex');
    return [{ topic, payload: bytes, retain, id: /"id":"([0-9a-f-]{36})"/.exec(text)?.[1] ?? '' }];
  });
}

export const code = '4827';
const brokers = ['embedded', 'mosquitto'] as const;
export type BrokerKind = (typeof brokers)[number];
export const kinds: readonly BrokerKind[] = brokers;

export const zones12 = `  - id: sensors
    profile: zigbee2mqtt
    zones:
      "12": { type: perimeter, name: Front door, key: front_door, partition: p1 }
      "7": { type: perimeter, name: Hall, key: hall, partition: p1 }
`;

/** A panel whose partition and zones bear the site's own names. */
export const pai = `  - id: paradox
    profile: pai
    partitions: { p1: Area_1 }
    zones: { "7": { type: perimeter, name: Hall }, "12": { type: perimeter, name: Front door } }
`;

/** A daemon with partition p1 and these panels; the zones above are closed. The code of the cases is Anna's. */
export async function siteWith(broker: BrokerKind, panels = zones12, mqttMore = ''): Promise<Rig> {
  const rig = await startRig({
    broker,
    cloud: false,
    partitions: 'partitions: [ { id: p1, name: One, exit_delay: 0s, entry_delay: 0s } ]\n',
    sections: `users: [ { id: anna, name: Anna, code: { env: CASE_CODE } } ]\npanels:\n${panels}`,
    env: { CASE_CODE: code },
    mqttMore,
  });
  await listening(rig);
  if (panels === zones12) await doorsClosed(rig);
  return rig;
}

/** What nobody hears of is not ready to be armed. */
export async function doorsClosed(rig: Rig): Promise<void> {
  for (const [key, zone] of [
    ['front_door', '12'],
    ['hall', '7'],
  ]) {
    // Said again: what is said while siteward comes back to the broker may reach nobody.
    await eventually(`zone ${zone} closed`, async () => {
      await rig.lan.publish(`zigbee2mqtt/${key}`, '{"contact":true}');
      const [state, availability] = ['state', 'availability'].map((word) => rig.lan.topics.get(`zone/${zone}/${word}`));
      return state === 'OFF' && availability === 'online' ? true : undefined;
    });
  }
}

export const listening = (rig: Rig) =>
  rig.daemon.line('the panels', (line) => (line.includes('listening to the panels') ? true : undefined));

export async function play(rig: Rig, n: number): Promise<Played[]> {
  const messages = messagesOf(n);
  for (const { topic, payload, retain } of messages) await rig.lan.publish(topic, payload, retain);
  return messages;
}

/** Every `event/arming` seen. */
export const armings = (rig: Rig): string[] =>
  rig.lan.heard.filter(({ topic }) => topic === 'event/arming').map(({ payload }) => JSON.parse(payload).kind);

export const partition = (rig: Rig) => rig.lan.topics.get('partition/p1/state');
export const detail = (rig: Rig) => JSON.parse(rig.lan.topics.get('partition/p1/detail') ?? '{}');

export const zoneDetail = (rig: Rig, zone: string) => JSON.parse(rig.lan.topics.get(`zone/${zone}/detail`) ?? '{}');

/** Behind it everything sent before has been looked at: commands are answered in order. */
export async function lookedAt(rig: Rig): Promise<void> {
  const reply = await rig.lan.command('query', { what: 'partitions' });
  expect(reply.outcome).toBe('done');
}

/** Arms with the code, since after a coded disarm a bare one would be superseded for two seconds. */
export async function arm(rig: Rig, more: object = {}): Promise<void> {
  const reply = await rig.lan.command('arm', { partition: 'p1', mode: 'away', code, ...more });
  expect(reply, JSON.stringify(reply)).toMatchObject({ outcome: 'done' });
  await rig.lan.shows('partition/p1/state', 'armed_away');
}

export async function disarm(rig: Rig): Promise<void> {
  const reply = await rig.lan.command('disarm', { partition: 'p1', code });
  expect(reply.outcome).toBe('done');
  await rig.lan.shows('partition/p1/state', 'disarmed');
  await pause(2100);
}

/** No output of any daemon of the site has this text. */
export const said = (rig: Rig): string => rig.daemons.flatMap((one) => [...one.stdout, ...one.stderr]).join('\n');
