import { expect, it } from 'vitest';
import { siteView } from '#site/core/index.ts';
import { mayKeepPast, mediaPlan, noPicture, onePicture } from '#site/core/media.ts';
import type { ArmingWord, CameraPlan, Signal } from '#site/model/index.ts';
import { camera, house, panelHouse, stamp, world, zone } from './world.ts';

const of = (cameras: readonly CameraPlan[], media: Partial<ReturnType<typeof house>['media']> = {}) =>
  house({ cameras, media: { snapshots: 2, intervalMs: 1000, maxPerEvent: 8, ...media } });
const window = zone('2', 'perimeter', { cameras: ['yard', 'hall'] });
/** `kind camera offset`, in their order. */
const planned = (...of: Parameters<typeof mediaPlan>): string[] => {
  const items = mediaPlan(...of);
  expect(items.map(({ index }) => index)).toEqual(items.map((_, at) => at));
  return items.map(({ kind, camera, offsetMs }) => `${kind} ${camera} ${offsetMs}`);
};

const yard = (more: Partial<CameraPlan> = {}) => camera('yard', more);
const hall = (more: Partial<CameraPlan> = {}) => camera('hall', more);

it.each<[string, Parameters<typeof of>, string[]]>([
  ['pictures only, unless a camera has clips', [[yard()]], ['snapshot yard 0', 'snapshot yard 1000']],
  [
    'a short clip after the pictures',
    [[yard({ clips: ['short'] })]],
    ['snapshot yard 0', 'snapshot yard 1000', 'short_mp4 yard 0'],
  ],
  [
    'each clip of the first camera that has it, whatever the order it is written in',
    [[yard({ clips: ['event'] }), hall({ clips: ['event', 'short'] })], { snapshots: 1 }],
    ['snapshot yard 0', 'snapshot hall 0', 'short_mp4 hall 0', 'event_mp4 yard 0'],
  ],
  [
    'with a ring: clips that begin before, and a last picture of the moment before',
    [[yard({ clips: ['short', 'event'], preRollMs: 5000 })], { snapshots: 3 }],
    ['snapshot yard 0', 'snapshot yard 1000', 'snapshot yard -1000', 'short_mp4 yard -5000', 'event_mp4 yard -5000'],
  ],
  ['no picture older than the ring', [[yard({ preRollMs: 400 })]], ['snapshot yard 0', 'snapshot yard -400']],
  [
    'the only picture is of the alarm itself, with a ring too',
    [[yard({ preRollMs: 5000 })], { snapshots: 1 }],
    ['snapshot yard 0'],
  ],
  [
    'a cap that cuts pictures and no clips; of two rings only the one with a second picture shows before',
    [[yard({ clips: ['event'], preRollMs: 2000 }), hall({ preRollMs: 2000 })], { maxPerEvent: 3 }],
    ['snapshot yard 0', 'snapshot hall 0', 'snapshot yard -1000', 'event_mp4 yard -2000'],
  ],
  ['clips alone, where no pictures are wanted', [[yard({ clips: ['short'] })], { snapshots: 0 }], ['short_mp4 yard 0']],
])('an alarm announces %s', (_what, plan, wanted) => {
  expect(planned(of(...plan), { zone: window }, 'alarm')).toEqual(wanted);
});

it('no clip leaves a camera whose pictures may not (safety 11)', () => {
  const cameras = [yard({ clips: ['short'], pictures: 'alarm' }), hall({ clips: ['short'], pictures: 'always' })];
  expect(planned(of(cameras, { snapshots: 0 }), { zone: window }, 'other')).toEqual(['short_mp4 hall 0']);
});

it('what is no alarm yet announces one picture of each camera, no clip and nothing of before', () => {
  const plan = of([yard({ clips: ['short', 'event'], preRollMs: 5000 }), hall()]);
  expect(onePicture(plan, { zone: window }, 'alarm').map(({ kind, offsetMs }) => [kind, offsetMs])).toEqual([
    ['snapshot', 0],
    ['snapshot', 0],
  ]);
});

it.each([
  ['disarmed', 'alarm', false],
  ['disarmed', 'armed', false],
  ['disarmed', 'always', true],
  ['arming', 'alarm', true],
  ['armed_away', 'armed', true],
  ['triggered', 'alarm', true],
  ['unknown', 'alarm', true],
] as const)(
  'in a partition that is %s a camera with pictures: %s keeps its last seconds: %s',
  (state, pictures, may) => {
    const inside = yard({ pictures, partitions: ['p1'] });
    const elsewhere = { id: 'p2', state: 'armed_away', stale: false } as const;
    expect(mayKeepPast(inside, [{ id: 'p1', state, stale: false }, elsewhere])).toBe(may);
    // Unknown or stale never counts as disarmed (safety 2).
    expect(mayKeepPast(inside, [{ id: 'p1', state, stale: true }])).toBe(true);
  },
);

/** Zone 2 is a window, 12 a silent button. */
const source = { kind: 'panel', id: 'main' } as const;
const link = (up: boolean): Signal => ({ kind: 'link', source, layer: 'device', up });
const isIn = (state: ArmingWord): Signal => ({ kind: 'partition', source, partition: 'p1', state, replay: false });
const alarmOf = (number: string): Signal => ({ kind: 'zone', source, zone: number, alarm: true, replay: false });

it.each<[string, Signal[], CameraPlan['pictures'][]]>([
  ['disarmed', [isIn('disarmed')], ['always']],
  ['armed', [isIn('armed_night')], ['armed', 'always']],
  ['armed, but its panel is not heard', [isIn('armed_night'), link(false)], ['always']],
  ['not known', [], ['always']],
  ['an alarm', [isIn('armed_away'), alarmOf('2'), isIn('triggered')], ['alarm', 'armed', 'always']],
  ['a silent call, which a picture would show', [isIn('disarmed'), alarmOf('12')], ['always']],
])('safety 4 and 11: %s allows a picture asked for by hand with %j', (_, story, settings) => {
  const site = world(panelHouse());
  for (const signal of [link(true), ...story]) {
    site.pass(1000);
    site.signal(signal);
  }
  const view = siteView(site.plan, site.state, stamp(site.ms), { epoch: 1, seq: 1 });
  const all = (['alarm', 'armed', 'always'] as const).filter(
    (pictures) => noPicture(view, yard({ pictures })) === undefined,
  );
  expect(all).toEqual(settings);
});

it('safety 4: an alarm of a silent button allows none, wherever it stands', () => {
  const site = world(panelHouse());
  const view = siteView(site.plan, site.state, stamp(0), { epoch: 1, seq: 1 });
  const inAlarm = (number: string) => ({
    ...view,
    partitions: view.partitions.map((one) => ({ ...one, alarm: { kind: 'panic', zone: number } })),
  });
  expect(noPicture(inAlarm('11'), yard())).toBeUndefined();
  expect(noPicture(inAlarm('12'), yard())).toContain('only with an alarm');
});
