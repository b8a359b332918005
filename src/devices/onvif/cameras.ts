import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import type { DeviceId, Signal } from '#site/model/index.ts';
import type { Camera, CameraStatus, MemoryPort, Snapshot } from './camera.ts';
import { certificatePin } from './certificate-pin.ts';
import { createDevice } from './device.ts';
import type { Outcome } from './normalise.ts';
import type { CameraOptions } from './options.ts';
import { createPictures } from './pictures.ts';
import { createReads } from './reads.ts';
import { type RecentMessages, recentMessages } from './recent.ts';
import { CameraSession, type SessionEvents } from './session.ts';
import { fieldTiming, type Timing } from './timing.ts';
import { ownRows } from './topic-options.ts';

/** All cameras of this bridge. Each lives on its own: what one does or does not do never reaches another. */
export interface Cameras extends Part {
  readonly cameras: readonly Camera[];
  /** See `Camera.snapshot`; also throws `camera_unreachable` for a camera that is not configured. */
  snapshot(camera: DeviceId, signal: AbortSignal): Promise<Snapshot>;
  status(): readonly CameraStatus[];
  /** The last messages of a device with numbers above `after`; undefined for one that is not configured. */
  recent(camera: DeviceId, after: number): RecentMessages | undefined;
  /**
   * Accepts the certificate an https camera shows now instead of the remembered one; returns its fingerprint. Throws
   * `camera_certificate`, and `camera_unreachable` for a camera that is not configured.
   */
  trust(camera: DeviceId): Promise<string>;
}

export interface CamerasOptions {
  readonly cameras: readonly CameraOptions[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly memory: MemoryPort;
  /** The next pull of a camera waits for this. */
  readonly emit: (signals: readonly Signal[]) => Promise<void>;
  readonly timing?: Partial<Timing>;
}

interface Unit extends Camera {
  start(): void;
  stop(): Promise<void>;
  trust(): Promise<string>;
  readonly up: boolean;
  recent(after: number): RecentMessages;
}

export function createCameras(options: CamerasOptions): Cameras {
  const metrics = cameraMetrics(options.metrics, () => units.map(({ id, up }) => ({ id, up })));
  const units = options.cameras.map((camera) => createUnit(camera, options, metrics));
  const byId = new Map(units.map((unit) => [unit.id, unit]));
  return {
    name: 'cameras',
    cameras: units,
    async start(signal) {
      signal.throwIfAborted();
      for (const unit of units) unit.start();
    },
    async stop() {
      await Promise.all(units.map((unit) => unit.stop()));
    },
    health: () => healthOf(units),
    async snapshot(id, signal) {
      const unit = byId.get(id);
      if (unit === undefined) throw new SitewardError('camera_unreachable', `No camera ${id} is configured`);
      return unit.snapshot(signal);
    },
    status: () => units.map((unit) => unit.status()),
    recent: (id, after) => byId.get(id)?.recent(after),
    async trust(id) {
      const unit = byId.get(id);
      if (unit === undefined) throw new SitewardError('camera_unreachable', `No camera ${id} is configured`);
      return unit.trust();
    },
  };
}

function createUnit(camera: CameraOptions, options: CamerasOptions, metrics: CameraMetrics): Unit {
  const { clock, memory, emit } = options;
  const timing = { ...fieldTiming, ...options.timing };
  const log = options.log.child({ camera: camera.id });
  const addresses = camera.addresses ?? 'repaired';
  const { url, username, password, tls_fingerprint: fingerprint, snapshot_url: configured } = camera;
  const pin = certificatePin({ configured: fingerprint, id: camera.id, memory, log });
  const device = createDevice({ url, username, password, pin, clock, authHoldMs: timing.authHoldMs });
  const reads = createReads(device, addresses);
  const pictures = createPictures({ device, reads, addresses, configured, clock, authHoldMs: timing.authHoldMs });
  const recent = recentMessages(() => clock.wall());
  const count = metrics.of(camera.id);
  const events: SessionEvents = {
    ...count,
    outcome(outcome, message, signals) {
      count.outcome(outcome);
      recent.note(outcome, message, signals);
    },
    online: () => void pictures.prepare(),
  };
  const source = { kind: 'camera', id: camera.id } as const;
  const session = new CameraSession({
    source,
    sourceOf: () => source,
    device,
    reads,
    addresses,
    pullMs: camera.pull ?? defaultPullMs,
    timing,
    clock,
    log,
    memory,
    emit,
    events,
    topics: ownRows(camera.topics),
  });
  const lifetime = new AbortController();
  let running: Promise<void> | undefined;

  return {
    id: camera.id,
    get up() {
      return session.up;
    },
    // Not counted here: a picture of a silent hold-up must not show (safety 4); who asks counts the others.
    snapshot: (signal) => pictures.take(signal),
    status: () => ({ id: camera.id, ...session.status(), ...pictures.known() }),
    recent: (after) => recent.after(after),
    async trust() {
      const fingerprint = await pin.trust();
      session.retryNow();
      return fingerprint;
    },
    start() {
      running ??= session.run(lifetime.signal);
    },
    async stop() {
      lifetime.abort(new SitewardError('stopped', 'The cameras are stopped'));
      pictures.close();
      await running;
      device.close();
    },
  };
}

const defaultPullMs = 20_000;

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
  of(camera: DeviceId): Omit<SessionEvents, 'online' | 'outcome'> & { outcome(outcome: Outcome): void };
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
      for (const { id, up } of list()) this.set({ camera: id }, up ? 1 : 0);
    },
  });
  return {
    of: (camera) => ({
      outcome: (outcome) => messages.inc({ camera, outcome }),
      failure: (code) => failures.inc({ camera, code }),
      created: () => subscriptions.inc({ camera }),
    }),
  };
}
