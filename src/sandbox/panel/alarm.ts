/** What a panel says of a partition, in PAI's words. PAI has no word for the entry delay: that is a topic of its own. */
export type CurrentState = 'disarmed' | 'arming' | 'armed_home' | 'armed_night' | 'armed_away' | 'triggered';
export type ArmedState = 'armed_home' | 'armed_night' | 'armed_away';

export interface PartitionOptions {
  /** Topic level, such as `Area_1`. */
  readonly key: string;
  /** Default 0: armed at once. */
  readonly exitDelayMs?: number;
  /** Default 0: a delayed zone triggers at once. */
  readonly entryDelayMs?: number;
}

export interface ZoneOptions {
  /** Topic level, such as `Front_door`. */
  readonly key: string;
  readonly partition: string;
  /** `follow` is instant unless an entry delay runs and sleeps in home and night; default `instant`. */
  readonly kind?: 'delay' | 'instant' | 'follow' | '24h';
}

/** What is told about a partition or zone; called only for changes. */
export interface Tell {
  partition(key: string, property: string, value: string): void;
  zone(key: string, property: string, value: string): void;
}

interface Partition {
  readonly options: PartitionOptions;
  state: CurrentState;
  target: ArmedState | 'disarmed';
  timer: NodeJS.Timeout | undefined;
}

interface Zone {
  readonly options: ZoneOptions;
  open: boolean;
  bypassed: boolean;
  /** It has triggered its partition, until somebody disarms. */
  alarm: boolean;
}

const yesNo = (value: boolean): string => (value ? 'True' : 'False');

/** The panel behind the bridge: arms with an exit delay, waits out an entry delay, triggers. */
export class AlarmPanel {
  readonly #partitions: ReadonlyMap<string, Partition>;
  readonly #zones: ReadonlyMap<string, Zone>;
  readonly #tell: Tell;

  constructor(options: { partitions: readonly PartitionOptions[]; zones: readonly ZoneOptions[]; tell: Tell }) {
    this.#tell = options.tell;
    this.#partitions = new Map(
      options.partitions.map((own) => [
        own.key,
        { options: own, state: 'disarmed', target: 'disarmed', timer: undefined },
      ]),
    );
    this.#zones = new Map(
      options.zones.map((own) => [own.key, { options: own, open: false, bypassed: false, alarm: false }]),
    );
  }

  state(partition: string): CurrentState | undefined {
    return this.#partitions.get(partition)?.state;
  }

  partitionKeys(): string[] {
    return [...this.#partitions.keys()];
  }

  /** Tells every state, as a bridge does when it comes online; zones first, so that an alarm that goes on is told with its zone. */
  tellAll(): void {
    for (const [key, zone] of this.#zones) {
      this.#tell.zone(key, 'open', yesNo(zone.open));
      this.#tell.zone(key, 'bypassed', yesNo(zone.bypassed));
      this.#tell.zone(key, 'tamper', 'False');
      this.#tell.zone(key, 'alarm', yesNo(zone.alarm));
    }
    for (const [key, partition] of this.#partitions) {
      this.#tell.partition(key, 'current_state', partition.state);
      this.#tell.partition(key, 'target_state', partition.target);
      this.#tell.partition(key, 'entry_delay', yesNo(partition.state !== 'disarmed' && this.#inEntry(partition)));
      this.#tell.partition(key, 'ready_status', yesNo(this.#ready(key)));
    }
  }

  /** A panel that is not ready ignores the wish, as real ones do: nothing changes, `ready_status` says why. */
  arm(key: string, target: ArmedState): void {
    const partition = this.#partitions.get(key);
    if (partition === undefined || partition.state !== 'disarmed' || !this.#ready(key)) return;
    this.#setTarget(partition, target);
    this.#tell.partition(key, 'alarms_in_memory', 'False');
    const delayMs = partition.options.exitDelayMs ?? 0;
    if (delayMs > 0) {
      this.#setState(partition, 'arming');
      this.#after(partition, delayMs, () => this.#setState(partition, target));
    } else this.#setState(partition, target);
  }

  disarm(key: string): void {
    const partition = this.#partitions.get(key);
    if (partition === undefined) return;
    this.#stopTimer(partition);
    this.#setTarget(partition, 'disarmed');
    this.#setState(partition, 'disarmed');
    this.#tell.partition(key, 'entry_delay', 'False');
    for (const [zoneKey, zone] of this.#zones) {
      if (zone.options.partition !== key) continue;
      zone.alarm = false;
      this.#tell.zone(zoneKey, 'alarm', 'False');
      if (zone.bypassed) this.bypass(zoneKey, false);
    }
  }

  open(key: string): void {
    const zone = this.#zone(key);
    if (zone.open) return;
    zone.open = true;
    this.#tell.zone(key, 'open', 'True');
    this.#tellReady(zone.options.partition);
    if (!zone.bypassed) this.#react(key, zone);
  }

  close(key: string): void {
    const zone = this.#zone(key);
    if (!zone.open) return;
    zone.open = false;
    this.#tell.zone(key, 'open', 'False');
    this.#tellReady(zone.options.partition);
  }

  bypass(key: string, on: boolean): void {
    const zone = this.#zone(key);
    zone.bypassed = on;
    this.#tell.zone(key, 'bypassed', yesNo(on));
    this.#tellReady(zone.options.partition);
  }

  hasZone(key: string): boolean {
    return this.#zones.has(key);
  }

  stop(): void {
    for (const partition of this.#partitions.values()) this.#stopTimer(partition);
  }

  #react(key: string, zone: Zone): void {
    const partition = this.#partitions.get(zone.options.partition);
    if (partition === undefined) return;
    const { kind = 'instant' } = zone.options;
    const armed = partition.state.startsWith('armed_');
    const entering = this.#inEntry(partition);
    const sleeping = kind === 'follow' && (entering || partition.state !== 'armed_away');
    if (kind !== '24h' && (!armed || sleeping || (kind === 'delay' && entering))) return;
    const delayMs = kind === 'delay' ? (partition.options.entryDelayMs ?? 0) : 0;
    if (delayMs > 0) {
      this.#tell.partition(zone.options.partition, 'entry_delay', 'True');
      this.#after(partition, delayMs, () => this.#trigger(partition, key, zone));
    } else this.#trigger(partition, key, zone);
  }

  #trigger(partition: Partition, zoneKey: string, zone: Zone): void {
    const { key } = partition.options;
    this.#stopTimer(partition);
    zone.alarm = true;
    this.#tell.zone(zoneKey, 'alarm', 'True');
    this.#tell.partition(key, 'entry_delay', 'False');
    this.#setState(partition, 'triggered');
    this.#tell.partition(key, 'alarms_in_memory', 'True');
  }

  #inEntry(partition: Partition): boolean {
    return partition.timer !== undefined && partition.state !== 'arming';
  }

  #ready(partition: string): boolean {
    const zones = [...this.#zones.values()].filter((zone) => zone.options.partition === partition);
    return zones.every((zone) => !zone.open || zone.bypassed);
  }

  #tellReady(partition: string): void {
    this.#tell.partition(partition, 'ready_status', yesNo(this.#ready(partition)));
  }

  #setState(partition: Partition, state: CurrentState): void {
    if (partition.state === state) return;
    partition.state = state;
    this.#tell.partition(partition.options.key, 'current_state', state);
  }

  #setTarget(partition: Partition, target: ArmedState | 'disarmed'): void {
    if (partition.target === target) return;
    partition.target = target;
    this.#tell.partition(partition.options.key, 'target_state', target);
  }

  #after(partition: Partition, ms: number, then: () => void): void {
    partition.timer = setTimeout(() => {
      partition.timer = undefined;
      then();
    }, ms);
  }

  #stopTimer(partition: Partition): void {
    clearTimeout(partition.timer);
    partition.timer = undefined;
  }

  #zone(key: string): Zone {
    const zone = this.#zones.get(key);
    if (zone === undefined)
      throw new RangeError(`the panel has no zone ${key}; it has ${[...this.#zones.keys()].join(', ')}`);
    return zone;
  }
}
