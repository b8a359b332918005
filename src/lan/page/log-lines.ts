import type { LogLine } from '#lan/http/index.ts';

const most = 50;

/** The newest lines that name the device, oldest first. Pure. */
export function linesAbout(lines: readonly LogLine[], id: string): readonly LogLine[] {
  // An id is letters, digits, _ and -: "yard" is not in "yard-2".
  const named = new RegExp(`(?:^|[^\\w-])${id}(?![\\w-])`);
  return lines.filter(({ msg, more }) => Object.values(more).includes(id) || named.test(msg)).slice(-most);
}

/** The newest of them that tells of something wrong. Pure. */
export const lastFault = (lines: readonly LogLine[]): LogLine | undefined =>
  lines.findLast(({ level }) => level === 'error' || level === 'warn');

/** What a line says, with its reason. Pure. */
export const lineText = ({ msg, more }: LogLine): string =>
  typeof more.reason === 'string' ? `${msg} ${more.reason}` : msg;
