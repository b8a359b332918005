import type { CommandAnswer } from '#lan/http/index.ts';
import { waitText } from './error-text.ts';
import { isolated, type Words } from './text.ts';

type Told = Pick<CommandAnswer, 'error' | 'undone' | 'left_out' | 'alarms' | 'zone_names'>;

/** What came of a command, in sentences. `zones`: the site's, for those that the answer does not name. Pure. */
export function answerText(
  answer: Told & { readonly outcome: CommandAnswer['outcome'] },
  words: Words,
  zones: readonly { readonly number: string; readonly name: string }[] = [],
): string {
  const { t, word } = words;
  const { outcome, error, undone = [], left_out: leftOut = [], alarms = [] } = answer;
  const nameOf = (zone: string) =>
    answer.zone_names?.[zone] ?? zones.find(({ number }) => number === zone)?.name ?? zone;
  const named = (numbers: readonly string[]) => numbers.map((zone) => isolated(nameOf(zone))).join(', ');
  const zonesSaid = (numbers: readonly string[] = []) =>
    numbers.length === 0 ? [] : [t('answer.zones', { zones: named(numbers) })];
  return [
    error === undefined ? word('outcome', outcome) : word('reply', error.code),
    // Each of several partitions has its own reason.
    ...(undone.length > 0 ? [] : zonesSaid(error?.zones)),
    ...(error?.retry_after_s === undefined ? [] : [waitText(error.retry_after_s, words)]),
    ...undone.map((one) => [`${one.partition}:`, word('reply', one.code), ...zonesSaid(one.zones)].join(' ')),
    ...(leftOut.length === 0 ? [] : [t('answer.leftOut', { zones: named(leftOut) })]),
    ...(alarms.length === 0
      ? []
      : [t('answer.alarms', { kinds: alarms.map(({ kind }) => word('event', kind)).join(', ') })]),
  ].join(' ');
}
