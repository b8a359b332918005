import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import type { Asker } from '#site/model/index.ts';
import { askerOf, json } from './answering.ts';
import type { cameraOperations } from './cameras-operations.ts';
import type { CameraEntry, CameraMessages, CertificateAnswer, TrustBody, TrustedAnswer } from './cameras-schemas.ts';

/** The cameras as a technician sees them. Calls reject with `camera_unknown`, `camera_refused` and what a camera makes them fail with. */
export interface CamerasPort {
  list(): readonly CameraEntry[];
  events(id: string, after: number): CameraMessages;
  /** A JPEG. */
  snapshot(id: string, by: Asker, signal: AbortSignal): Promise<Uint8Array>;
  certificate(id: string): Promise<CertificateAnswer>;
  trust(id: string, what: TrustBody, by: Asker): Promise<TrustedAnswer>;
}

/** A camera may take its time to shake hands. */
const certificateMs = 15_000;

export function cameraHandlers(port: CamerasPort): Handlers<typeof cameraOperations, By> {
  return {
    listCameras: () => json({ items: port.list() }),
    cameraEvents: ({ params: { id }, query }) => json(port.events(id, query.after)),
    cameraSnapshot: async ({ params: { id }, identity, signal }) => ({
      status: 200,
      body: await port.snapshot(id, askerOf(identity), signal),
      headers: { 'content-type': 'image/jpeg', 'cache-control': 'no-store' },
    }),
    cameraCertificate: async ({ params: { id }, signal }) =>
      json(await withDeadline(certificateMs, signal, () => port.certificate(id), 'asking for the certificate')),
    async trustCamera({ params: { id }, body, identity, signal }) {
      const trust = () => port.trust(id, body, askerOf(identity));
      return json(await withDeadline(certificateMs, signal, trust, 'accepting a device'));
    },
  };
}
