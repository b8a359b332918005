import { SitewardError } from '#errors.ts';
import type { ConfigPort } from './config-handlers.ts';
import type { DangerPort } from './danger.ts';
import type { FindCamerasPort } from './find-cameras.ts';
import type { LogPort } from './log-handlers.ts';

/** A log of one line. */
export function fakeLog(replaced: Partial<LogPort> = {}): LogPort {
  return {
    read: () => ({
      items: [{ seq: 1, time: '2026-11-27T22:03:00.000Z', level: 'info', part: 'daemon', msg: 'ready', more: {} }],
      next_after: 1,
      missed: 0,
    }),
    levels: () => ({ configured: 'info', parts: [], left_s: null }),
    setLevels: () => ({ configured: 'info', parts: [], left_s: null }),
    ...replaced,
  };
}

/** An empty configuration, and a judge who likes everything. */
export function fakeConfig(replaced: Partial<ConfigPort> = {}): ConfigPort {
  return {
    show: async () => ({
      ...{ path: '/etc/siteward/siteward.yaml', last_good: false, warnings: [], config: {} },
      version: 'v1',
      in_force: 'v1',
    }),
    check: async () => ({ ok: true, problems: [], changes: [] }),
    change: async ({ dry_run }) => ({
      version: 'v2',
      sections: ['site'],
      patch: [],
      written: !dry_run,
      taken: !dry_run,
    }),
    ...replaced,
  };
}

/** Does all that is asked of it, and nothing. */
export function fakeDanger(replaced: Partial<DangerPort> = {}): DangerPort {
  return {
    restart: async () => undefined,
    forgetCloud: async () => ({ version: 'v2', sections: ['cloud'], patch: [], written: true, taken: true }),
    factoryReset: async () => undefined,
    ...replaced,
  };
}

/** A network without cameras. */
export function fakeFindCameras(replaced: Partial<FindCamerasPort> = {}): FindCamerasPort {
  return {
    discover: async () => [],
    inspect: async () => {
      throw new SitewardError('camera_unreachable', 'nobody answers there');
    },
    ...replaced,
  };
}
