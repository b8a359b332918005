import { createHash, randomBytes } from 'node:crypto';
import type { MediaKind } from '#cloud/contract/index.ts';
import { Shelf } from './bounded.ts';
import type { StoredUpload } from './types.ts';

/** An address handed out for one announced picture or clip. */
export interface Slot {
  readonly token: string;
  readonly eventId: string;
  readonly clientId: string;
  readonly kind: MediaKind;
  readonly index: number;
  readonly expiresAt: number;
}

type Kept = StoredUpload & { readonly content: Uint8Array | undefined };

/** Life of an upload address (S-164). */
const slotLifeMs = 15 * 60_000;

/**
 * Addresses (at most 100,000) and what was written to them (at most 50,000 records, of which the contents of the last
 * 64 MiB are kept). The oldest gives way; a forgotten address answers 404.
 */
export class UploadBook {
  readonly #slots = new Shelf<string, Slot>({ maxEntries: 100_000 });
  readonly #uploads = new Shelf<string, StoredUpload>({ maxEntries: 50_000 });
  /** Beginnings of uploads that were cut, where they may go on. */
  readonly #held = new Shelf<string, Uint8Array>({ maxEntries: 100, maxBytes: 64 * 1024 * 1024 });
  readonly #contents = new Shelf<string, Uint8Array>({ maxEntries: 50_000, maxBytes: 64 * 1024 * 1024 });

  open(place: Pick<Slot, 'eventId' | 'clientId' | 'kind' | 'index'>, nowMs: number): Slot {
    const slot = { ...place, token: randomBytes(24).toString('base64url'), expiresAt: nowMs + slotLifeMs };
    this.#slots.set(slot.token, slot);
    return slot;
  }

  /** What arrived so far at an address. */
  held(token: string): Uint8Array {
    return this.#held.get(token) ?? new Uint8Array();
  }

  hold(token: string, content: Uint8Array): void {
    this.#held.set(token, content, content.length);
  }

  slot(token: string): Slot | undefined {
    return this.#slots.get(token);
  }

  put(
    slot: Slot,
    content: Uint8Array,
    facts: { mediaType: string; authorization: boolean; nowMs: number },
  ): StoredUpload {
    const id = idOf(slot.token);
    const upload: StoredUpload = {
      id,
      event_id: slot.eventId,
      client_id: slot.clientId,
      kind: slot.kind,
      index: slot.index,
      media_type: facts.mediaType,
      bytes: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
      authorization_sent: facts.authorization,
      received_at: new Date(facts.nowMs).toISOString(),
      put_count: (this.#uploads.get(id)?.put_count ?? 0) + 1,
    };
    this.#uploads.set(id, upload);
    this.#contents.set(id, content, content.length);
    return upload;
  }

  list(): StoredUpload[] {
    return this.#uploads.values();
  }

  find(id: string): Kept | undefined {
    const upload = this.#uploads.get(id);
    return upload === undefined ? undefined : { ...upload, content: this.#contents.get(id) };
  }

  get dropped(): number {
    return this.#uploads.dropped;
  }

  clear(): void {
    this.#slots.clear();
    this.#uploads.clear();
    this.#held.clear();
    this.#contents.clear();
  }
}

/** The public name of an address: it opens nothing. */
export const idOf = (token: string): string => createHash('sha256').update(token).digest('hex').slice(0, 16);
