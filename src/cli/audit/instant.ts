import { InvalidArgumentError } from 'commander';

/** A day, or a time with its zone, as the time in UTC. */
export function instant(text: string): string {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  const at = new Date(text);
  if ((!isDay && !isTime) || Number.isNaN(at.getTime()))
    throw new InvalidArgumentError('It must be a day such as 2026-12-01 or a time such as 2026-12-01T08:00:00Z.');
  return at.toISOString();
}
