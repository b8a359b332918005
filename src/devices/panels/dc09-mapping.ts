import type { Report } from '#lib/dc09/index.ts';
import {
  dangerTypes,
  type PanelAlarm,
  type PartitionId,
  type ReportedCode,
  type SignalOf,
  type TroubleKind,
  type ZoneNumber,
  type ZoneType,
} from '#site/model/index.ts';
import { termOf } from './code-terms.ts';
import { fits, type Role } from './codes.ts';
import { type ReportMeaning, reportMeaning } from './dc09-codes.ts';
import { beginOf, nameOf } from './dc09-ends.ts';
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
type ReportSignal = SignalOf<'zone' | 'partition' | 'trouble' | 'test' | 'alarm'>;
/** The frame, how long ago it happened where that is known, and the time in the frame. */
interface Sent {
  readonly frame: string;
  readonly ageMs?: number | undefined;
  readonly sentAt?: number | undefined;
}
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
  /** The detectors that hold a zone in alarm which stands for several, by the numbers their panel gives them. */
  readonly #detectors = new Map<ZoneNumber, Set<string>>();
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

  read(reports: readonly Report[], { frame, ageMs, sentAt }: Sent): Mapped {
    const all = reports.map((report) => this.#one(report, ageMs !== undefined));
    const age = { ...(ageMs === undefined ? {} : { ageMs }), ...(sentAt === undefined ? {} : { sentAt }) };
    return {
      // A frame may report twice of one zone.
      signals: all.flatMap(({ signals }, n) =>
        signals.map((signal) => ({ ...signal, report: `${frame}.${n}`, ...age, ...codeOf(signal, reports[n]) })),
      ),
      hints: all.flatMap(({ hints }) => hints),
      isShown: all.length === 0 || all.some(({ isShown }) => isShown),
      kept: () => {
        for (const { kept } of all) kept();
      },
    };
  }

  #one(report: Report, isOld: boolean): Mapped {
    const meaning = reportMeaning(report, this.#partArming);
    const number = normalKey(report.number ?? '', 'number');
    if (meaning === undefined) return hinted(unknownCode(report));
    switch (meaning.is) {
      case 'nothing':
        return made([]);
      case 'test':
        return made([{ kind: 'test', source: this.#mapping.panel, test: meaning.test }]);
      case 'arming':
        return this.#arming(report, meaning.state, isOld || 'past' in report);
      case 'burglary':
        return this.#burglary(report, number, meaning.active);
      case 'trouble':
        return this.#trouble(report, number, meaning) ?? this.#condition(report, number, meaning);
      case 'fault':
        return this.#condition(report, number, meaning);
      case 'pulse':
        return made([{ ...this.#ofPanel(meaning.trouble, true), pulse: true, apart: true }]);
      case 'alarm':
        return this.#danger(report, number, meaning);
      case 'zone':
        return this.#zoneAlarm(report, number, meaning.active);
      case 'bypass':
        return this.#bypass(number, meaning.active);
    }
  }

  #arming(report: Report, state: Extract<ReportMeaning, { is: 'arming' }>['state'], isOld: boolean): Mapped {
    const partition = this.#partition(report);
    if (partition === undefined) return hinted(unknownPartition(report));
    const user = userOf(report);
    const source = this.#mapping.panel;
    const past = 'past' in report ? { past: report.past } : {};
    const said = { ...(user && { user }), ...past };
    const change: ReportSignal = { kind: 'partition', source, partition, state, replay: false, ...said };
    if (state !== 'disarmed') return made([change]);
    // The disarm first: an alarm that is running is taken back before its zones are calm.
    const over = [...new Set([...this.#alarmed, ...this.#perhaps])].filter((zone) =>
      this.#partitionsOf(zone).includes(partition),
    );
    return made([change, ...over.map((zone) => this.#zone(zone, { alarm: false, opening: partition }))], () => {
      // One that is old may change nothing, and then the next one ends them.
      if (isOld) return;
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
    const partition = this.#partition(report) ?? (zone === undefined ? undefined : this.#owned(zone.number));
    const hints = [
      ...(zone === undefined ? [unknownZone(number)] : []),
      ...(partition === undefined ? [unknownPartition(report)] : []),
    ];
    // Its zone makes no alarm here, and yet the panel has judged it.
    const isAnonymous = zone === undefined || noAlarm.has(zone.type);
    const source = this.#mapping.panel;
    const told = isAnonymous ? ({ told: 'burglary' } as const) : {};
    const triggered: readonly ReportSignal[] =
      partition === undefined || (zone !== undefined && dangerTypes.has(zone.type))
        ? []
        : [{ kind: 'partition', source, partition, state: 'triggered', ...told, replay: false }];
    if (isAnonymous) return { ...made([...triggered, this.#alarm(report, 'burglary')]), hints };
    const ofZone =
      partition === undefined && !dangerTypes.has(zone.type)
        ? this.#alarm(report, 'burglary', zone.number)
        : this.#zone(zone.number, { alarm: true });
    return { signals: [ofZone, ...triggered], hints, isShown: true, kept: () => this.#holds(zone) };
  }

  /** From now on it is in alarm until its panel says otherwise, or opens. */
  #holds(zone: Zone | undefined): void {
    if (zone !== undefined && !dangerTypes.has(zone.type)) this.#alarmed.add(zone.number);
  }

  /**
   * Fire, hold-up and their like: by the zone of that number where it is one for it, else by the one that stands for the danger,
   * else as an alarm of the panel. A hold-up never shows (safety 4).
   */
  #danger(report: Report, number: string, { role, active }: { role: Role; active: boolean }): Mapped {
    const named = this.#mapping.zones.get(number);
    const isOwn = named !== undefined && fits(role, named);
    const zone = isOwn ? named : this.#mapping.zones.get(role);
    const misfit = named === undefined || isOwn || !active || role === 'duress' ? [] : [unfitting(number, named, role)];
    if (zone === undefined) {
      if (role === 'duress') return { ...made(active ? [this.#alarm(report, 'panic_silent')] : []), isShown: false };
      if (!active) return made([]);
      return { ...made([this.#alarm(report, role)]), hints: [...misfit, unknownZone(role)] };
    }
    const isShown = zone.type !== 'panic_silent';
    const hints = isShown ? misfit : [];
    const detector = isOwn ? '' : number;
    const others = [...(this.#detectors.get(zone.number) ?? [])].filter((other) => other !== detector);
    // Of several detectors that one zone stands for, the end of one is not the end of the others.
    const isOver = !active && (detector === '' || detector === '0' || others.length === 0);
    const signals = active || isOver ? [this.#zone(zone.number, { alarm: active })] : [];
    const left = isOver ? [] : active ? [...others, detector].slice(-detectorCap) : others;
    return { signals, hints, isShown, kept: () => void this.#detectors.set(zone.number, new Set(left)) };
  }

  /** An alarm whose kind the zone decides. That of a burglary zone counts whatever the arming: its panel has judged it. */
  #zoneAlarm(report: Report, number: string, active: boolean): Mapped {
    const zone = this.#mapping.zones.get(number);
    if (zone === undefined)
      return active ? { ...made([this.#alarm(report, 'technical')]), hints: [unknownZone(number)] } : made([]);
    if (dangerTypes.has(zone.type) || !active) {
      const kept = () => void this.#alarmed.delete(zone.number);
      return { ...made([this.#zone(zone.number, { alarm: active })], kept), isShown: zone.type !== 'panic_silent' };
    }
    return made([this.#alarm(report, 'technical', zone.number)], () => this.#holds(zone));
  }

  /** An alarm that no zone stands for, or whose zone would make none. */
  #alarm(report: Report, alarm: PanelAlarm, zone?: ZoneNumber): ReportSignal {
    const partition = this.#partition(report);
    return {
      ...{ kind: 'alarm', source: this.#mapping.panel, alarm },
      ...(partition === undefined ? {} : { partition }),
      ...(partition === undefined && !isWhole(report.area) ? { elsewhere: true } : {}),
      ...(zone === undefined ? {} : { zone }),
    };
  }

  /** What a detector lacks is told of its zone, if it is known and the code speaks of zones; undefined for the rest. */
  #trouble(
    report: Report,
    number: string,
    { trouble, active }: Extract<ReportMeaning, { is: 'trouble' }>,
  ): Mapped | undefined {
    const speaksOfZone = 'sia' in report || zoneTroubles.has(report.contactId.slice(1));
    const zone = speaksOfZone ? this.#mapping.zones.get(number) : undefined;
    if (zone !== undefined && trouble === 'tamper') return made([this.#zone(zone.number, { tamper: active })]);
    if (zone !== undefined && trouble === 'sensor_battery')
      return made([this.#zone(zone.number, { lowBattery: active })]);
    if (zone !== undefined && trouble === 'supervision') return made([this.#zone(zone.number, { online: !active })]);
    return undefined;
  }

  /** A trouble of the panel, or a fault of the zone that is known by its number; each code and number has an end of its own. */
  #condition(report: Report, number: string, meaning: Extract<ReportMeaning, { is: 'trouble' | 'fault' }>): Mapped {
    const { active } = meaning;
    const trouble = meaning.is === 'fault' ? 'system' : meaning.trouble;
    const zone = meaning.is === 'fault' ? this.#mapping.zones.get(number) : undefined;
    const ends = active ? undefined : beginOf(report);
    return made([
      {
        ...this.#ofPanel(trouble, active),
        apart: true,
        ...(zone === undefined ? {} : { zone: zone.number }),
        ...(ends === undefined ? {} : { ends }),
      },
    ]);
  }

  #ofPanel(trouble: TroubleKind, active: boolean): Extract<ReportSignal, { kind: 'trouble' }> {
    return { kind: 'trouble', source: this.#mapping.panel, trouble, active, replay: false };
  }

  #bypass(number: string, bypassed: boolean): Mapped {
    const zone = this.#mapping.zones.get(number);
    if (zone === undefined) return hinted(unknownZone(number));
    return { ...made([this.#zone(zone.number, { bypassed })]), isShown: zone.type !== 'panic_silent' };
  }

  #zone(
    zone: ZoneNumber,
    facts: Pick<
      Extract<ReportSignal, { kind: 'zone' }>,
      'alarm' | 'tamper' | 'bypassed' | 'lowBattery' | 'online' | 'opening'
    >,
  ): ReportSignal {
    return { kind: 'zone', source: this.#mapping.panel, zone, ...facts, replay: false };
  }

  /** The area named; a panel with one partition need not name it, and 0 is "the whole panel". */
  #partition({ area }: Report): PartitionId | undefined {
    const { partitions, aliases } = this.#mapping;
    const key = normalKey(area ?? '', 'number');
    const named = partitions.get(key) ?? partitions.get(aliases.get(key) ?? '');
    if (named !== undefined || partitions.size !== 1) return named;
    return isWhole(area) ? [...partitions.values()][0] : undefined;
  }

  #owned(zone: ZoneNumber): PartitionId | undefined {
    const owned = [...this.#mapping.partitions.values()];
    const [one, more] = this.#partitionsOf(zone).filter((id) => owned.includes(id));
    return more === undefined ? one : undefined;
  }
}

/** The code and number a signal tells. What an opening has made calm was told by no code. */
function codeOf(signal: ReportSignal, report: Report | undefined): { code?: ReportedCode } {
  if (report === undefined || (signal.kind === 'zone' && signal.opening !== undefined)) return {};
  const code = nameOf(report);
  const number = normalKey(report.number ?? '', 'number');
  const term = termOf(code);
  return {
    code: { code, ...(number === '' || number === '0' ? {} : { number }), ...(term === undefined ? {} : { term }) },
  };
}

/** It names no area; 0 is "the whole panel". */
const isWhole = (area: string | undefined): boolean => ['', '0'].includes(normalKey(area ?? '', 'number'));

/** Types that stand for no alarm of their own. */
const noAlarm: ReadonlySet<ZoneType> = new Set<ZoneType>([
  'no_alarm_response',
  'key_switch_momentary',
  'key_switch_maintained',
]);

/** Detectors that one zone stands for and that are remembered. */
const detectorCap = 64;

/** Contact ID codes of troubles whose number is a zone; that of the others is a module. */
const zoneTroubles: ReadonlySet<string> = new Set(['137', '144', '147', '381', '383', '384']);

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

const unfitting = (key: string, { number, type }: Zone, role: Role): HintDraft => ({
  kind: 'type_differs',
  about: `zone ${number} as ${role}`,
  text: `The panel reports ${role} with the number "${key}", which is zone ${number} of type ${type}. It was told as an alarm of its own; if the number is that zone's, correct its type, else add a zone with the key ${role}.`,
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
