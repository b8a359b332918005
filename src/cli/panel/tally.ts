import type { Note, Verdict } from '#devices/panels/index.ts';
import { counted } from '../table.ts';
import { percent } from './text.ts';

/** Unknown values that are named in a summary, and examples of each. */
const fieldCap = 32;
const valueCap = 8;

/** Counts what became of messages. Bounded whatever comes. */
export function createTally() {
  const counts: Record<Verdict, number> = { understood: 0, silent: 0, unknown: 0, dropped: 0, unmatched: 0 };
  const unknown = new Map<string, { rule: string; field: string; values: Set<string> }>();
  return {
    add(verdict: Verdict, notes: readonly Note[]): void {
      counts[verdict] += 1;
      for (const note of notes) {
        if (note.kind !== 'unmapped') continue;
        const key = `${note.rule} ${note.field}`;
        const entry = unknown.get(key) ?? { rule: note.rule, field: note.field, values: new Set<string>() };
        if (unknown.size < fieldCap) unknown.set(key, entry);
        if (entry.values.size < valueCap) entry.values.add(note.value);
      }
    },
    summary() {
      const { understood, silent, unknown: unread, dropped, unmatched } = counts;
      const told = understood + unread + dropped;
      return {
        matched: told + silent,
        understood,
        silent,
        not_understood: unread + dropped,
        unmatched,
        share: told === 0 ? null : understood / told,
        unknown: [...unknown.values()].map(({ rule, field, values }) => ({ topic: rule, field, values: [...values] })),
      };
    },
    lines(): string[] {
      const { matched, understood, silent, not_understood: not, unmatched, unknown: fields } = this.summary();
      return [
        `${counted(matched, 'message')} ${matched === 1 ? 'belongs' : 'belong'} to the profile: ${understood} understood, ${not} not (${percent(understood, understood + not)}), ${silent} say nothing about the panel; ${unmatched} are not for it`,
        ...fields.map(({ topic, field, values }) => `unknown value of ${field} on ${topic}: ${values.join(', ')}`),
      ];
    },
  };
}
