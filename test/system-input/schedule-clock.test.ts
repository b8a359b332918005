import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { openControl } from '../../src/cli/control.ts';
import { faketime, whyNoFaketime } from '../harness/wall-clock.ts';
import { code, type Box as Plain, startBox as startPlain } from './box.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const minuteS = 60;
const hourS = 60 * minuteS;
const dayS = 24 * hourS;

interface Box extends Plain {
  /** When the schedules run today, true time. */
  readonly at: number;
  /** Resolves when the schedules have looked at the clock twice more. */
  ticks(): Promise<void>;
}

/** With a wall clock of its own and two schedules that arm and disarm every day, ten minutes from now. */
async function startBox(): Promise<Box> {
  const due = Date.now() + 10 * minuteS * 1000;
  const at = new Date(due).toISOString().slice(11, 16);
  const yaml = `partitions: [ { id: p1, name: Shop, exit_delay: 0s } ]
schedules:
  - { id: night, days: [daily], at: "${at}", arm: { partitions: [p1] } }
  - { id: morning, days: [daily], at: "${at}", disarm: { schedule: night } }
`;
  const box = await startPlain({ timezone: 'UTC', yaml, clockS: 0 });
  ends.push(() => box.close());
  const ticked = async () => {
    await using control = openControl(box.socket);
    const answer = await control.client.getMetrics({ signal: AbortSignal.timeout(10_000) });
    const text = answer.kind === 'answer' ? Buffer.from(answer.body).toString() : '';
    return Number(/^siteward_inputs_total\{kind="tick"\} (\d+)/m.exec(text)?.[1] ?? 0);
  };
  return {
    ...box,
    at: Math.floor(due / 60_000) * 60_000,
    async ticks() {
      const before = await ticked();
      await eventually('two ticks', async () => ((await ticked()) >= before + 2 ? true : undefined), {
        timeoutMs: 90_000,
        everyMs: 500,
      });
    },
  };
}

describe.skipIf(faketime === undefined)(`schedules under a clock that is set${whyNoFaketime}`, () => {
  it('over an arming, by a year, to 1970 and back: each date is armed once', { timeout: 480_000 }, async () => {
    const box = await startBox();
    const armings = () => box.lan.events.filter(({ event }) => event.kind === 'armed_away').length;
    const failures = () => box.lan.events.map(({ event }) => event).filter(({ kind }) => kind === 'fail_to_arm');
    await box.ticks();
    expect(armings()).toBe(0);

    // Forward over the moment: missed by a minute, and done.
    box.setClock(11 * minuteS);
    await box.lan.shows('partition/p1/state', 'armed_away', 60_000);
    expect(await box.lan.ask('disarm', { partition: 'p1', code, issued_at: isoIn(11 * minuteS) })).toMatchObject({
      outcome: 'done',
    });

    // A year and five hours ahead: the arming of that day lies too far back.
    box.setClock(365 * dayS + 5 * hourS);
    await box.ticks();
    expect([armings(), failures().length]).toEqual([1, 1]);

    // The second day of 1970, five hours after its arming.
    const today = Math.floor(Date.now() / 1000 / dayS) * dayS;
    box.setClock(dayS - today + 5 * hourS);
    await box.ticks();
    // The clock as it was when the arming was done.
    box.setClock(11 * minuteS);
    await box.ticks();
    expect([armings(), box.lan.retained('partition/p1/state')]).toEqual([1, 'disarmed']);
    // The moment of the disarm has passed twice, each time unseen: that is told once.
    const missed = box.lan.events.flatMap(({ event }) =>
      event.kind === 'schedule_not_run' ? [JSON.stringify(event.data)] : [],
    );
    expect(missed.length).toBeGreaterThan(0);
    expect(new Set(missed).size).toBe(missed.length);

    // The next day goes on as if nothing had been.
    box.setClock(dayS + 11 * minuteS);
    await box.lan.shows('partition/p1/state', 'armed_away', 60_000);
    await eventually('the second arming is told', () => (armings() === 2 ? true : undefined));

    // Yet another day ahead for some ticks: the arming of that day comes, and again when its time really comes.
    const disarm = async (aheadS: number) => {
      const given = { partition: 'p1', code, issued_at: isoIn(aheadS) };
      expect(await box.lan.ask('disarm', given)).toMatchObject({ outcome: 'done' });
    };
    await disarm(dayS + 11 * minuteS);
    box.setClock(2 * dayS + 11 * minuteS);
    await box.lan.shows('partition/p1/state', 'armed_away', 60_000);
    await disarm(2 * dayS + 11 * minuteS);
    box.setClock(dayS + 11 * minuteS);
    await box.ticks();
    expect([armings(), box.lan.retained('partition/p1/state')]).toEqual([3, 'disarmed']);
    box.setClock(2 * dayS + (box.at - Date.now()) / 1000 - 20);
    await box.lan.shows('partition/p1/state', 'armed_away', 60_000);
    await eventually('the arming in its own time is told', () => (armings() === 4 ? true : undefined));
  });
});

const isoIn = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
