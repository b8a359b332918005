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
  /** A detector does not work as it should, in a way that has no name of its own here. */
  | { readonly is: 'fault'; readonly active: boolean }
  /** A trouble nobody tells the end of. */
  | { readonly is: 'pulse'; readonly trouble: TroubleKind }
  | { readonly is: 'arming'; readonly state: ArmingWord }
  | { readonly is: 'bypass'; readonly active: boolean }
  | { readonly is: 'test'; readonly test: 'periodic' | 'manual' }
  | { readonly is: 'nothing' };

const set = (text: string): ReadonlySet<string> => new Set(text.split(' '));

const openClose = set('400 401 402 403 407 408 409');
const partClose = set('441 442 456');
const burglaryIds = set('140 155 374 423');
const zoneIds = set('150 152 153 158 159 161');
const faultIds = set('156 200 201 202 203 204 205 206 370 371 372 373 375 377 378 380 385 386 387 388 389 390 392 393');
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
const troubleIds: Readonly<Record<string, TroubleKind>> = {
  ...each('supervision', '147 382'),
  ...each(
    'system',
    '141 142 143 300 303 304 307 308 310 312 320 322 323 324 325 330 331 332 333 334 335 336 337 339 342 343',
  ),
  ...each('battery_low', '338'),
  ...each('comm_fail', '355 356 357 358 359 360 551'),
  ...each('siren_fault', '520'),
};
const pulseIds: Readonly<Record<string, TroubleKind>> = {
  ...each('system', '391 414 461 641 654'),
  ...each('clock', '626'),
};

const sias: Readonly<Record<string, ReportMeaning>> = {
  ...all('OP OA OQ OS OR OG', { is: 'arming', state: 'disarmed' }),
  ...all('CL CA CQ CS CP CF', { is: 'arming', state: 'armed_away' }),
  ...all('CG NL NF', { is: 'arming', state: 'armed_home' }),
  ...all('BB FB GB HB KB MB PB QB TB UB WB', { is: 'bypass', active: true }),
  ...all('BU FU GU HU KU MU PU QU TU UU WU', { is: 'bypass', active: false }),
  ...all('BT FT GT KT MT PT QT ST UT WT ZT', { is: 'fault', active: true }),
  ...all('BJ FJ GJ KJ MJ PJ QJ SJ UJ WJ ZJ', { is: 'fault', active: false }),
  ...all('BS FS GS HS KS MS PS QS SS US WS ZS BD BZ', { is: 'fault', active: true }),
  ...all('FV GV HV KV MV PV QV SV UV WV ZV BE', { is: 'fault', active: false }),
  ...all('BV BM DF EA', { is: 'burglary', active: true }),
  ...all('UA UX ZA', { is: 'zone', active: true }),
  ...all('UH UR ZH ZR', { is: 'zone', active: false }),
  ...all('YA', { is: 'trouble', trouble: 'siren_fault', active: true }),
  ...all('YH', { is: 'trouble', trouble: 'siren_fault', active: false }),
  ...all('LT NT', { is: 'trouble', trouble: 'comm_fail', active: true }),
  ...all('LR NR', { is: 'trouble', trouble: 'comm_fail', active: false }),
  ...all('YX ET IA VT YP', { is: 'trouble', trouble: 'system', active: true }),
  ...all('YZ ER IR VR YQ', { is: 'trouble', trouble: 'system', active: false }),
  ...all('RP TX', { is: 'test', test: 'periodic' }),
  ...all('RX', { is: 'test', test: 'manual' }),
  ...all('JA NA', { is: 'pulse', trouble: 'system' }),
  ...all('JD', { is: 'pulse', trouble: 'clock' }),
  ...all('GX HX KX MX PX QX SX WX ZX JL JO JS RC RO', { is: 'nothing' }),
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
  if (faultIds.has(code)) return { is: 'fault', active };
  if (bypassIds.has(code)) return { is: 'bypass', active };
  const pulse = Object.hasOwn(pulseIds, code) ? pulseIds[code] : undefined;
  if (pulse !== undefined) return active ? { is: 'pulse', trouble: pulse } : { is: 'nothing' };
  const trouble = Object.hasOwn(troubleIds, code) ? troubleIds[code] : undefined;
  if (trouble !== undefined) return { is: 'trouble', trouble, active };
  // The hundreds are alarms, also those that siteward does not know.
  return codeMeaning(report) ?? (code.startsWith('1') ? { is: 'zone', active } : undefined);
}

function partArmed(isOpening: boolean, partArming: 'closing' | 'opening'): ReportMeaning | undefined {
  if (partArming === 'opening') return { is: 'arming', state: isOpening ? 'armed_home' : 'disarmed' };
  return isOpening ? undefined : { is: 'arming', state: 'armed_home' };
}

function each(trouble: TroubleKind, codes: string): Record<string, TroubleKind> {
  return Object.fromEntries(codes.split(' ').map((code) => [code, trouble]));
}

function all(codes: string, meaning: ReportMeaning): Record<string, ReportMeaning> {
  return Object.fromEntries(codes.split(' ').map((code) => [code, meaning]));
}
