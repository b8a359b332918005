import { rmSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory } from './side.ts';

const pieceBytes = 256 * 1024;

/**
 * A file that only takes up room. On a disk without a free block not even a row can be deleted, since the write-ahead
 * log has to grow for that; then this file goes, and is made again once there is room. Its bytes are really written:
 * a file with a hole holds nothing.
 */
export class Reserve {
  readonly #dir: string;
  readonly #path: string;
  #bytes: number;
  #making: Promise<void> | undefined;
  #cancelled = false;

  constructor(dir: string) {
    this.#dir = dir;
    this.#path = join(dir, 'reserve');
    this.#bytes = sizeOf(this.#path);
  }

  /** Bytes it holds now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Somebody else may have deleted it. */
  look(): void {
    this.#bytes = sizeOf(this.#path);
  }

  /** Gives its room back at once; true when there was any. */
  release(): boolean {
    this.#cancelled = true;
    if (this.#bytes === 0) return false;
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // A disk that cannot even forget a file is not helped by this one.
      return false;
    }
    this.#bytes = 0;
    return true;
  }

  /** Makes it in the background, unless it is there. A disk that does not take it keeps its room. */
  make(bytes: number): void {
    if (this.#making !== undefined || this.#bytes >= bytes) return;
    this.#cancelled = false;
    this.#making = this.#write(bytes).finally(() => {
      this.#making = undefined;
    });
  }

  async close(): Promise<void> {
    this.#cancelled = true;
    await this.#making;
  }

  async #write(bytes: number): Promise<void> {
    const part = `${this.#path}.part`;
    try {
      const file = await open(part, 'w', 0o600);
      try {
        const piece = Buffer.alloc(pieceBytes, 0x5a);
        for (let left = bytes; left > 0 && !this.#cancelled; left -= piece.length) {
          await file.write(piece, 0, Math.min(left, piece.length));
        }
        await file.sync();
      } finally {
        await file.close();
      }
      if (this.#cancelled) throw new Error('no longer wanted');
      await rename(part, this.#path);
      this.#bytes = bytes;
      syncDirectory(this.#dir);
    } catch {
      await rm(part, { force: true }).catch(() => undefined);
    }
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    // The folder is not there, or not a folder: whoever opens it says so.
    return 0;
  }
}
