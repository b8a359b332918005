import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe } from '#errors.ts';
import type { WireRow } from './protocol.ts';
import type { Note } from './quiet.ts';
import { replaceFile } from './side.ts';

const fileName = 'alarm.log';
/** At this size the log is written anew with what still waits. */
const softBytes = 4 * 1024 ** 2;
/** After it gave way on a full disk. */
const restMs = 60_000;
/** Above it nothing is added; only reached if the log cannot be written anew. */
const hardBytes = 8 * 1024 ** 2;

/**
 * `synced`: the copy is on disk before an alarm is acknowledged. `written`: it is handed to the system before, and on disk within about
 * a second; lost only by a power cut in that second that also damages `site.db`.
 */
export const alarmCopies = ['synced', 'written', 'off'] as const;
export type AlarmCopy = (typeof alarmCopies)[number];

/**
 * A second copy of the alarms that wait, for the day on which `site.db` is empty, gone or has lost a page on which everything
 * depends. One line per alarm: checksum, space, the row as JSON. Added between the commit of the row and its answer: what was
 * acknowledged has its line, and a line without its row means that the file has lost it. A row whose line the end of the process
 * came before gets it after the next start.
 */
export class AlarmLog {
  readonly #dir: string;
  readonly #mode: AlarmCopy;
  readonly #note: Note;
  #fd: number | undefined;
  #bytes = 0;
  #unsynced = false;
  /** Nothing is added before (performance.now). */
  #rests = 0;
  #isWhole = true;
  /** The last try to change it failed, which has been told. */
  #isFailing = false;

  constructor(options: { dir: string; mode: AlarmCopy; note: Note }) {
    this.#dir = options.dir;
    this.#mode = options.mode;
    this.#note = options.note;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** It holds too much, or not all that waits. */
  get wantsRewrite(): boolean {
    return this.#bytes >= softBytes || (!this.#isWhole && performance.now() >= this.#rests);
  }

  /** On a full disk the copy makes room for the rows themselves; true when it had any. */
  giveWay(): boolean {
    const had = this.#bytes > 0;
    if (had) this.clear();
    this.#rests = performance.now() + restMs;
    // Also where it held nothing: what is stored meanwhile gets no line.
    this.lacks();
    return had;
  }

  /**
   * Looks whether what was written still lies at its path. If it was deleted, replaced or cut it is made anew from what
   * waits.
   */
  follow(): void {
    if (this.#fd === undefined || this.#mode === 'off') return;
    try {
      const [ours, there] = [fstatSync(this.#fd), statSync(join(this.#dir, fileName), { throwIfNoEntry: false })];
      if (there?.dev === ours.dev && there.ino === ours.ino && there.size >= this.#bytes) return;
    } catch {
      // What cannot be looked at is told by the next write to it.
      return;
    }
    this.renew();
    const text = 'alarm.log was deleted, replaced or cut while siteward used it; it is written anew';
    this.#note('error', text, { file: fileName });
  }

  /** Its file is not ours any more: it is made anew from what waits. */
  renew(): void {
    try {
      this.close();
      rmSync(join(this.#dir, fileName), { force: true });
      this.#bytes = 0;
      this.#unsynced = false;
      this.#isWhole = this.#mode === 'off';
    } catch (error) {
      this.#drop(error);
    }
  }

  /** Never throws: without its second copy an alarm is still to be stored. */
  add(rows: readonly WireRow[]): void {
    if (rows.length === 0 || this.#mode === 'off') return;
    if (performance.now() < this.#rests) {
      this.#isWhole = false;
      return;
    }
    try {
      const fd = this.#open();
      const text = Buffer.from(rows.map(line).join(''));
      if (this.#bytes + text.length > hardBytes) {
        this.#isWhole = false;
        return;
      }
      this.#bytes += writeSync(fd, text);
      if (this.#mode === 'synced') fsyncSync(fd);
      else this.#unsynced = true;
      this.#isFailing = false;
    } catch (error) {
      this.#drop(error);
    }
  }

  /** An alarm that waits was found to have no line. */
  lacks(): void {
    if (this.#mode !== 'off') this.#isWhole = false;
  }

  /** All rows whose line is whole. A torn last line is what a power cut leaves. */
  read(): WireRow[] {
    try {
      const path = join(this.#dir, fileName);
      this.#bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
      if (this.#bytes === 0 || this.#bytes > 2 * hardBytes) return [];
      return readFileSync(path, 'utf8').split('\n').flatMap(parsed);
    } catch {
      return [];
    }
  }

  /** No alarm waits any more. */
  clear(): void {
    if (this.#bytes === 0) return;
    try {
      ftruncateSync(this.#open(), 0);
      this.#bytes = 0;
      this.#isWhole = true;
      this.#isFailing = false;
    } catch (error) {
      this.#drop(error);
    }
  }

  /** Leaves only `rows` in it, the newest of them if they are too many. Given newest first. */
  rewrite(rows: Iterable<WireRow>): void {
    try {
      const lines: string[] = [];
      let bytes = 0;
      for (const row of rows) {
        const text = line(row);
        bytes += Buffer.byteLength(text);
        if (bytes > softBytes / 2) break;
        lines.push(text);
      }
      this.close();
      this.#isWhole = true;
      replaceFile(this.#dir, fileName, lines.reverse().join(''));
      this.#open();
      this.#isFailing = false;
    } catch (error) {
      this.#drop(error);
    }
  }

  sync(): void {
    if (!this.#unsynced || this.#fd === undefined) return;
    this.#unsynced = false;
    try {
      fsyncSync(this.#fd);
    } catch (error) {
      this.#drop(error);
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #open(): number {
    if (this.#fd !== undefined) return this.#fd;
    const fd = openSync(join(this.#dir, fileName), 'a', 0o600);
    this.#bytes = statSync(join(this.#dir, fileName)).size;
    // A torn last line must not swallow the next one.
    if (this.#bytes > 0) this.#bytes += writeSync(fd, '\n');
    this.#fd = fd;
    return fd;
  }

  #drop(error: unknown): void {
    try {
      this.close();
    } catch {
      this.#fd = undefined;
    }
    this.#isWhole = false;
    this.#rests = performance.now() + restMs;
    // Once, until it could be changed again.
    const text = 'the second copy of the alarms cannot be written';
    if (!this.#isFailing) this.#note('error', text, { reason: describe(error) });
    this.#isFailing = true;
  }
}

function line(row: WireRow): string {
  const text = JSON.stringify(row);
  return `${crc32(text).toString(16)} ${text}\n`;
}

function parsed(text: string): WireRow[] {
  const space = text.indexOf(' ');
  const json = text.slice(space + 1);
  if (space < 1 || Number.parseInt(text.slice(0, space), 16) !== crc32(json)) return [];
  return [JSON.parse(json) as WireRow];
}
