/** An instant on the clocks of a zone (IANA name), ISO 8601 with its offset: `2026-11-28T22:00:00+01:00`. */
export function localIso(wallMs: number, timezone: string): string {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'longOffset',
  });
  const parts = format.formatToParts(wallMs);
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? '';
  // "GMT+01:00", and "GMT" alone for UTC.
  const offset = part('timeZoneName').slice(3) || '+00:00';
  const date = `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
  return `${date}T${part('hour')}:${part('minute')}:${part('second')}${offset}`;
}
