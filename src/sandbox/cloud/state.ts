import type { ServerDialect } from '#cloud/contract/index.ts';
import type { Clock } from '#lib/clock.ts';
import { Shelf } from './bounded.ts';
import { ClientBook } from './clients.ts';
import { EventBook } from './events.ts';
import { FaultTable } from './faults.ts';
import { ReplayMemory, TokenBook } from './tokens.ts';
import type { AssertionRules, CloudClient, LogLine } from './types.ts';
import { UploadBook } from './uploads.ts';
import { World, type WorldSnapshot } from './world/world.ts';

/** Everything the sandbox cloud remembers. Resources read and change it; they keep nothing themselves. */
export class CloudState {
  readonly clients = new ClientBook();
  readonly tokens = new TokenBook();
  readonly replay = new ReplayMemory();
  readonly events = new EventBook();
  readonly uploads = new UploadBook();
  readonly faults = new FaultTable();
  readonly world = new World();
  /** Addresses of pictures taken on demand: token to camera and time. */
  readonly pictures = new Shelf<string, { readonly deviceId: string; readonly at: number }>({ maxEntries: 1000 });
  readonly dialect: ServerDialect;
  readonly assertionRules: AssertionRules;
  /** Base address that uploads are offered under, without a trailing slash. */
  readonly publicUrl: string;
  readonly tokenLifeS: number;
  readonly #clock: Clock;
  readonly #log = new Shelf<number, LogLine>({ maxEntries: 2000 });
  #logged = 0;
  #offsetMs = 0;
  /** What a reset goes back to. */
  #start: WorldSnapshot;

  constructor(options: {
    clock: Clock;
    publicUrl: string;
    assertionRules: AssertionRules;
    tokenLifeS: number;
    clients: readonly CloudClient[];
    dialect: ServerDialect;
  }) {
    this.#clock = options.clock;
    this.publicUrl = options.publicUrl;
    this.assertionRules = options.assertionRules;
    this.tokenLifeS = options.tokenLifeS;
    this.dialect = options.dialect;
    for (const client of options.clients) this.clients.add(client);
    this.#start = this.world.snapshot();
  }

  /** Makes the world as it is now what a reset goes back to. */
  keepAsStart(): void {
    this.#start = this.world.snapshot();
  }

  /** The service's time in milliseconds: the machine's, moved by what `clock` was told. */
  now(): number {
    return this.machineTime() + this.#offsetMs;
  }

  machineTime(): number {
    return this.#clock.wall();
  }

  /** The service's time in ISO 8601. */
  time(): string {
    return new Date(this.now()).toISOString();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  setClockOffset(seconds: number): void {
    this.#offsetMs = seconds * 1000;
  }

  record(line: LogLine): void {
    this.#logged += 1;
    this.#log.set(this.#logged, line);
  }

  log(): LogLine[] {
    return this.#log.values();
  }

  /** Back to the start: only the registered clients and what was printed then stay. */
  reset(): void {
    for (const part of [this.replay, this.events, this.uploads, this.faults, this.pictures]) part.clear();
    this.tokens.reset();
    this.world.restore(this.#start);
    this.#log.clear();
    this.#offsetMs = 0;
  }
}
