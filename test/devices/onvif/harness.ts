import { type Logger, pino } from 'pino';
import { Registry } from 'prom-client';
import {
  type CameraOptions,
  type Cameras,
  createCameras,
  type MemoryPort,
  type NvrOptions,
  type Timing,
} from '#devices/onvif/index.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import type { Signal } from '#site/model/index.ts';
import { until } from '../../harness/until.ts';
import { type CameraModel, cameraModel, type ScriptedCamera, startCamera } from './scripted-camera.ts';

/** Waits of a session in tests: small, but all there. */
export const quick: Partial<Timing> = {
  retryBaseMs: 20,
  retryCapMs: 200,
  goodAfterMs: 10_000,
  authHoldMs: 60_000,
  createsPerWindow: 1000,
  emptyPullMs: 10,
  fullPullMs: 1,
};

export interface Harness {
  readonly cameras: Cameras;
  readonly signals: Signal[];
  readonly memory: Map<string, string>;
  readonly metrics: Registry;
}

export interface HarnessOptions {
  nvrs?: readonly NvrOptions[];
  readonly timing?: Partial<Timing>;
  readonly log?: Logger;
  readonly memory?: Map<string, string>;
  /** In place of one upon `memory`. */
  readonly port?: MemoryPort;
  readonly emit?: (signals: readonly Signal[]) => Promise<void>;
  readonly clock?: Clock;
}

export function memoryPort(map: Map<string, string>): MemoryPort {
  return {
    get: async (key) => map.get(key),
    set: async (key, value) => void map.set(key, value),
    delete: async (key) => void map.delete(key),
    keys: async () => [...map.keys()],
  };
}

export function harness(cameras: readonly CameraOptions[], options: HarnessOptions = {}): Harness {
  const signals: Signal[] = [];
  const memory = options.memory ?? new Map<string, string>();
  const metrics = new Registry();
  return {
    signals,
    memory,
    metrics,
    cameras: createCameras({
      cameras,
      nvrs: options.nvrs ?? [],
      clock: options.clock ?? systemClock(),
      log: options.log ?? pino({ level: 'silent' }),
      metrics,
      memory: options.port ?? memoryPort(memory),
      emit: options.emit ?? (async (more) => void signals.push(...more)),
      timing: { ...quick, ...options.timing },
    }),
  };
}

export { until };

export const detections = (signals: readonly Signal[]) => signals.filter((signal) => signal.kind === 'detection');
export const links = (signals: readonly Signal[]) =>
  signals.filter((signal) => signal.kind === 'link').map((signal) => signal.up);

/** A file's cameras and sessions, all ended after each test. */
export function rig(afterEach: (work: () => Promise<void>) => void) {
  const opened: { stop(): Promise<void> | void }[] = [];
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.stop();
  });
  return {
    opened,
    async camera(change: Partial<CameraModel> = {}, port = 0) {
      const model = cameraModel(change);
      const server = await startCamera(model.script, port);
      opened.push({ stop: () => server.close() });
      return { model, server };
    },
    async run(...args: Parameters<typeof harness>): Promise<Harness> {
      const made = harness(...args);
      await made.cameras.start(new AbortController().signal);
      opened.push(made.cameras);
      return made;
    },
    /** One camera named yard, and a session that watches it. */
    async yard(change: Partial<CameraModel> = {}, more: Partial<CameraOptions> = {}, options: HarnessOptions = {}) {
      const { model, server } = await this.camera(change);
      const made = await this.run([{ id: 'yard', url: server.url, ...more }], options);
      const { signals } = made;
      return {
        ...{ model, server, made, signals },
        status: () => made.cameras.status()[0],
        state: () => made.cameras.status()[0]?.state,
        linked: () => until(() => links(signals).at(-1) === true, 'the link'),
        counted: (metric: string) => counted(made, metric),
      };
    },
  };
}

/** The sum of a counter over its labels; `name{label="value"}` picks. */
async function counted(made: Harness, metric: string): Promise<number> {
  const text = await made.metrics.metrics();
  const lines = text.split('\n').filter((line) => line.includes(metric) && !line.startsWith('#'));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** Time enough for anything that would come at once: the camera, or another one, was asked for events ten times. */
export async function morePulls(server: ScriptedCamera) {
  const from = server.count('PullMessages');
  await until(() => server.count('PullMessages') >= from + 10, 'ten more pulls');
}
