import { afterEach, describe, expect, it } from 'vitest';
import { sleep } from '#lib/wait.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { type Listening, listen } from '../lan/http/stream-rig.ts';
import { planted, type Rig, smokes, startRig } from './rig.ts';
import { pressButton } from './silent.ts';

/** The stream of a real daemon, over its control socket. */

const rigs: Rig[] = [];
const open: Listening[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) one.close();
  for (const rig of rigs.splice(0)) await rig.close();
});

async function start(options: Parameters<typeof startRig>[0]): Promise<Rig> {
  const site = await startRig({ cloud: false, ...options });
  rigs.push(site);
  return site;
}

async function stream(site: Rig, query = '', lastEventId?: string): Promise<Listening> {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const one = await listen({ at: { socketPath: site.socket }, path: `/api/v1/stream${query}`, headers });
  expect(one.status).toBe(200);
  open.push(one);
  return one;
}

const seqs = (one: Listening) => one.messages.filter(({ event }) => event === 'event').map(({ id }) => Number(id));

type Told = Listening['messages'][number];
const isStatus = ({ event }: Told) => event === 'status';
/** A status without what goes on, and without what waits in a queue for a moment on a busy machine. */
const still = (told: Told | undefined) =>
  JSON.stringify(told?.data, (name, value) => (/^(now|uptime_s|queued|queuedBytes)$/.test(name) ? undefined : value));

describe('a stream of events', () => {
  it('goes on by Last-Event-ID after a kill: nothing is missing, nothing comes twice', {
    timeout: 120_000,
  }, async () => {
    const site = await start({ sections: smokes });
    const alternate = async (rounds: number) => {
      for (let round = 0; round < rounds; round += 1)
        for (const n of [1, 2, 3, 4])
          await site.lan.publish(`zigbee2mqtt/smoke_${n}`, JSON.stringify({ smoke: round % 2 === 0 }));
    };
    const first = await stream(site, '?topics=events');
    const storm = alternate(30);
    await first.until('event', 20);
    site.daemon.signal('SIGKILL');
    await site.daemon.exited;
    await storm;
    await eventually('the end of the stream', () => first.ended() || undefined);
    await site.start();
    const second = await stream(site, '?topics=events', first.messages.findLast(({ id }) => id !== undefined)?.id);
    await alternate(2);
    const kept = await eventually('all of it', async () => {
      const found = (await site.events()).map(({ seq }) => seq);
      return seqs(second).at(-1) === found[0] ? found.reverse() : undefined;
    });
    const all = [...seqs(first), ...seqs(second)];
    expect(all).toEqual(kept.slice(kept.indexOf(all[0] ?? 0)));
    expect(all.length).toBeGreaterThan(40);
    expect(second.told().filter((name) => name.startsWith('gap'))).toEqual([]);
  });

  it('shows nothing of a silent hold-up and of a duress code', { timeout: 120_000 }, async () => {
    const site = await start({
      partitions: 'partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]\n',
      sections: `users: [ { id: anna, name: Anna, code: { env: CODE }, duress_code: { env: DURESS } } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Window, key: window, partition: p1 }
      "2": { type: panic_silent, name: Secret, key: button, partition: p1 }
`,
    });
    const { lan } = site;
    await lan.publish('zigbee2mqtt/button', '{"contact":true}');
    await lan.publish('zigbee2mqtt/window', '{"contact":true}');
    await lan.shows('zone/1/state', 'OFF');
    await lan.command('arm', { partition: 'p1', mode: 'away', code: planted.code });
    const one = await stream(site);
    await one.until('playbacks');
    await sleep(2500, new AbortController().signal);
    const before = one.messages.length;
    await pressButton(site, 1);
    await sleep(2500, new AbortController().signal);
    const [was] = one.messages.slice(0, before).filter(isStatus).slice(-1);
    expect(was).toBeDefined();
    expect(one.messages.slice(before).filter((told) => !isStatus(told) || still(told) !== still(was))).toEqual([]);
    await lan.command('disarm', { partition: 'p1', code: planted.duress });
    await lan.publish('zigbee2mqtt/window', '{"contact":false}');
    await one.until('zone');
    const later = await stream(site, '?after=0');
    await later.until('event', seqs(one).length + 1);
    const text = `${one.text()}${later.text()}`;
    for (const word of ['Secret', 'panic_silent', 'duress', '"122"', '"121"', planted.duress])
      expect(text).not.toContain(word);
    const kept = (await site.events()).map(({ seq }) => seq).reverse();
    expect(seqs(later)).toEqual(kept);
    expect(kept).toEqual(kept.map((_, n) => (kept[0] ?? 0) + n));
  });
});
