import type { Report } from '#lib/dc09/index.ts';
import { dangerTypes, type PartitionId, type Signal, type ZoneNumber, type ZoneType } from '#site/model/index.ts';
import type { Role } from './codes.ts';
import { type ReportMeaning, reportMeaning } from './dc09-codes.ts';
import type { HintDraft } from './hints.ts';
import type { Mapping } from './mapping.ts';
import { normalKey } from './values.ts';

/** What a frame's reports make. `isShown`: false when nobody on the site may notice it (safety 4). */
export interface Mapped {
  readonly signals: readonly ReportSignal[];
  readonly hints: readonly HintDraft[];
  readonly isShown: boolean;
  /** To be called when the signals are on disk. */
  kept(): void;
}

/** What a report can say. */
type ReportSignal = Extract<Signal, { kind: 'zone' | 'partition' | 'trouble' | 'test' }>;
type Zone = { readonly number: ZoneNumber; readonly type: ZoneType };

/**
 * Turns reports into signals with the site's numbers. Each names its report, so that a frame that comes again because
 * siteward died before it answered is known by the core, and an alarm in another frame is another one. Many panels
 * report no end of an alarm: what the site holds in alarm ends with the next opening.
 */
export class ReportMapping {
  readonly #mapping: Mapping;
  readonly #partArming: 'closing' | 'opening';
  readonly #partitionsOf: (zone: ZoneNumber) => readonly PartitionId[];
  /** Burglary zones in alarm by what this run has kept. */
  readonly #alarmed = new Set<ZoneNumber>();
  /** Burglary zones that may be in alarm since an earlier run. */
  readonly #perhaps: Set<ZoneNumber>;

  constructor(options: {
    mapping: Mapping;
    partArming: 'closing' | 'opening';
    partitionsOf: (zone: ZoneNumber) => readonly PartitionId[];
  }) {
    this.#mapping = options.mapping;
    this.#partArming = options.partArming;
    this.#partitionsOf = options.partitionsOf;
    const zones = [...options.mapping.zones.values()];
    this.#perhaps = new Set(zones.filter(({ type }) => !dangerTypes.has(type)).map(({ number }) => number));
  }

  /** `frame` names the frame they stand in; `ageMs`: how long ago it happened, where that is known. */
  read(reports: readonly Report[], { frame, ageMs }: { frame: string; ageMs?: number | undefined }): Mapped {
    const all = reports.map((report) => this.#one(report));
    const age = ageMs === undefined ? {} : { ageMs };
    return {
      // A frame may report twice of one zone.
      signals: all.flatMap(({ signals }, n) =>
        signals.map((signal) => ({ ...signal, report: `${frame}.${n}`, ...age })),
      ),
      hints: all.flatMap(({ hints }) => hints),
      isShown: all.length === 0 || all.some(({ isShown }) => isShown),
      kept: () => {
        for (const { kept } of all) kept();
      },
    };
  }

  #one(report: Report): Mapped {
    const meaning = reportMeaning(report, this.#partArming);
    const number = normalKey(report.number ?? '', 'number');
    if (meaning === undefined) return hinted(unknownCode(report));
    switch (meaning.is) {
      case 'nothing':
        return made([]);
      case 'test':
        return made([{ kind: 'test', source: this.#mapping.panel, test: meaning.test }]);
      case 'arming':
        return this.#arming(report, meaning.state);
      case 'burglary':
        return this.#burglary(report, number, meaning.active);
      case 'trouble':
        return this.#trouble(number, meaning, 'sia' in report || zoneTroubles.has(report.contactId.slice(1)));
      case 'alarm':
        return this.#danger(number, meaning.role, meaning.active);
      case 'zone':
        return this.#ofZone(number, { alarm: meaning.active });
      case 'bypass':
        return this.#ofZone(number, { bypassed: meaning.active });
    }
  }

  #arming(report: Report, state: Extract<ReportMeaning, { is: 'arming' }>['state']): Mapped {
    const partition = this.#partition(report);
    if (partition === undefined) return hinted(unknownPartition(report));
    const user = userOf(report);
    const source = this.#mapping.panel;
    const change: ReportSignal = { kind: 'partition', source, partition, state, replay: false, ...(user && { user }) };
    if (state !== 'disarmed') return made([change]);
    // The disarm first: an alarm that is running is taken back before its zones are calm.
    const over = [...new Set([...this.#alarmed, ...this.#perhaps])].filter((zone) =>
      this.#partitionsOf(zone).includes(partition),
    );
    return made([change, ...over.map((zone) => this.#zone(zone, { alarm: false }))], () => {
      for (const zone of over) {
        this.#alarmed.delete(zone);
        this.#perhaps.delete(zone);
      }
    });
  }

  /** A panel reports a burglary when it has judged it: the zone, if it is known, and the partition are in alarm. */
  #burglary(report: Report, number: string, active: boolean): Mapped {
    const zone = this.#mapping.zones.get(number);
    // Whatever its panel calls it: the site says that the button is silent (safety 4).
    if (zone?.type === 'panic_silent') {
      return { ...made([this.#zone(zone.number, { alarm: active })]), isShown: false };
    }
    if (!active) {
      if (zone === undefined) return made([]);
      return made([this.#zone(zone.number, { alarm: false })], () => void this.#alarmed.delete(zone.number));
    }
    const ofZone = zone === undefined ? [] : [this.#zone(zone.number, { alarm: true })];
    const partition = this.#partition(report) ?? (zone === undefined ? undefined : this.#owned(zone.number));
    const source = this.#mapping.panel;
    const triggered: readonly ReportSignal[] =
      partition === undefined || (zone !== undefined && dangerTypes.has(zone.type))
        ? []
        : [{ kind: 'partition', source, partition, state: 'triggered', replay: false }];
    const hints = [
      ...(zone === undefined ? [unknownZone(number)] : []),
      ...(partition === undefined ? [unknownPartition(report)] : []),
    ];
    const kept = () => {
      if (zone !== undefined && !dangerTypes.has(zone.type)) this.#alarmed.add(zone.number);
    };
    return { signals: [...ofZone, ...triggered], hints, isShown: true, kept };
  }

  /** Fire, hold-up and their like: by the zone of that number, or by the one that stands for the danger. */
  #danger(number: string, role: Role, active: boolean): Mapped {
    const named = this.#mapping.zones.get(number);
    const zone = named !== undefined && fits(role, named) ? named : this.#mapping.zones.get(role);
    // A hold-up nobody has a zone for leaves no trace (safety 4).
    if (zone === undefined)
      return role === 'duress' ? { ...made([]), isShown: false } : active ? hinted(unknownZone(role)) : made([]);
    const isShown = zone.type !== 'panic_silent';
    return { ...made([this.#zone(zone.number, { alarm: active })]), isShown };
  }

  /** What a detector lacks is told of its zone, if it is known and the code speaks of zones; the rest of the panel. */
  #trouble(
    number: string,
    { trouble, active }: Extract<ReportMeaning, { is: 'trouble' }>,
    speaksOfZone: boolean,
  ): Mapped {
    const zone = speaksOfZone ? this.#mapping.zones.get(number) : undefined;
    if (zone !== undefined && trouble === 'tamper') return made([this.#zone(zone.number, { tamper: active })]);
    if (zone !== undefined && trouble === 'sensor_battery')
      return made([this.#zone(zone.number, { lowBattery: active })]);
    if (zone !== undefined && trouble === 'supervision') return made([this.#zone(zone.number, { online: !active })]);
    return made([{ kind: 'trouble', source: this.#mapping.panel, trouble, active, replay: false }]);
  }

  #ofZone(number: string, fact: { alarm: boolean } | { bypassed: boolean }): Mapped {
    const zone = this.#mapping.zones.get(number);
    if (zone === undefined) return hinted(unknownZone(number));
    return { ...made([this.#zone(zone.number, fact)]), isShown: zone.type !== 'panic_silent' };
  }

  #zone(
    zone: ZoneNumber,
    facts: { alarm?: boolean; tamper?: boolean; bypassed?: boolean; lowBattery?: boolean; online?: boolean },
  ): ReportSignal {
    return { kind: 'zone', source: this.#mapping.panel, zone, ...facts, replay: false };
  }

  /** The area named; a panel with one partition need not name it, and 0 is "the whole panel". */
  #partition({ area }: Report): PartitionId | undefined {
    const { partitions, aliases } = this.#mapping;
    const key = normalKey(area ?? '', 'number');
    const named = partitions.get(key) ?? partitions.get(aliases.get(key) ?? '');
    if (named !== undefined || partitions.size !== 1) return named;
    return key === '' || key === '0' ? [...partitions.values()][0] : undefined;
  }

  #owned(zone: ZoneNumber): PartitionId | undefined {
    const owned = [...this.#mapping.partitions.values()];
    const [one, more] = this.#partitionsOf(zone).filter((id) => owned.includes(id));
    return more === undefined ? one : undefined;
  }
}

/** Contact ID codes of troubles whose number is a zone; that of the others is a module. */
const zoneTroubles: ReadonlySet<string> = new Set(['144', '147', '381', '383', '384']);

/** With a hold-up the number may be that of a user, so that it must not set off another zone. */
function fits(role: Role, { type }: Zone): boolean {
  if (role === 'duress') return type === 'panic_silent';
  return role === 'panic' ? type.startsWith('panic_') : type !== 'panic_silent';
}

function userOf(report: Report): string | undefined {
  const user = 'sia' in report ? (report.user ?? report.number) : report.number;
  const plain = normalKey(user ?? '', 'number');
  return plain === '' || plain === '0' ? undefined : plain;
}

const made = (signals: readonly ReportSignal[], kept: () => void = () => {}): Mapped => ({
  signals,
  hints: [],
  isShown: true,
  kept,
});
const hinted = (hint: HintDraft): Mapped => ({ ...made([]), hints: [hint] });

const unknownZone = (key: string): HintDraft => ({
  kind: 'unknown_key',
  about: `zone ${key === '' ? '(none)' : key}`,
  text: `The panel reports a zone "${key}" that is not configured. Add a zone with this key.`,
});

const unknownPartition = ({ area = '' }: Report): HintDraft => ({
  kind: 'unknown_key',
  about: `partition ${area === '' ? '(none)' : area}`,
  text: `The panel reports of an area "${area}" that is not configured. Add its number under partitions.`,
});

const unknownCode = (report: Report): HintDraft => ({
  kind: 'unknown_value',
  about: 'report',
  text: 'The panel reports codes siteward has no meaning for; they were acknowledged and changed nothing.',
  value: 'sia' in report ? report.sia : report.contactId,
});
