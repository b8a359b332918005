/** One thing a panel reports: in Contact ID (DC-05), or in SIA (DC-03). Numbers as sent, with their zeros. */
export type Report =
  | { readonly contactId: string; readonly area: string; readonly number: string }
  | {
      readonly sia: string;
      readonly area?: string;
      readonly number?: string;
      readonly user?: string;
      /** The panel has kept it for a while. */
      readonly past?: true;
    };

/** More events than this stand in no frame that was made in good faith. */
const reportCap = 32;

/** The account that stands in the data itself, where one does. */
export const accountIn = (data: string): string | undefined => /^#([0-9A-Za-z]{1,16})(?=\||$)/.exec(data)?.[1];

/**
 * What the data of a frame reports. `[]` for an empty body, which says only that the panel lives; undefined for one
 * that cannot be read.
 */
export function parseReports(id: string, data: string): readonly Report[] | undefined {
  const text = data.replace(/^#?[0-9A-Za-z]{1,16}\|/, '');
  if (text === '' || /^#[0-9A-Za-z]{1,16}$/.test(text)) return [];
  if (id === 'ADM-CID') return contactId(text);
  if (id === 'SIA-DCS') return siaReports(text);
  return [];
}

/** `1130 01 005`; some put the account, and DC-05's message type 18, before it: `1234 18 1 130 01 005`. */
function contactId(text: string): readonly Report[] | undefined {
  const form = /^(?:[0-9A-F]{3,16} +)?(?:18 ?)?([136]) ?([0-9A-F]{3}) +([0-9A-F]{1,2}) +([0-9A-F]{1,4})(?![0-9A-F])/i;
  const [, qualifier, code, area, number] = form.exec(text.trim()) ?? [];
  if (qualifier === undefined || code === undefined || area === undefined || number === undefined) return undefined;
  return [{ contactId: `${qualifier}${code.toUpperCase()}`, area, number }];
}

const modifier = /^\/?([a-z]{2})([0-9:.\-,]*)/;
const event = /^\/?([A-Z][A-Z])(\d{0,8})/;
/** Free text from a caret to one behind which events go on, whatever carets stand in it; an open one takes all that is left. */
const caretText = /^\^[^^]*(?:\^(?!\/?(?:[a-z]{2}|[A-Z]{2})\d)[^^]*)*(?:\^(?=\/?(?:[a-z]{2}|[A-Z]{2})\d)|$)/;
/** After text only what has its number counts, so that no word is taken for an opening. */
const isFurther = /^[NO]\/?(?:[a-z]{2}|[A-Z]{2})\d/;
const isBlock = /^[NO](?=\/?(?:[a-z]{2}|[A-Z]{2}))/;

/**
 * `Nri1/BA001`, `NRR|Atest`, `Nri0RP2^SL 18^`, `Nti10:30/id7/ri1/OP7*'Anna'NM`: blocks between `|`, each N (new) or O (kept for
 * a while), what holds for the events after it, and the events. A block that begins otherwise, and what stands between carets or after
 * `*` or `"`, is text for people. What cannot be read after a good event takes nothing from it: an alarm is not refused
 * for what stands behind it. A frame with too many is not read at all, so that none is acknowledged and lost.
 */
function siaReports(text: string): readonly Report[] | undefined {
  const [first = '', ...more] = text.split('|');
  const reports = [first, ...more.filter((block) => isFurther.test(block))].flatMap(blockReports);
  return reports.length === 0 || reports.length > reportCap ? undefined : reports;
}

function blockReports(block: string): readonly Report[] {
  let left = block.replace(isBlock, '');
  const facts: { area?: string; user?: string; past?: true } =
    block.startsWith('O') && isBlock.test(block) ? { past: true } : {};
  const reports: Report[] = [];
  while (left !== '' && left !== '/') {
    const [changed, name, value] = modifier.exec(left) ?? [];
    const [reported, sia, number] = event.exec(left) ?? [];
    const taken = changed ?? reported ?? caretText.exec(left)?.[0];
    if (taken === undefined) break;
    if (name === 'ri' && value !== undefined) facts.area = value;
    if (name === 'id' && value !== undefined) facts.user = value;
    if (sia !== undefined)
      reports.push({ sia, ...(number === undefined || number === '' ? {} : { number }), ...facts });
    left = left.slice(taken.length);
  }
  return reports;
}
