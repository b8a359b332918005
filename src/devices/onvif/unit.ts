import type { DeviceId, DeviceRef } from '#site/model/index.ts';
import type { Camera, CameraStatus, Certificates } from './camera.ts';
import { type Counts, createEngine, type Engine, type Surroundings } from './engine.ts';
import type { CameraOptions } from './options.ts';
import { cameraPlace } from './picture-places.ts';
import { placeMemory } from './place-memory.ts';
import type { RecentMessages } from './recent.ts';
import { cameraSense } from './sense.ts';
import { createView, type View } from './view.ts';

/** One device with a session of its own: a camera, or a recorder with its channels. */
export interface Unit {
  readonly id: DeviceId;
  /** What of it shows a picture. */
  readonly cameras: readonly Camera[];
  /** Whether events arrive. */
  readonly up: boolean;
  status(): CameraStatus;
  recent(after: number): RecentMessages;
  certificate(): Promise<Certificates>;
  trust(fingerprint: string): Promise<void>;
  trustDevice(name: string): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

/** What a camera or channel is asked for. */
export const shownBy = (view: View, { speaker }: Engine) => ({
  ...{ snapshot: view.snapshot, readStream: view.readStream, streamAddress: view.streamAddress, speaker },
});

export function createCameraUnit(camera: CameraOptions, around: Surroundings, counts: Counts): Unit {
  const source: DeviceRef = { kind: 'camera', id: camera.id };
  const memory = placeMemory(around.memory, camera);
  const engine = createEngine(source, camera, { ...around, memory });
  const view = createView(engine, cameraPlace(engine), camera);
  const sense = cameraSense(source, camera.inputs);
  const session = engine.session({ sense, counts, online: () => void view.prepare() });
  const status = (): CameraStatus => ({
    kind: 'camera',
    id: camera.id,
    ...(camera.name !== undefined && { name: camera.name }),
    host: engine.host,
    ...session.status(),
    ...engine.facts(),
    ...view.known(),
  });
  return {
    id: camera.id,
    // Not counted here: a picture of a silent hold-up must not show (safety 4); who asks counts the others.
    cameras: [{ id: camera.id, ...shownBy(view, engine), status }],
    get up() {
      return session.up;
    },
    status,
    recent: engine.recent,
    certificate: engine.certificate,
    trust: engine.trust,
    trustDevice: engine.trustDevice,
    start: engine.start,
    async stop() {
      view.close();
      await engine.stop();
    },
  };
}
