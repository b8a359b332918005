import { stripVTControlCharacters } from 'node:util';

/** Rows as aligned columns, two spaces between them; the last column is never padded. */
export function table(rows: readonly (readonly string[])[], indent = ''): string {
  const clean = rows.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of clean)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  return clean
    .map(
      (row) =>
        indent +
        row.map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0))).join('  '),
    )
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Names come from devices: what could move the cursor, change colours or turn the order of letters is taken out. */
export const printable = (text: string): string =>
  stripVTControlCharacters(text)
    .replaceAll(/\p{Bidi_Control}/gu, '')
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();

/** A line with its indentation kept. */
export const printableLine = (line: string): string => `${/^ */.exec(line)?.[0] ?? ''}${printable(line)}`;

/** JSON in one line in which nothing moves the cursor or turns the order of letters: the same value, escaped. */
export const jsonLine = (value: unknown): string =>
  JSON.stringify(value ?? null).replaceAll(
    /[\p{Bidi_Control}\p{Cc}\p{Zl}\p{Zp}]/gu,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** "1 zone", "2 zones". */
export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** "512 B", "4.0 KiB", "1.2 GiB". */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = Math.max(0, bytes);
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}

/** "3 d 4 h", "12 min", "8 s": the two largest units. */
export function formatSpan(seconds: number): string {
  const units = [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
    ['s', 1],
  ] as const;
  let rest = Math.max(0, Math.floor(seconds));
  const parts: string[] = [];
  for (const [name, length] of units) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) parts.push(`${count} ${name}`);
  }
  return parts.slice(0, 2).join(' ') || '0 s';
}
