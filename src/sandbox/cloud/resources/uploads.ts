import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import type { Call, Reply } from '#lib/contract/server.ts';
import { partnerError } from '../answers.ts';
import { type Caller, openRules, type Resource, resource } from '../resource.ts';
import type { CloudState } from '../state.ts';
import type { Slot } from '../uploads.ts';

/** Largest picture or clip, bytes. */
export const uploadCap = 20 * 1024 * 1024;

const shared = {
  method: 'PUT',
  base: 'base',
  params: z.object({ token: z.string() }),
  responses: {
    200: { description: 'The content is stored' },
    400: { description: 'The content type is not the announced kind' },
    403: { description: 'The address has expired' },
    404: { description: 'The address was never handed out' },
    413: { description: 'The content is larger than 20 MiB' },
  },
  // The random path is the permission.
  auth: [],
  repeatable: 'yes',
  rules: ['S-164', 'S-167'],
  tags: ['uploads'],
} as const;

const putPicture = defineOperation({
  ...shared,
  id: 'putPicture',
  path: '/uploads/pictures/{token}',
  summary: 'Write an announced snapshot',
  body: { media: 'image/jpeg' },
});

const putClip = defineOperation({
  ...shared,
  id: 'putClip',
  path: '/uploads/clips/{token}',
  summary: 'Write an announced clip',
  body: { media: 'video/mp4' },
});

type UploadCall = Pick<Call<typeof putPicture, Caller>, 'params' | 'body' | 'header' | 'identity'>;

export function uploadsResource(state: CloudState): Resource {
  const open = (path: string, token: string): Slot | Reply => {
    const slot = state.uploads.slot(token);
    const fits = slot !== undefined && (slot.kind === 'snapshot') === path.startsWith('/uploads/pictures/');
    if (!fits) return partnerError(404, 'this upload address was never handed out');
    return state.now() >= slot.expiresAt ? partnerError(403, 'this upload address has expired') : slot;
  };
  const store =
    (path: string, mediaType: string) =>
    ({ params, body, header, identity: { exchange } }: UploadCall): Reply => {
      const slot = open(path, params.token);
      if ('status' in slot) return slot;
      const authorization = header('authorization') !== undefined;
      const upload = state.uploads.put(slot, body, { mediaType, authorization, nowMs: state.now() });
      exchange.client = slot.clientId;
      const warning = authorization ? ', with an Authorization header that does not belong here' : '';
      exchange.note = `${slot.kind} ${slot.index} of event ${slot.eventId}, ${upload.bytes} bytes${warning}`;
      return { status: 200, body: { id: upload.id, bytes: upload.bytes, sha256: upload.sha256 } };
    };
  return resource(
    { putPicture, putClip },
    { putPicture: store(putPicture.path, 'image/jpeg'), putClip: store(putClip.path, 'video/mp4') },
    {
      ...openRules,
      bodyCap: uploadCap,
      before: (operation, params) => {
        const slot = open(operation.path, params.token ?? '');
        return 'status' in slot ? slot : undefined;
      },
    },
  );
}
