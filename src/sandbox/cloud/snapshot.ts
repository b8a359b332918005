import type { Reply } from '#lib/contract/server.ts';
import { takePicture } from '../cameras/picture.ts';

/** What a simulated camera with this id shows at a time (ms), as an answer. The same id and time give the same bytes. */
export const pictureReply = (id: string, timeMs: number): Reply => ({
  status: 200,
  body: takePicture({ id, counter: 1, timeMs, person: false, motion: false, tampered: false }),
  headers: { 'content-type': 'image/jpeg' },
});
