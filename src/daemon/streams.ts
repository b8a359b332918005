import type { Registry } from 'prom-client';
import { type Settings, views } from '#config/index.ts';
import {
  type ClipSource,
  createStreams,
  type FrameSource,
  type PictureSource,
  type Streams,
} from '#devices/media/index.ts';
import { mayKeepPast } from '#site/core/index.ts';
import type { DeviceId } from '#site/model/index.ts';
import { type House, running, type Surroundings } from './house.ts';

export const streamWants = (settings: Settings): unknown => [
  settings.media.processes,
  settings.media.ring_budget,
  [...preRolls(settings)],
];

/** Pictures and clips of the cameras. */
export function siteStreams(settings: Settings, metrics: Registry, { house, clock, log }: Surroundings): Streams {
  const cameras = () => running(house, 'cameras');
  return createStreams({
    preRollMs: preRolls(settings),
    processes: settings.media.processes,
    budgetBytes: settings.media.ring_budget,
    mayKeep() {
      const view = house.controller?.view();
      const may = view?.plan.cameras.filter((camera) => mayKeepPast(camera, view.partitions)) ?? [];
      return may.map(({ id }) => id);
    },
    streams: { read: async (...of) => cameras().readStream(...of) },
    pictures: { snapshot: async (...of) => cameras().snapshot(...of) },
    clock,
    log: log('streams'),
    metrics,
  });
}

/** Whichever part runs when they are asked for. */
export function streamsOf(house: House): PictureSource & ClipSource & FrameSource {
  const streams = () => running(house, 'streams');
  return {
    snapshot: async (...of) => streams().snapshot(...of),
    clip: async (...of) => streams().clip(...of),
    frame: async (...of) => streams().frame(...of),
  };
}

const preRolls = (settings: Settings): ReadonlyMap<DeviceId, number> =>
  new Map(views(settings).flatMap(({ id, pre_roll }) => (pre_roll > 0 ? [[id, pre_roll] as const] : [])));
