import type { Logger } from 'pino';
import type { DeviceRef, Signal } from '#site/model/index.ts';
import type { CameraState } from './camera.ts';

/** A wait of this length is worth telling. */
const quietMs = 5000;

export interface LinkOptions {
  readonly source: DeviceRef;
  readonly wall: () => number;
  readonly log: Logger;
  readonly emit: (signals: readonly Signal[]) => Promise<void>;
}

/** What a session tells of itself: its state to the technician, and to the core whether events arrive. */
export class Link {
  readonly #options: LinkOptions;
  #state: CameraState = 'stopped';
  #since: number;
  #reason: string | undefined;
  #told: boolean | undefined;
  #refusalTold: boolean | undefined;
  #failures = 0;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#since = options.wall();
  }

  get state(): CameraState {
    return this.#state;
  }

  /** Whether events arrive. */
  get up(): boolean {
    return this.#told === true;
  }

  /** The reason of an earlier failure stays until events arrive. */
  enter(state: CameraState, reason = this.#reason): void {
    if (state !== this.#state) this.#since = this.#options.wall();
    this.#state = state;
    this.#reason = reason;
  }

  /** Events arrive. */
  async good(): Promise<void> {
    this.#failures = 0;
    this.#reason = undefined;
    this.enter('pulling');
    await this.#tell(true);
    await this.#tellRefusal(false);
  }

  /** One lost pull is repaired quietly; the link is down when a second step fails, or when the repair takes long. */
  async failed(reason: string, options: { refused: boolean; waitMs: number }): Promise<void> {
    this.#failures += 1;
    this.enter(options.refused ? 'auth_failed' : 'backoff', reason);
    const down = options.refused || this.#failures >= 2 || this.#told !== true || options.waitMs > quietMs;
    if (down) await this.#tell(false, reason);
    if (options.refused) await this.#tellRefusal(true, reason);
  }

  status() {
    return { state: this.#state, since: this.#since, ...(this.#reason !== undefined && { reason: this.#reason }) };
  }

  /** Only a person can end it, so that it is reported at once. Its end is told once by each run, whoever told the beginning. */
  async #tellRefusal(active: boolean, detail?: string): Promise<void> {
    if (this.#refusalTold === active) return;
    const { source, emit } = this.#options;
    const about = { kind: 'trouble', source, trouble: 'auth_failed', active, replay: false } as const;
    await emit([{ ...about, ...(active && { urgent: true }), ...(detail !== undefined && { detail }) }]);
    this.#refusalTold = active;
  }

  async #tell(up: boolean, reason?: string): Promise<void> {
    if (this.#told === up) return;
    const { source, log, emit } = this.#options;
    const anew = up && this.#told === undefined;
    const about = { kind: 'link', source, layer: 'device', up } as const;
    await emit([{ ...about, ...(anew && { anew }), ...(reason !== undefined && { reason }) }]);
    this.#told = up;
    if (up) log.info('camera events arrive');
    else log.warn({ reason }, 'camera events do not arrive');
  }
}
