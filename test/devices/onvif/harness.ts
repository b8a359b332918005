import { pino } from 'pino';
import { Registry } from 'prom-client';
import { type CameraOptions, type Cameras, createCameras, type MemoryPort, type Timing } from '#devices/onvif/index.ts';
import { systemClock } from '#lib/clock.ts';
import type { Signal } from '#site/model/index.ts';

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

export function memoryPort(map: Map<string, string>): MemoryPort {
  return {
    get: async (key) => map.get(key),
    set: async (key, value) => void map.set(key, value),
    delete: async (key) => void map.delete(key),
  };
}

export function harness(
  cameras: readonly CameraOptions[],
  options: {
    timing?: Partial<Timing>;
    memory?: Map<string, string>;
    emit?: (signals: readonly Signal[]) => Promise<void>;
  } = {},
): Harness {
  const signals: Signal[] = [];
  const memory = options.memory ?? new Map<string, string>();
  const metrics = new Registry();
  return {
    signals,
    memory,
    metrics,
    cameras: createCameras({
      cameras,
      clock: systemClock(),
      log: pino({ level: 'silent' }),
      metrics,
      memory: memoryPort(memory),
      emit: options.emit ?? (async (more) => void signals.push(...more)),
      timing: { ...quick, ...options.timing },
    }),
  };
}

/** Resolves when the condition holds; throws after 15 s with what was waited for. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const end = Date.now() + 15_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const detections = (signals: readonly Signal[]) => signals.filter((signal) => signal.kind === 'detection');
export const links = (signals: readonly Signal[]) =>
  signals.filter((signal) => signal.kind === 'link').map((signal) => signal.up);
