import { afterEach, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import type { SiteEvent } from '#site/model/index.ts';
import { code, startBoxWithCloud } from './box.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const minute = 60_000;
const timeOf = (wall: number) => new Date(wall).toISOString().slice(11, 16);

/** Its clock is synced because the cloud's agrees over TLS; schedules at this minute and the two after it. */
async function startBox(due: number) {
  const partitions = ['p1', 'p2', 'p3', 'p4'].map((id) => `{ id: ${id}, name: Part ${id}, exit_delay: 0s }`);
  const yaml = `partitions: [ ${partitions.join(', ')} ]
schedules:
  - { id: night, days: [daily], at: "${timeOf(due)}", arm: { partitions: [p1, p2] } }
  - { id: late, days: [daily], at: "${timeOf(due)}", arm: { partitions: [p3] } }
  - { id: morning, days: [daily], at: "${timeOf(due + minute)}", disarm: { schedule: night } }
  - { id: noon, days: [daily], at: "${timeOf(due + 2 * minute)}", disarm: { schedule: late } }
`;
  const box = await startBoxWithCloud({ timezone: 'UTC', yaml });
  ends.push(() => box.close());
  return box;
}

it('a schedule disarms what the same schedule armed and nobody has touched, by a clock that is synced and no other', {
  timeout: 420_000,
}, async () => {
  const due = Math.ceil((Date.now() + 40_000) / minute) * minute;
  const { cloud, lan } = await startBox(due);
  const events = () => lan.events.map(({ event }) => event);
  const until = (wall: number) => wall - Date.now() + 60_000;
  /** A person's command is an event, and with the answer to it the cloud tells its time. */
  async function clockIs(quality: 'synced' | 'doubtful'): Promise<void> {
    await eventually(
      `a clock that is ${quality}`,
      async () => {
        const from = lan.events.length;
        const verb = lan.retained('partition/p4/state') === 'disarmed' ? 'arm' : 'disarm';
        await lan.ask(verb, { partition: 'p4', code, ...(verb === 'arm' && { mode: 'away' }) });
        const find = () => lan.events.slice(from).find(({ event }) => event.partition === 'p4')?.event;
        return (await eventually('its event', find)).data.clock === quality ? true : undefined;
      },
      { timeoutMs: 50_000, everyMs: 1000 },
    );
  }

  await lan.shows('partition/p4/state', 'disarmed');
  await clockIs('synced');
  expect(Date.now()).toBeLessThan(due);
  for (const id of ['p1', 'p2', 'p3']) await lan.shows(`partition/${id}/state`, 'armed_away', until(due));
  // What a person armed anew is no longer what the schedule armed.
  for (const verb of ['disarm', 'arm'])
    expect(await lan.ask(verb, { partition: 'p2', code, ...(verb === 'arm' && { mode: 'away' }) })).toMatchObject({
      outcome: 'done',
    });

  await lan.shows('partition/p1/state', 'disarmed', until(due + minute));
  const byTheClock = ({ class: of, source, partition }: SiteEvent) =>
    of === 'arming' && source === 'schedule' && partition !== 'p4';
  const done = () => events().filter(byTheClock);
  const disarmed = await eventually('the disarming on the LAN', () => done().find(({ kind }) => kind === 'disarmed'));
  expect(disarmed).toMatchObject({ partition: 'p1', actor: 'night', data: { clock: 'synced' } });
  expect(Date.parse(disarmed.at ?? '')).toBeGreaterThanOrEqual(due + minute);
  await eventually('the disarming in the cloud', () =>
    cloud.events().find(({ event_id }) => event_id === disarmed.event_id),
  );
  expect(await eventually('why p2 stays', () => events().find(isNotRun('p2')))).toMatchObject({
    data: { schedule: { id: 'morning', reason: 'NOT_ALLOWED' } },
  });

  // The cloud's clock and this one disagree: nobody knows any more whose is right.
  cloud.setClockOffset(120);
  await clockIs('doubtful');
  expect(Date.now()).toBeLessThan(due + 2 * minute);
  const refused = await eventually('why p3 stays', () => events().find(isNotRun(undefined)), {
    timeoutMs: until(due + 2 * minute),
  });
  expect(refused).toMatchObject({ data: { schedule: { id: 'noon', reason: 'clock' } } });
  expect(['p1', 'p2', 'p3'].map((id) => lan.retained(`partition/${id}/state`))).toEqual([
    'disarmed',
    'armed_away',
    'armed_away',
  ]);
  expect(done().filter(({ kind }) => kind === 'disarmed')).toHaveLength(1);
});

const isNotRun =
  (partition: string | undefined) =>
  ({ kind, partition: of }: SiteEvent): boolean =>
    kind === 'schedule_not_run' && of === partition;
