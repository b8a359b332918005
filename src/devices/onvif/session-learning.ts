import { withDeadline } from '#lib/wait.ts';
import type { Device } from './device.ts';
import type { HoldTime } from './hold-time.ts';
import type { Occupant } from './occupant.ts';
import type { OwnPoint } from './own-point.ts';
import type { SessionMemory } from './session-memory.ts';

export interface LearningOptions {
  readonly memory: SessionMemory;
  readonly device: Device;
  readonly point: OwnPoint;
  readonly hold: HoldTime;
  readonly occupant: Occupant;
}

/** More than the recall itself takes; the end of a session does not wait for it. */
const recallMs = 10_000;

/** What a session has found out about its device, kept over restarts. */
export class Learning {
  readonly #options: LearningOptions;

  constructor(options: LearningOptions) {
    this.#options = options;
  }

  /** Whether it is known what earlier runs remembered. */
  get isRead(): boolean {
    return this.#options.memory.isRead;
  }

  /** Takes what earlier runs found out. */
  async recall(signal: AbortSignal): Promise<void> {
    const { memory, device, point, hold, occupant } = this.#options;
    await withDeadline(recallMs, signal, () => device.recall(), 'the memory').catch(() => undefined);
    const learned = await memory.learned(signal);
    if (learned === undefined) return;
    occupant.use(learned.device);
    if (learned.way !== undefined) point.use(learned.way);
    if (learned.time !== undefined) device.clock.use(learned.time);
    hold.use(learned.hold);
  }

  /** Which device it was, where the store answered too late; the rest has been found out anew by then. */
  async recallDevice(signal: AbortSignal): Promise<void> {
    if (this.isRead) return;
    const learned = await this.#options.memory.learned(signal);
    if (learned !== undefined) this.#options.occupant.use(learned.device);
  }

  /** False when it is not kept. */
  async keep(signal: AbortSignal): Promise<boolean> {
    const { memory, device, point, hold, occupant } = this.#options;
    const { source: time } = device.clock;
    const learned = {
      ...(point.way !== undefined && { way: point.way }),
      ...(time !== 'utc' && { time }),
      ...(hold.found !== undefined && { hold: hold.found }),
      ...(occupant.known !== undefined && { device: occupant.known }),
    };
    return await memory.keepLearned(learned, signal);
  }

  /** The device that answers has told its MAC. */
  async macRead(mac: string, signal: AbortSignal): Promise<void> {
    this.#options.occupant.macRead(mac);
    await this.keep(signal);
  }

  /** The device of this name is meant. Throws `camera_refused` where another one answers; false when it is not kept. */
  async trust(name: string, signal: AbortSignal): Promise<boolean> {
    this.#options.occupant.trust(name);
    this.#options.memory.overrule();
    return await this.keep(signal);
  }
}
