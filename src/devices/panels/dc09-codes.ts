import type { Report } from '#lib/dc09/index.ts';
import type { ArmingWord, TroubleKind } from '#site/model/index.ts';
import { type CodeMeaning, codeMeaning } from './codes.ts';

/**
 * What a report means to a receiver: beside the codes of `codes.ts` also opening and closing, bypass and tests, since
 * no state topic tells them here. `nothing`: known, and no news for the site.
 */
export type ReportMeaning =
  | CodeMeaning
  /** An alarm whose kind the zone decides. */
  | { readonly is: 'zone'; readonly active: boolean }
  | { readonly is: 'arming'; readonly state: ArmingWord }
  | { readonly is: 'bypass'; readonly active: boolean }
  | { readonly is: 'test'; readonly test: 'periodic' | 'manual' }
  | { readonly is: 'nothing' };

const set = (text: string): ReadonlySet<string> => new Set(text.split(' '));

const openClose = set('400 401 402 403 407 408 409');
const partClose = set('441 442 456');
const burglaryIds = set('140 155 374 423');
const zoneIds = set('118 146 150 152 153 158 159 161');
const bypassIds = set('570 571 572 573 575');
const quietIds = set(
  '404 405 406 411 412 421 451 452 453 454 455 457 458 459 462 463 466 603 604 605 606 607 611 621 622 623 624 625 627 628 629 632 305 306 313',
);
/** Proofs of the way to the station; 608 and TX come with a trouble, which is told by a code of its own. */
const testIds: Readonly<Record<string, 'periodic' | 'manual'>> = {
  '601': 'manual',
  '602': 'periodic',
  '608': 'periodic',
};
const troubleIds: Readonly<Record<string, TroubleKind>> = { '147': 'supervision', '300': 'system' };

const sias: Readonly<Record<string, ReportMeaning>> = {
  ...all('OP OA OQ OS OR OG', { is: 'arming', state: 'disarmed' }),
  ...all('CL CA CQ CS CP CF', { is: 'arming', state: 'armed_away' }),
  ...all('CG NL NF', { is: 'arming', state: 'armed_home' }),
  ...all('BB FB GB HB KB MB PB QB TB UB WB', { is: 'bypass', active: true }),
  ...all('BU FU GU HU KU MU PU QU TU UU WU', { is: 'bypass', active: false }),
  ...all('BV BM EA', { is: 'burglary', active: true }),
  ...all('UA SA ZA', { is: 'zone', active: true }),
  ...all('UH UR SH SR ZH ZR', { is: 'zone', active: false }),
  ...all('YA', { is: 'trouble', trouble: 'siren_fault', active: true }),
  ...all('YH', { is: 'trouble', trouble: 'siren_fault', active: false }),
  ...all('LT NT', { is: 'trouble', trouble: 'comm_fail', active: true }),
  ...all('LR NR', { is: 'trouble', trouble: 'comm_fail', active: false }),
  ...all('YX', { is: 'trouble', trouble: 'system', active: true }),
  ...all('YZ', { is: 'trouble', trouble: 'system', active: false }),
  ...all('RP TX', { is: 'test', test: 'periodic' }),
  ...all('RX', { is: 'test', test: 'manual' }),
  ...all('RR RB RS TS TE BX FX LB LX BC FC OC CI CR CW DD EE JT OI YW', { is: 'nothing' }),
};

/**
 * The meaning of a report; undefined for a code siteward does not know. `partArming`: makers differ over 441 and 456,
 * so that without a word of the site only a closing arms (panels.md 2).
 */
export function reportMeaning(report: Report, partArming: 'closing' | 'opening'): ReportMeaning | undefined {
  if ('sia' in report) return Object.hasOwn(sias, report.sia) ? sias[report.sia] : codeMeaning(report);
  const qualifier = report.contactId.slice(0, 1);
  const code = report.contactId.slice(1);
  // Still there: it was told when it began.
  if (qualifier === '6' || quietIds.has(code)) return { is: 'nothing' };
  const active = qualifier === '1';
  const test = Object.hasOwn(testIds, code) ? testIds[code] : undefined;
  if (test !== undefined) return active ? { is: 'test', test } : { is: 'nothing' };
  if (openClose.has(code)) return { is: 'arming', state: active ? 'disarmed' : 'armed_away' };
  if (partClose.has(code)) return partArmed(active, partArming);
  if (burglaryIds.has(code)) return { is: 'burglary', active };
  if (zoneIds.has(code)) return { is: 'zone', active };
  if (bypassIds.has(code)) return { is: 'bypass', active };
  const trouble = Object.hasOwn(troubleIds, code) ? troubleIds[code] : undefined;
  return trouble === undefined ? codeMeaning(report) : { is: 'trouble', trouble, active };
}

function partArmed(isOpening: boolean, partArming: 'closing' | 'opening'): ReportMeaning | undefined {
  if (partArming === 'opening') return { is: 'arming', state: isOpening ? 'armed_home' : 'disarmed' };
  return isOpening ? undefined : { is: 'arming', state: 'armed_home' };
}

function all(codes: string, meaning: ReportMeaning): Record<string, ReportMeaning> {
  return Object.fromEntries(codes.split(' ').map((code) => [code, meaning]));
}
