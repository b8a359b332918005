import type { SignalOf } from '#site/model/index.ts';
import { deviceName, localEvent } from './events.ts';
import { isToldAgain } from './reports.ts';
import type { Work } from './work.ts';

/** Contact ID and SIA of what a panel sends to prove its way. */
const codes = {
  periodic: { kind: 'periodic_test', contactId: '602', sia: 'RP' },
  manual: { kind: 'manual_test', contactId: '601', sia: 'RX' },
} as const;

/**
 * A panel's test report: it stands in the site's own history. To the station siteward proves its own way, by a schedule.
 */
export function panelTest(work: Work, signal: SignalOf<'test'>): void {
  const { source, test } = signal;
  const name = deviceName(source);
  if (isToldAgain(work, `test:${name}`, signal)) return;
  // In the file of the state that remembers the report: either both survive an end without warning, or neither does.
  localEvent(work, { class: 'test', ...codes[test], lane: 'trouble', source: name });
}
