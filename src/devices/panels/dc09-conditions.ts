import type { Report } from '#lib/dc09/index.ts';

/** Reports that hold one condition and are remembered, the newest. */
const heldCap = 64;

interface Holder {
  readonly code: string;
  /** Of the module or zone; empty or 0 for the whole panel. */
  readonly number: string;
}

/**
 * What holds each condition of a panel: many codes are one trouble here, and the end of one is not the end of the others. After a
 * restart nothing is known, and any end ends it.
 */
export class Conditions {
  readonly #held: Map<string, readonly Holder[]>;

  constructor(held: ReadonlyMap<string, readonly Holder[]> = new Map()) {
    this.#held = new Map(held);
  }

  copy(): Conditions {
    return new Conditions(this.#held);
  }

  /** Whether the condition holds after this report. */
  take(condition: string, report: Report, { number, active }: { number: string; active: boolean }): boolean {
    const code = active ? codeOf(report) : beginOf(report);
    const others = (this.#held.get(condition) ?? []).filter(
      (held) => code !== undefined && !(held.code === code && isOne(held.number, number, active)),
    );
    const left = active && code !== undefined ? [...others, { code, number }].slice(-heldCap) : others;
    this.#held.set(condition, left);
    return left.length > 0;
  }
}

const isWhole = (number: string): boolean => number === '' || number === '0';

/** Panels are careless with the number of an end. */
const isOne = (held: string, number: string, active: boolean): boolean =>
  held === number || (!active && (isWhole(held) || isWhole(number)));

const codeOf = (report: Report): string => ('sia' in report ? report.sia : report.contactId.slice(1));

/** Ends in SIA that belong to one beginning, beside those of detectors: T ends with J, S with V. */
const begins: Readonly<Record<string, string>> = {
  ...{ YZ: 'YX', YQ: 'YP', ER: 'ET', IR: 'IA', VR: 'VT', LR: 'LT', NR: 'NT' },
};

/** What a report ends; undefined for one that ends whatever it may be. */
function beginOf(report: Report): string | undefined {
  const code = codeOf(report);
  if (!('sia' in report)) return code;
  if (Object.hasOwn(begins, code)) return begins[code];
  const [about = '', end] = code;
  return end === 'J' ? `${about}T` : end === 'V' ? `${about}S` : undefined;
}
