import type { PlaybackShown } from '#site/model/index.ts';
import type { EngineEffect, Playback } from '../../../../../src/devices/audio/engine/index.ts';
import type { Random } from '../../../../proof/random.ts';
import type { TimeLine } from './line.ts';

type Written = Extract<EngineEffect, { kind: 'journal' | 'forget' | 'changed' }>;

/** People are told without the disk after so long. */
const tellMs = 2_000;

/** The journal as it is to be run: in order, some at once, now and then not for a while; a crash loses what is under way. */
export class Disk {
  readonly rows = new Map<string, Playback>();
  readonly #line: TimeLine;
  readonly #random: Random;
  #pending: Written[] = [];
  #hangsUntil = 0;
  #isRunning = false;
  onWrite: (write: number) => void = () => {};
  /** `durable`: its row is on disk. */
  onTell: (playback: PlaybackShown, durable: boolean) => void = () => {};

  constructor(line: TimeLine, random: Random) {
    this.#line = line;
    this.#random = random;
  }

  /** The last write that is on it. */
  written = 0;

  get isBehind(): boolean {
    return this.#pending.length > 0;
  }

  take(effect: Written): void {
    this.#pending.push(effect);
    if (effect.kind === 'changed')
      this.#line.after(tellMs, () => {
        if (!this.#pending.includes(effect)) return;
        this.#pending = this.#pending.filter((one) => one !== effect);
        this.onTell(effect.playback, false);
      });
    this.#run();
  }

  hang(ms: number): void {
    this.#hangsUntil = this.#line.now + ms;
  }

  #run(): void {
    if (this.#isRunning || this.#pending.length === 0) return;
    this.#isRunning = true;
    const group = this.#pending.length;
    const ms = Math.max(this.#random.whole(1, 40), this.#hangsUntil - this.#line.now);
    this.#line.after(ms, () => {
      this.#isRunning = false;
      const done = this.#pending.splice(0, group);
      let write = 0;
      for (const effect of done) {
        if (effect.kind === 'journal') {
          this.rows.set(effect.row.id, effect.row);
          write = effect.write;
          this.written = write;
        } else if (effect.kind === 'forget') this.rows.delete(effect.playback);
        else this.onTell(effect.playback, true);
      }
      this.#run();
      if (write > 0) this.onWrite(write);
    });
  }

  crash(): void {
    this.#pending = [];
    this.#isRunning = false;
    this.#hangsUntil = 0;
    this.written = 0;
  }
}
