import type { History } from './history.ts';
import * as delivering from './invariants-delivery.ts';
import * as keeping from './invariants-store.ts';

/** What must hold whatever happened; each gives its violations as sentences, none when all is well. */
export type Invariant = (history: History) => readonly string[];

export const invariants: Readonly<Record<string, Invariant>> = {
  '1 what was acknowledged is delivered, waits, is parked or is counted in a gap': keeping.nothingAckedIsLost,
  '2 one event id has one body': delivering.oneBodyPerId,
  '3 an event goes out twice only after a fault between sending and settling': delivering.repeatsHaveAReason,
  '4 within lane group and key events arrive in the order of their numbers': delivering.orderIsKept,
  '5 alarms and arming give way last': keeping.alarmsGiveWayLast,
  '6 gaps count what is missing, exactly': keeping.gapsAreExact,
  '7 the outbox empties itself on a clean line': keeping.endsEmpty,
  '10 an offline box knocks seldom': delivering.offlineIsQuiet,
  '11 a pause that was asked for is kept': delivering.pausesAreKept,
  '12 failed tries write nothing': keeping.failedTriesWriteNothing,
  '14 files stay below their caps': keeping.filesStayBelowCaps,
  '15 pictures, their rows and their uploads agree': keeping.picturesAgree,
  '16 event times are right where the clock could be known': delivering.eventTimesAreRight,
  '17 one put is one event': keeping.onePutIsOneEvent,
  '18 every connection is synchronous': keeping.connectionsAreSynchronous,
  '19 SIGTERM ends the box in time, with nothing left to repeat': delivering.stopsCleanly,
  '20 a frozen cloud never stops accepting': keeping.frozenCloudStopsNothing,
  '21 numbers tell nothing of silent events': keeping.numbersTellNothingSilent,
};

/** All violations, each with the name of its invariant in front. */
export const violationsOf = (history: History): readonly string[] =>
  Object.entries(invariants).flatMap(([name, check]) => check(history).map((text) => `${name}: ${text}`));
