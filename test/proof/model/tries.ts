import type { Entry, History } from './history.ts';

/** One request with an event, and what came of it; `answerAt` is undefined where the box died first. */
export interface Try {
  readonly life: number;
  readonly postAt: number;
  readonly mono: number;
  readonly answerAt: number | undefined;
  readonly answer: Extract<Entry, { what: 'posted' }> | undefined;
}

/** Of each event, in order. */
export function triesOf({ entries }: History): ReadonlyMap<string, readonly Try[]> {
  const byId = new Map<string, Try[]>();
  let life = 0;
  for (const [postAt, entry] of entries.entries()) {
    if (entry.what === 'life') life += 1;
    if (entry.what !== 'post') continue;
    const end = entries.findIndex((other, at) => at > postAt && other.what === 'end');
    const answerAt = entries.findIndex(
      (other, at) => at > postAt && (end < 0 || at < end) && other.what === 'posted' && other.nth === entry.nth,
    );
    const found = entries[answerAt];
    const one: Try = {
      ...{ life, postAt, mono: entry.mono },
      answerAt: answerAt < 0 ? undefined : answerAt,
      answer: found?.what === 'posted' ? found : undefined,
    };
    byId.set(entry.eventId, [...(byId.get(entry.eventId) ?? []), one]);
  }
  return byId;
}
