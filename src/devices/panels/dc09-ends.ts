import type { Report } from '#lib/dc09/index.ts';

/** Its code alone: two letters of SIA, or three digits of Contact ID, without what says whether it begins or ends. */
export const nameOf = (report: Report): string => ('sia' in report ? report.sia : report.contactId.slice(1));

/** Ends in SIA that belong to one beginning, beside those of detectors: T ends with J, S with V. */
const begins: Readonly<Record<string, string>> = {
  ...{ YZ: 'YX', YQ: 'YP', ER: 'ET', IR: 'IA', VR: 'VT', LR: 'LT', NR: 'NT' },
};

/** What a report ends; undefined for one that ends whatever it may be. */
export function beginOf(report: Report): string | undefined {
  const code = nameOf(report);
  if (!('sia' in report)) return code;
  if (Object.hasOwn(begins, code)) return begins[code];
  const [about = '', end] = code;
  return end === 'J' ? `${about}T` : end === 'V' ? `${about}S` : undefined;
}
