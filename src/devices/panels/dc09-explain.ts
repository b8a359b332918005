import { parseContent, parseFrame, parseReports, type Report } from '#lib/dc09/index.ts';
import { termOf } from './code-terms.ts';
import { type ReportMeaning, reportMeaning } from './dc09-codes.ts';
import { nameOf } from './dc09-ends.ts';

/** One report of a frame, and what it means to siteward before any configuration. */
export interface Explained {
  readonly code: string;
  readonly term?: string;
  readonly area?: string;
  readonly number?: string;
  readonly meaning: string;
}

/**
 * Reads one frame of SIA DC-09, or the data of one as a panel's log shows it: `Nri1/BA2`, `1130 01 002`. A text in place of reports says
 * why it cannot be read. Text for people that stands in it is not repeated.
 */
export function explainFrame(given: string): readonly Explained[] | string {
  const text = given.trim();
  const isFrame = /^[0-9A-Fa-f]{8}"/.test(text);
  const frame = isFrame ? parseFrame(`\n${text}\r`) : undefined;
  if (typeof frame === 'string') return `is no whole frame (${frame}); give its data alone, such as Nri1/BA2`;
  if (frame?.isEncrypted === true) return 'is encrypted; give the data that the panel shows';
  const data = frame === undefined ? text : parseContent(frame.rest)?.data;
  const ids = frame === undefined ? ['ADM-CID', 'SIA-DCS'] : [frame.id];
  const [reports] = ids.flatMap((id) => (data === undefined ? [] : [parseReports(id, data) ?? []])).filter(isSome);
  if (frame?.id === 'NULL' || data === '') return [];
  return reports?.map(explained) ?? 'has no report that can be read';
}

const isSome = (reports: readonly Report[]): boolean => reports.length > 0;

function explained(report: Report): Explained {
  const { area, number } = report;
  const meaning = reportMeaning(report, 'closing');
  const term = termOf(nameOf(report));
  return {
    code: 'sia' in report ? report.sia : report.contactId,
    ...(term !== undefined && { term }),
    ...(area !== undefined && { area }),
    ...(number !== undefined && { number }),
    meaning: meaning === undefined ? 'no meaning here; acknowledged, and shown as a hint' : words(meaning),
  };
}

function words(meaning: ReportMeaning): string {
  const end = 'active' in meaning && !meaning.active ? ', its end' : '';
  switch (meaning.is) {
    case 'arming':
      return `the partition is ${meaning.state}`;
    case 'alarm':
      return `${meaning.role} alarm${end}`;
    case 'trouble':
    case 'pulse':
      return `trouble ${meaning.trouble}${end}`;
    case 'zone':
      return `alarm of the kind its zone has${end}`;
    case 'fault':
      return `the detector does not work as it should${end}`;
    case 'test':
      return `${meaning.test} test`;
    case 'nothing':
      return 'known, and no news for the site';
    default:
      return `${meaning.is}${end}`;
  }
}
