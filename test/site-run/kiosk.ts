import { setTimeout as pause } from 'node:timers/promises';
import { command, deed, type Life, type Quarter } from './people.ts';

/** The daemon looks at the clock every ten seconds. */
const looksMs = 12_000;

/**
 * The kiosk goes by the clock: each round is a night, from the arming by its schedule to the morning. In a world whose clocks are set
 * forward by hours the schedule of the morning must not disarm (docs/schedules.md): somebody with a code does, after it had its time.
 */
export function kiosk(
  life: Life,
  of: {
    /** Lasts while nothing is wrong with the line and the clock. */
    quietly: (then: () => Promise<void>) => Promise<void>;
    passUntil: (hour: number, minute: number) => Promise<void>;
    /** How long one round takes at least, milliseconds. */
    dayMs: number;
  },
): Quarter {
  const { world, random } = life;
  const partition = 'p6';

  async function night(): Promise<void> {
    const armed = { partition, by: 'schedule', what: 'arm', expects: ['arming armed_away active -'] } as const;
    await of.quietly(async () => {
      await of.passUntil(21, 59);
      await deed(life, armed, () => undefined);
    });
    const hatch = 'alarm burglary_perimeter';
    const isVisited = random.chance(0.5);
    if (isVisited) {
      const about = { partition, by: 'world' } as const;
      const open = () => world.sensors.open('kiosk_hatch');
      await deed(life, { ...about, what: 'trip 61', expects: [`${hatch} active 61`] }, open);
      const close = () => world.sensors.close('kiosk_hatch');
      await deed(life, { ...about, what: 'rest 61', expects: [`${hatch} restored 61`] }, close);
    }
    await of.quietly(async () => {
      await of.passUntil(6, 0);
      await pause(looksMs);
    });
    const disarmed = 'arming disarmed active -';
    const expects = isVisited ? [`${hatch} cancelled 61`, disarmed] : [disarmed];
    await command(life, 'disarm', { partition, expects });
  }

  return {
    partition,
    async round() {
      const nextDay = performance.now() + of.dayMs;
      await night();
      await pause(Math.max(0, nextDay - performance.now()));
    },
  };
}

/** Milliseconds until the clocks of the site show this time again, fifty seconds into the minute. */
export function untilOnSite(now: number, hour: number, minute: number): number {
  const parts = new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone: 'Europe/Berlin', hourCycle: 'h23' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  }).formatToParts(now);
  const part = (type: string) => Number(parts.find((one) => one.type === type)?.value);
  const is = (part('hour') * 60 + part('minute')) * 60 + part('second');
  const wanted = (hour * 60 + minute) * 60 + 50;
  const day = 24 * 3600;
  return ((wanted - is + day) % day) * 1000;
}
