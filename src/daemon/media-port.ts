import { randomBytes } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { SitewardError } from '#errors.ts';
import { type MediaDetail, type MediaEntry, type MediaFile, type MediaPort, pieceBytes } from '#lan/http/index.ts';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import { unlessMissing } from '#lib/system-code.ts';
import { auditNotes } from '#site/audit-notes.ts';
import type { AuditDraft } from '#site/model/index.ts';
import type { EventRecord, MediaTrail, Store } from '#site/store/index.ts';
import type { Note } from './audit-wiring.ts';
import { type House, running } from './house.ts';

/** Exports under way, and how long their files may be read. */
const exportCap = 8;
const exportMs = 15 * 60_000;

/** Since when about the cloud has a picture or clip. Silent events are never found (safety 4). */
export async function uploadedAt(
  store: Pick<Store, 'events'>,
  seq: number,
  index: number,
): Promise<number | undefined> {
  const [record] = await store.events({ limit: 1, beforeSeq: seq + 1 });
  const item = record?.seq === seq ? record.media.find((one) => one.index === index) : undefined;
  return item?.state === 'uploaded' ? record?.deliveredAt : undefined;
}

/**
 * Pictures and clips as the control socket shows them. What an event announced, its cameras' `pictures` settings allowed,
 * so that it may be taken along; no more than that (safety 11). Silent events are never found (safety 4).
 */
export function mediaPort({ house, clock, note }: { house: House; clock: Clock; note: Note }): MediaPort {
  /** Names of files by export, and by index. */
  const exports = new BoundedMap<string, { readonly files: ReadonlyMap<number, string>; readonly untilMono: number }>(
    exportCap,
  );

  /** Undefined where no event of this number announced anything. */
  async function recordOf(number: number): Promise<EventRecord | undefined> {
    const record = await running(house, 'store').eventOf(number);
    return record?.media.length === 0 ? undefined : record;
  }

  async function detailOf(record: EventRecord): Promise<MediaDetail> {
    const items: MediaFile[] = [];
    for (const one of record.media) {
      const missing = await missingOf(one);
      items.push({ ...itemOf(one), here: missing === undefined, ...(missing !== undefined && { missing }) });
    }
    return { ...entryOf(record), items };
  }

  /** Why its file is not here. */
  async function missingOf({ state, file, bytes, reason }: MediaTrail): Promise<string | undefined> {
    const found = file === undefined ? undefined : await lookFor(file, sizeOf);
    if (found !== undefined && found === bytes) return undefined;
    if (state === 'failed') return reason ?? 'failed';
    if (state === 'planned') return 'not made yet';
    if (found !== undefined) return `the file has ${found} bytes, not the ${bytes} that were recorded`;
    return state === 'uploaded' ? 'the cloud has it, and it is no longer kept here' : 'the file is gone';
  }

  /** Before the first byte leaves: without its entry there is no export. */
  async function log(entry: AuditDraft): Promise<void> {
    await running(house, 'controller').audit([entry]);
  }

  /** The cloud may just get it, and it move to what is kept. */
  async function lookFor<T>(file: string, look: (path: string) => Promise<T | undefined>): Promise<T | undefined> {
    for (const path of running(house, 'media').places(file)) {
      const found = await look(path);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  return {
    async list({ limit, before, state, camera, event }) {
      const fits = (item: MediaTrail) =>
        (state === undefined || item.state === state) && (camera === undefined || item.camera === camera);
      const shown = (record: EventRecord) => ({ ...entryOf(record), items: record.media.filter(fits).map(itemOf) });
      if (event !== undefined) {
        const record = before === undefined || event < before ? await recordOf(event) : undefined;
        return record === undefined || !record.media.some(fits) ? [] : [shown(record)];
      }
      const store = running(house, 'store');
      const records = await store.events({
        limit,
        ...(before !== undefined && { beforeSeq: await store.rowOf(before) }),
        media: { ...(state !== undefined && { state }), ...(camera !== undefined && { camera }) },
      });
      return records.map(shown);
    },

    async show(number) {
      const record = await recordOf(number);
      if (record === undefined) throw unknown(number);
      return detailOf(record);
    },

    async export(number, by) {
      const record = await recordOf(number);
      if (record === undefined) {
        await note(auditNotes.mediaRefused(by, number, 'media_unknown'));
        throw unknown(number);
      }
      const detail = await detailOf(record);
      const here = detail.items.filter((item) => item.here);
      if (here.length === 0) {
        await note(auditNotes.mediaRefused(by, number, 'media_gone'));
        return { ...detail, export: null };
      }
      await log(auditNotes.mediaExported(by, number, here.length, detail.items.length));
      const token = randomBytes(24).toString('base64url');
      const names = new Map(record.media.map(({ index, file = '' }) => [index, file]));
      const files = new Map(here.map(({ index }) => [index, names.get(index) ?? '']));
      exports.set(token, { files, untilMono: clock.monotonic() + exportMs });
      return { ...detail, export: token };
    },

    async read({ export: token, index, offset }) {
      const found = exports.get(token);
      if (found === undefined || found.untilMono <= clock.monotonic())
        throw gone('this export is no longer known; begin anew');
      const file = found.files.get(index);
      if (file === undefined) throw gone('it is not part of this export');
      const piece = await lookFor(file, (path) => pieceOf(path, offset));
      if (piece === undefined) throw gone('its file is gone by now');
      return piece;
    },
  };
}

const unknown = (number: number) =>
  new SitewardError(
    'media_unknown',
    `no event ${number} announced pictures or clips; "siteward media list" lists those that did`,
  );
const gone = (message: string) => new SitewardError('media_gone', message);

const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    (found) => (found.isFile() ? found.size : undefined),
    () => undefined,
  );

/** It is opened for each piece: an export that is broken off leaves nothing open. */
async function pieceOf(path: string, offset: number): Promise<Uint8Array | undefined> {
  const file = await open(path, 'r').catch(unlessMissing);
  if (file === undefined) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(pieceBytes), 0, pieceBytes, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function entryOf({ event }: EventRecord): Omit<MediaEntry, 'items'> {
  const { seq, event_id, at, kind, partition } = event;
  return { ...{ seq, event_id, at, event: kind }, ...(partition !== undefined && { partition }) };
}

function itemOf({ index, kind, camera, offsetMs, state, bytes, sha256, mime, reason }: MediaTrail) {
  return {
    ...{ index, kind, camera, offset_ms: offsetMs, state },
    ...(bytes !== undefined && { bytes }),
    ...(sha256 !== undefined && { sha256 }),
    ...(mime !== undefined && { mime }),
    ...(reason !== undefined && { reason }),
  };
}
