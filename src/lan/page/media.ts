import type { MediaExport, MediaFile } from '#lan/http/index.ts';
import type { Api } from './api.ts';
import type { Words } from './text.ts';

/** Begins to take the files of an event along, which stands in the audit log. */
export const exportOf = (api: Api, seq: number): Promise<MediaExport> =>
  api.ask<MediaExport>(`/api/v1/media/${seq}/export`, { method: 'POST' });

/** A whole file of an export, read in the pieces that the bridge gives. */
export async function fileOf(api: Api, given: string, { index, mime }: MediaFile, signal?: AbortSignal): Promise<Blob> {
  const pieces: Blob[] = [];
  for (let offset = 0; ; ) {
    const body = { export: given, index, offset };
    const piece = await api.bytes('/api/v1/media/read', { method: 'POST', body, ...(signal && { signal }) });
    if (piece.size === 0) break;
    pieces.push(piece);
    offset += piece.size;
  }
  return new Blob(pieces, { type: mime ?? 'application/octet-stream' });
}

/** Why a file cannot be shown; undefined where it can. Pure. */
export function whyNot({ state, here, reason, missing }: MediaFile, { t, word }: Words): string | undefined {
  if (state === 'planned') return word('mediaState', 'planned');
  if (state === 'failed') return t('media.failed', { reason: reason ?? missing ?? t('unknown') });
  return here ? undefined : (missing ?? t('media.gone'));
}

/** "3 s after it": when it was taken. Pure. */
export function offsetText(offsetMs: number, { t, number }: Words): string {
  const seconds = Math.round(offsetMs / 100) / 10;
  if (seconds === 0) return t('media.then');
  return t(seconds < 0 ? 'media.before' : 'media.after', { seconds: number(Math.abs(seconds)) });
}

/** A file name that says what it is. Pure. */
export const fileName = (seq: number, { index, camera, kind }: MediaFile): string =>
  `event-${seq}-${camera}-${index}.${kind === 'snapshot' ? 'jpg' : 'mp4'}`;
