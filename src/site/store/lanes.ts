import { type Lane, lanes } from '#site/model/index.ts';

/** `site.db` holds what must survive a flood; `bulk.db` may be lost as a whole without touching an alarm. */
export const fileNames = ['site', 'bulk'] as const;
export type FileName = (typeof fileNames)[number];

export const fileOf = (lane: Lane): FileName => (lane === 'activity' ? 'bulk' : 'site');

/** In the files a lane is its place in the list. */
export const laneIndex = (lane: Lane): number => lanes.indexOf(lane);
export const laneAt = (index: number): Lane => lanes[index] ?? 'activity';

/** The lane by which a file counts an event of which nothing more is known: the one of most worth. */
export const firstLaneOf = (file: FileName): number => lanes.findIndex((lane) => fileOf(lane) === file);

export function lanePick<T>(pick: (lane: number) => T): Readonly<Record<Lane, T>> {
  const of = (lane: Lane) => pick(laneIndex(lane));
  return { alarm: of('alarm'), arming: of('arming'), trouble: of('trouble'), activity: of('activity') };
}
