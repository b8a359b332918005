import type { Handlers, Reply } from '#lib/contract/server.ts';
import type { cameraOperations } from './cameras-operations.ts';
import type { CameraEntry, CameraMessages, CertificateAnswer, TrustBody, TrustedAnswer } from './cameras-schemas.ts';

/** The cameras as a technician sees them. Calls reject with `camera_unknown`, `camera_refused` and what a camera makes them fail with. */
export interface CamerasPort {
  list(): readonly CameraEntry[];
  events(id: string, after: number): CameraMessages;
  /** A JPEG. */
  snapshot(id: string, signal: AbortSignal): Promise<Uint8Array>;
  certificate(id: string): Promise<CertificateAnswer>;
  trust(id: string, what: TrustBody): Promise<TrustedAnswer>;
}

export function cameraHandlers(
  port: CamerasPort,
  { json }: { json: (body: unknown) => Reply },
): Handlers<typeof cameraOperations, 'local'> {
  return {
    listCameras: () => json({ items: port.list() }),
    cameraEvents: ({ params: { id }, query }) => json(port.events(id, query.after)),
    cameraSnapshot: async ({ params: { id }, signal }) => ({
      status: 200,
      body: await port.snapshot(id, signal),
      headers: { 'content-type': 'image/jpeg', 'cache-control': 'no-store' },
    }),
    cameraCertificate: async ({ params: { id } }) => json(await port.certificate(id)),
    trustCamera: async ({ params: { id }, body }) => json(await port.trust(id, body)),
  };
}
