import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import type { SiteEvent } from '#site/model/index.ts';
import { faketime, whyNoFaketime } from '../harness/wall-clock.ts';
import { code, startBoxWithCloud } from './box.ts';

type Box = Awaited<ReturnType<typeof startBoxWithCloud>>;

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** With a wall clock of its own. */
async function startBox(clockS: number): Promise<Box> {
  const yaml = `partitions:
  - { id: p1, name: Shop, exit_delay: 0s }
  - { id: p2, name: Store, exit_delay: 4s }
`;
  const box = await startBoxWithCloud({ timezone: 'Europe/Berlin', yaml, clockS });
  ends.push(() => box.close());
  return box;
}

/** Arms or disarms the shop; resolves with the event and the true time at which it was made, within a moment. */
async function act(box: Box, verb: 'arm' | 'disarm'): Promise<{ event: SiteEvent; from: number; to: number }> {
  const seen = box.lan.events.length;
  const from = Date.now();
  // With a code both: what comes without one within two seconds of a person's command gives way to it (safety 5).
  const how = { code, ...(verb === 'arm' && { mode: 'away' }) };
  expect(await box.lan.ask(verb, { partition: 'p1', ...how })).toMatchObject({ outcome: 'done' });
  const event = await eventually('the event on the LAN', () => box.lan.events.slice(seen).find(isArming)?.event);
  return { event, from, to: Date.now() };
}
const isArming = ({ event }: { event: SiteEvent }) => event.class === 'arming';

async function inCloud(box: Box, id: string) {
  const found = await eventually(
    `the event ${id} in the cloud`,
    () => box.cloud.events().find(({ event_id }) => event_id === id),
    {
      timeoutMs: 90_000,
    },
  );
  const { body } = found;
  return {
    at: Date.parse(String(body.event_time)),
    payload: body.payload as unknown as SiteEvent,
    identical: found.identical,
  };
}

const day = 86_400;
describe.skipIf(faketime === undefined)(`a clock that is not to be trusted${whyNoFaketime}`, () => {
  it('at 1970 delays events until it is set, and each then arrives with its true time', async () => {
    const box = await startBox(10 - Math.floor(Date.now() / 1000));
    const made = [await act(box, 'arm'), await act(box, 'disarm'), await act(box, 'arm')];
    for (const { event } of made)
      expect(event).toMatchObject({ at: expect.stringMatching(/^1970-/), data: { clock: 'doubtful' } });
    expect(box.cloud.events()).toEqual([]);
    box.setClock(0);
    made.push(await act(box, 'disarm'));
    for (const { event, from, to } of made) {
      const { at, payload, identical } = await inCloud(box, event.event_id);
      expect(at).toBeGreaterThan(from - 2_000);
      expect(at).toBeLessThan(to + 2_000);
      expect(identical).toBe(true);
      expect(payload.at).toBe(event.at);
      if (event.at.startsWith('1970')) expect(payload.data.time).toEqual({ quality: 'exact', recorded: event.at });
    }
    const last = await act(box, 'arm');
    expect(last.event.data.clock).toBe('synced');
    expect((await inCloud(box, last.event.event_id)).payload.data.time).toBeUndefined();
  });

  it('that is set by five days, forward or back, changes no delay and no delivery', async () => {
    const box = await startBox(0);
    const first = await act(box, 'arm');
    await inCloud(box, first.event.event_id);
    for (const [offset, verb] of [
      [5 * day, 'disarm'],
      [-5 * day, 'arm'],
      [0, 'disarm'],
    ] as const) {
      const begun = performance.now();
      await box.lan.send('arm', { partition: 'p2', mode: 'away', code });
      await box.lan.shows('partition/p2/state', 'arming');
      box.setClock(offset);
      const { event, from, to } = await act(box, verb);
      await box.lan.shows('partition/p2/state', 'armed_away');
      // The exit delay is four seconds; that it ends at all within the bound of the wait is the other half.
      expect(performance.now() - begun).toBeGreaterThan(3_500);
      const { at, identical } = await inCloud(box, event.event_id);
      expect(at).toBeGreaterThan(from - 2_000);
      expect(at).toBeLessThan(to + 2_000);
      expect(identical).toBe(true);
      expect(await box.lan.ask('disarm', { partition: 'p2', code })).toMatchObject({ outcome: 'done' });
    }
  });
});
