import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { describe, SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { settingsKey } from '#lib/settings-key.ts';
import type { DeviceId, Signal } from '#site/model/index.ts';
import type { Ask, Camera, CameraStatus, Certificates, MemoryPort, Snapshot } from './camera.ts';
import type { Counts, Surroundings } from './engine.ts';
import { forgetRemoved } from './forget-removed.ts';
import { createNvrUnit } from './nvr.ts';
import type { CameraOptions, NvrOptions } from './options.ts';
import type { RecentMessages } from './recent.ts';
import { fieldTiming, type Timing } from './timing.ts';
import { createCameraUnit, type Unit } from './unit.ts';

/** All cameras and recorders of this bridge. Each lives on its own: what one does or does not do never reaches another. */
export interface Cameras extends Part {
  /**
   * Takes other settings. A device whose own did not change goes on undisturbed; what is asked of one that is just swapped is
   * rejected with `stopped`.
   */
  reconfigure(next: Devices): Promise<void>;
  /** Cameras, and the channels of recorders. */
  readonly cameras: readonly Camera[];
  /** See `Camera.snapshot`; also throws `camera_unreachable` for a camera that is not configured. */
  snapshot(camera: DeviceId, signal: AbortSignal, ask?: Ask): Promise<Snapshot>;
  /** See `Camera.readStream`; also throws `camera_unreachable` for a camera that is not configured. */
  readStream<T>(camera: DeviceId, signal: AbortSignal, work: (url: string) => Promise<T>, ask?: Ask): Promise<T>;
  /** Of each device, a recorder with its channels. */
  status(): readonly CameraStatus[];
  /** The last messages of a device with numbers above `after`; undefined for one that is not configured. */
  recent(camera: DeviceId, after: number): RecentMessages | undefined;
  /** Throws `camera_unreachable` for a camera that is not configured, as `trust`. */
  certificate(camera: DeviceId): Promise<Certificates>;
  /** Accepts the certificate of this fingerprint, which an https camera shows now instead of the remembered one. Throws `camera_certificate`. */
  trust(camera: DeviceId, fingerprint: string): Promise<void>;
  /** Accepts the device of this name, which answers now in place of another. Throws `camera_refused`. */
  trustDevice(camera: DeviceId, name: string): Promise<void>;
}

export interface Devices {
  readonly cameras: readonly CameraOptions[];
  readonly nvrs?: readonly NvrOptions[];
}

export interface CamerasOptions extends Devices {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly memory: MemoryPort;
  /** The next pull of a camera waits for this. */
  readonly emit: (signals: readonly Signal[]) => Promise<void>;
  readonly timing?: Partial<Timing>;
}

export function createCameras(options: CamerasOptions): Cameras {
  const metrics = cameraMetrics(options.metrics, () => units().map(({ id, up }) => ({ id, up })));
  const around = { ...options, timing: { ...fieldTiming, ...options.timing } };
  const lifetime = new AbortController();
  let held = take(options);
  let isStarted = false;
  let isSwapping = false;

  const units = (): readonly Unit[] => held.map(({ unit }) => unit);
  const cameras = (): readonly Camera[] => units().flatMap((unit) => unit.cameras);

  /** In their order; those of `kept` with the same settings stay. */
  function take(devices: Devices, kept: readonly Held[] = []): readonly Held[] {
    return entriesOf(devices).map(
      ({ key, make }) => kept.find((one) => one.key === key) ?? { key, unit: make(around, metrics.of) },
    );
  }

  /** Beside the cameras, and again at the next start where the store does not answer. */
  function forget({ cameras, nvrs = [] }: Devices): void {
    void forgetRemoved(options.memory, { cameras, nvrs }, lifetime.signal).catch((error) =>
      options.log.debug({ reason: describe(error) }, 'what removed cameras left is not forgotten yet'),
    );
  }

  function found<T>(what: T | undefined, id: DeviceId): T {
    if (what !== undefined) return what;
    if (isSwapping) throw new SitewardError('stopped', 'the cameras are being changed; try again in a moment');
    throw new SitewardError('camera_unreachable', `No camera ${id} is configured`);
  }

  const unitNamed = (id: DeviceId) => units().find((unit) => unit.id === id);
  const unitOf = (id: DeviceId): Unit => found(unitNamed(id), id);
  const cameraOf = (id: DeviceId): Camera =>
    found(
      cameras().find((one) => one.id === id),
      id,
    );

  return {
    name: 'cameras',
    get cameras() {
      return cameras();
    },
    async start(signal) {
      signal.throwIfAborted();
      isStarted = true;
      for (const unit of units()) unit.start();
      forget(options);
    },
    async reconfigure(next) {
      const keys = new Set(entriesOf(next).map(({ key }) => key));
      const gone = held.filter(({ key }) => !keys.has(key));
      const kept = held.filter(({ key }) => keys.has(key));
      isSwapping = true;
      try {
        held = kept;
        // Before another takes its place: most devices allow few at a time.
        await Promise.all(gone.map(({ unit }) => unit.stop()));
        await metrics.forget(gone.map(({ unit }) => unit.id));
        held = take(next, kept);
      } finally {
        isSwapping = false;
      }
      if (!isStarted || lifetime.signal.aborted) return;
      for (const one of held) if (!kept.includes(one)) one.unit.start();
      forget(next);
    },
    async stop() {
      lifetime.abort();
      await Promise.all(units().map((unit) => unit.stop()));
    },
    health: () => healthOf(units()),
    snapshot: async (id, ...of) => cameraOf(id).snapshot(...of),
    readStream: async (id, ...of) => cameraOf(id).readStream(...of),
    status: () => units().map((unit) => unit.status()),
    recent: (id, after) => unitNamed(id)?.recent(after),
    certificate: async (id) => unitOf(id).certificate(),
    trust: async (id, fingerprint) => unitOf(id).trust(fingerprint),
    trustDevice: async (id, name) => unitOf(id).trustDevice(name),
  };
}

interface Held {
  /** Of all its settings. */
  readonly key: string;
  readonly unit: Unit;
}

interface Entry {
  readonly key: string;
  make(around: Surroundings, counts: CameraMetrics['of']): Unit;
}

const entriesOf = ({ cameras, nvrs = [] }: Devices): readonly Entry[] => [
  ...cameras.map(
    (camera): Entry => ({
      key: settingsKey(['camera', camera]),
      make: (around, counts) => createCameraUnit(camera, around, counts(camera.id)),
    }),
  ),
  ...nvrs.map(
    (nvr): Entry => ({
      key: settingsKey(['nvr', nvr]),
      make: (around, counts) => createNvrUnit(nvr, around, counts(nvr.id)),
    }),
  ),
];

function healthOf(units: readonly Unit[]): Health {
  const away = units.filter((unit) => !unit.up);
  const facts = { cameras: units.length, up: units.length - away.length };
  if (away.length === 0) return ok(facts);
  const reasons = away.slice(0, 3).map((unit) => `${unit.id}: ${unit.status().reason ?? 'not connected yet'}`);
  const more = away.length > 3 ? ` and ${away.length - 3} more` : '';
  const state = away.length === units.length ? 'down' : 'degraded';
  return { state, reason: `No events from ${reasons.join('; ')}${more}`, facts };
}

interface CameraMetrics {
  of(camera: DeviceId): Counts;
  /** What was counted of devices that are gone. */
  forget(ids: readonly DeviceId[]): Promise<void>;
}

function cameraMetrics(registry: Registry, list: () => readonly { id: DeviceId; up: boolean }[]): CameraMetrics {
  const registers = [registry];
  const messages = new Counter({
    name: 'siteward_camera_messages_total',
    help: 'ONVIF event messages by what became of them',
    labelNames: ['camera', 'outcome'] as const,
    registers,
  });
  const failures = new Counter({
    name: 'siteward_camera_failures_total',
    help: 'Failed steps of camera sessions by error code',
    labelNames: ['camera', 'code'] as const,
    registers,
  });
  const subscriptions = new Counter({
    name: 'siteward_camera_subscriptions_total',
    help: 'Pull points asked for',
    labelNames: ['camera'] as const,
    registers,
  });
  new Gauge({
    name: 'siteward_camera_up',
    help: '1 while events of the camera arrive',
    labelNames: ['camera'] as const,
    registers,
    collect() {
      this.reset();
      for (const { id, up } of list()) this.set({ camera: id }, up ? 1 : 0);
    },
  });
  return {
    of: (camera) => ({
      outcome: (outcome) => messages.inc({ camera, outcome }),
      failure: (code) => failures.inc({ camera, code }),
      created: () => subscriptions.inc({ camera }),
    }),
    async forget(ids) {
      for (const counter of [messages, failures, subscriptions] as readonly Counter[]) {
        const { values } = await counter.get();
        for (const { labels } of values) if (ids.some((id) => id === labels.camera)) counter.remove(labels);
      }
    },
  };
}
