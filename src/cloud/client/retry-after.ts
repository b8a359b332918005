/**
 * What a `Retry-After` header asks for, milliseconds from now; undefined when there is none that can be read. A date
 * is measured against the answer's own `Date`, so that a wrong clock on the bridge does not matter; `wallMs` is used
 * only where the answer has none (RFC 9110 10.2.3).
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, wallMs: number): number | undefined {
  const value = headers['retry-after']?.trim();
  if (value === undefined || value === '') return undefined;
  if (/^\d{1,10}(\.\d+)?$/.test(value)) return Math.round(Number(value) * 1000);
  // Its three forms begin with the name of a day. `Date.parse` reads a date out of almost any text.
  const until = /^(mon|tue|wed|thu|fri|sat|sun)/i.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(until)) return undefined;
  const own = Date.parse(headers.date ?? '');
  return Math.max(0, until - (Number.isNaN(own) ? wallMs : own));
}
