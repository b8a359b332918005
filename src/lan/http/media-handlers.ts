import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import type { Asker } from '#site/model/index.ts';
import { answerDeadlineMs, askerOf, json } from './answering.ts';
import type { mediaOperations } from './media-operations.ts';
import type { MediaDetail, MediaEntry, MediaExport, MediaPieceBody, MediaQuery } from './media-schemas.ts';

/** Pictures and clips of events. Silent events do not exist here (safety 4). Calls reject with `media_unknown`. */
export interface MediaPort {
  /** Newest first; empty only when there are no more. */
  list(query: MediaQuery): Promise<readonly MediaEntry[]>;
  show(seq: number): Promise<MediaDetail>;
  /** Logs it, and its refusal (safety 11). */
  export(seq: number, by: Asker): Promise<MediaExport>;
  /** Rejects with `media_gone` too. */
  read(piece: MediaPieceBody): Promise<Uint8Array>;
}

export function mediaHandlers(port: MediaPort): Handlers<typeof mediaOperations, By> {
  return {
    async listMedia({ query, signal }) {
      const items = await withDeadline(answerDeadlineMs, signal, () => port.list(query), 'reading pictures and clips');
      return json({ items, next_before: items.at(-1)?.seq ?? null });
    },
    getMedia: async ({ params: { seq }, signal }) =>
      json(await withDeadline(answerDeadlineMs, signal, () => port.show(Number(seq)), 'reading pictures and clips')),
    async exportMedia({ params: { seq }, identity, signal }) {
      const begin = () => port.export(Number(seq), askerOf(identity));
      return json(await withDeadline(answerDeadlineMs, signal, begin, 'beginning an export'));
    },
    readMedia: async ({ body, signal }) => ({
      status: 200,
      body: await withDeadline(answerDeadlineMs, signal, () => port.read(body), 'reading a picture or clip'),
      headers: { 'content-type': 'application/octet-stream', 'cache-control': 'no-store' },
    }),
  };
}
