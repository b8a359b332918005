import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '#sandbox/demo/processes.ts';
import type { Random } from '../proof/random.ts';
import type { Deed, Side } from './history.ts';
import type { Asked, Sides, Verb } from './sides.ts';
import type { Witness } from './witness.ts';
import type { World } from './world.ts';
import { yardCameras, yardChannels } from './world-yaml.ts';

/** The people and things of one partition, and what they note of what they did. */
export interface Quarter {
  readonly partition: string;
  /** One round of life: it leaves the partition disarmed and everything closed. */
  round(): Promise<void>;
}

/** What a detector can do. Each may be said again without a second effect. */
interface Detector {
  readonly zone: string;
  /** Kind of its alarm. */
  readonly kind: string;
  /** See `Deed`. */
  readonly saysAnew?: boolean;
  trip(): Promise<unknown> | unknown;
  rest(): Promise<unknown> | unknown;
}

export interface Life {
  readonly world: World;
  readonly sides: Sides;
  readonly witness: Witness;
  readonly random: Random;
  /** Writes a deed down when it is over. */
  note(deed: Deed): void;
  /** Somebody is asked whether an alarm was one, and answers. */
  verify(): Promise<void>;
}

const sidesWithCode: readonly Side[] = ['keypad', 'tablet', 'home assistant', 'http'];
const armed = 'arming armed_away active -';
const disarmed = 'arming disarmed active -';
const alarm = ({ kind, zone }: Detector, status = 'active') => `alarm ${kind} ${status} ${zone}`;

/** Does something, sees to it that the site has shown it, and writes it down. `again` has no second effect. */
export async function deed(
  { witness, note }: Life,
  of: Pick<Deed, 'partition' | 'what' | 'by' | 'code' | 'expects' | 'anywhere' | 'answers' | 'saysAnew'>,
  act: () => Promise<unknown> | unknown,
  again = act,
): Promise<void> {
  const from = Date.now();
  try {
    await act();
    if (of.expects.length > 0) await witness.shown(of.partition, of.expects, again);
  } finally {
    note({ ...of, from, to: Date.now() });
  }
}

/** A command of somebody with the right code. Refused while something is in the way (`NOT_READY`), it is given again. */
export function command(
  life: Life,
  verb: Verb,
  of: { partition: string; expects: readonly string[]; anywhere?: readonly string[]; by?: Side } & Asked,
  again: () => void = () => undefined,
): Promise<void> {
  const { partition, expects, anywhere = [], by, ...body } = of;
  const side = by ?? life.random.pick(sidesWithCode);
  const what = `${verb}${body.zone === undefined ? '' : ` ${String(body.zone)}`}`;
  const target = verb === 'bypass' ? {} : { partition };
  const answers: string[] = [];
  let notBefore = 0;
  return deed(life, { partition, what, by: side, code: 'right', expects, anywhere, answers }, async () => {
    if (answers.length > 0) again();
    // What is done is not asked for again at once: too many commands lock a side out.
    if (performance.now() < notBefore) return;
    notBefore = performance.now() + (/^(?:done|already)$/.test(answers.at(-1) ?? '') ? 15_000 : 0);
    answers.push(await life.sides.ask(side, verb, { ...target, ...body }).catch(String));
  });
}

/** Three wrong codes within a minute lock that side out: they come further apart than half of it, in one partition only. */
const guessEveryMs = 31_000;

/** Somebody tries a code. */
async function guess(life: Life, partition: string): Promise<void> {
  const answers: string[] = [];
  await deed(life, { partition, what: 'disarm', by: 'keypad', code: 'wrong', expects: [], answers }, async () => {
    answers.push(await life.sides.askWrongly(partition).catch(String));
  });
}

const rest = ({ random }: Life) => pause(random.between(50, 700));

async function armedBy(life: Life, partition: string, again?: () => void): Promise<void> {
  await command(life, 'arm', { partition, mode: 'away', expects: [armed] }, again);
  const isArmed = async () => ((await life.witness.state(partition)) === 'armed_away' ? true : undefined);
  await eventually(`${partition} armed`, isArmed, { timeoutMs: 120_000 });
}

/** A partition that siteward decides. */
export function ownQuarter(
  life: Life,
  of: {
    partition: string;
    watched: readonly Detector[];
    /** Tells at any time. */
    always?: Detector;
    door?: Detector;
    canCall?: boolean;
  },
): Quarter {
  const { random, sides } = life;
  const { partition } = of;
  let leftOut: Detector | undefined;
  let guessedAt = Number.NEGATIVE_INFINITY;

  async function trip(detector: Detector, before: readonly string[] = []): Promise<void> {
    const { zone, saysAnew = false } = detector;
    const about = { partition, by: 'world', saysAnew } as const;
    await deed(life, { ...about, what: `trip ${zone}`, expects: [...before, alarm(detector)] }, detector.trip);
    await rest(life);
    await deed(life, { ...about, what: `rest ${zone}`, expects: [alarm(detector, 'restored')] }, detector.rest);
  }

  return {
    partition,
    async round() {
      leftOut = of.watched.length > 1 && random.chance(0.3) ? random.pick(of.watched) : undefined;
      if (leftOut !== undefined) {
        const expects = [`bypass zone_bypassed active ${leftOut.zone}`];
        await command(life, 'bypass', { partition, zone: leftOut.zone, on: true, by: 'keypad', expects });
      }
      if (of.always !== undefined && random.chance(0.3)) await trip(of.always);
      await armedBy(life, partition);
      await rest(life);
      let first: Detector | undefined;
      for (let left = random.whole(0, 4); left > 0; left -= 1) {
        const detector = random.pick(of.watched);
        if (detector === leftOut) continue;
        await trip(detector);
        first ??= detector;
        await rest(life);
      }
      if (of.door !== undefined && first === undefined && random.chance(0.5)) {
        await trip(of.door, [`system entry_delay_started active ${of.door.zone}`]);
        first = of.door;
      }
      if (of.canCall === true && random.chance(0.2) && performance.now() - guessedAt > guessEveryMs) {
        guessedAt = performance.now();
        await guess(life, partition);
      }
      if (of.canCall === true && first !== undefined && random.chance(0.5)) await life.verify();
      if (of.always !== undefined && random.chance(0.2)) await trip(of.always);
      if (of.canCall === true && random.chance(0.2)) {
        const expects = ['alarm panic active -'];
        await command(life, 'panic', { partition, kind: 'audible', by: random.pick(['keypad', 'tablet']), expects });
      }
      await command(life, 'disarm', { partition, expects: [...cancelled(first), disarmed] });
      if (random.chance(0.1)) await sides.birth().catch(() => undefined);
      await rest(life);
    },
  };
}

const cancelled = (first: Detector | undefined): string[] => (first === undefined ? [] : [alarm(first, 'cancelled')]);

/** A partition that its panel decides. */
export function panelQuarter(
  life: Life,
  of: {
    partition: string;
    key: string;
    zones: readonly Detector[];
    panel: Pick<World['warehouse'], 'arm' | 'disarm' | 'tellAll'>;
  },
): Quarter {
  const { random } = life;
  const { partition, key, panel } = of;
  // A word that waited in the broker disarms nothing (docs/panels.md): the panel has to say it while siteward hears it.
  const again = () => panel.tellAll();
  return {
    partition,
    async round() {
      const about = { partition, by: 'panel' } as const;
      if (random.chance(0.4)) {
        const target = random.pick(['armed_away', 'armed_home'] as const);
        const expects = [`arming ${target} active -`];
        await deed(life, { ...about, what: 'arm', expects }, () => panel.arm(key, target), again);
      } else await armedBy(life, partition, again);
      await rest(life);
      let first: Detector | undefined;
      if (random.chance(0.7)) {
        first = random.pick(of.zones);
        const { zone, saysAnew = false } = first;
        const about = { partition, by: 'world', what: `trip ${zone}`, saysAnew } as const;
        await deed(life, { ...about, expects: [alarm(first)] }, first.trip, again);
        await rest(life);
        await first.rest();
      }
      // A panel's own people and a command within two seconds have met.
      await pause(2200);
      const expects = [...cancelled(first), disarmed];
      const anywhere = first === undefined ? [] : [alarm(first, 'restored')];
      const byPanel = { ...about, what: 'disarm', expects, anywhere };
      if (random.chance(0.4)) await deed(life, byPanel, () => panel.disarm(key), again);
      else await command(life, 'disarm', { partition, expects, anywhere }, again);
      await pause(2200);
    },
  };
}

const perimeter = (zone: string, trip: () => unknown, back: () => unknown, saysAnew = false): Detector => ({
  ...{ zone, kind: 'burglary_perimeter', saysAnew },
  trip,
  rest: back,
});

/** Everybody on the site; the kiosk, which goes by the clock, is elsewhere. */
export function everybody(life: Life): readonly Quarter[] {
  const { world } = life;
  const contact = (zone: string, name: string, kind = 'burglary_perimeter'): Detector => ({
    ...{ zone, kind },
    trip: () => world.sensors.open(name),
    rest: () => world.sensors.close(name),
  });
  const seen = Object.entries(yardCameras).map(([zone, id]) => {
    const person = (on: boolean) => world.cameras.get(id)?.person(on);
    // Of an alarm that ends while nobody hears its camera the end is told a minute later (docs/alarms.md).
    const leave = async () => {
      await life.witness.hears(id);
      person(false);
    };
    return perimeter(zone, () => person(true), leave, true);
  });
  const channels = Object.entries(yardChannels).map(([zone, number]) => {
    const person = (on: boolean) => () => world.channel(number, on);
    return perimeter(zone, person(true), person(false), true);
  });
  return [
    ownQuarter(life, {
      ...{ partition: 'p1', canCall: true, watched: [contact('12', 'shop_window')] },
      door: contact('11', 'shop_door', 'burglary_entry_exit'),
      always: contact('13', 'shop_smoke', 'fire'),
    }),
    ownQuarter(life, {
      ...{ partition: 'p2', watched: [contact('21', 'office_door'), contact('22', 'office_window')] },
      always: contact('23', 'office_water', 'water'),
    }),
    ownQuarter(life, { partition: 'p3', watched: [...seen, ...channels] }),
    panelQuarter(life, {
      ...{ partition: 'p4', key: 'Warehouse', panel: world.warehouse },
      zones: ['Gate', 'Ramp'].map((name, at) =>
        perimeter(
          String(41 + at),
          () => world.warehouse.open(name),
          () => world.warehouse.close(name),
        ),
      ),
    }),
    panelQuarter(life, {
      ...{ partition: 'p5', key: 'store', panel: world.store },
      zones: ['51', '52'].map((zone) =>
        perimeter(
          zone,
          () => world.store.open(zone),
          () => world.store.close(zone),
          true,
        ),
      ),
    }),
  ];
}
