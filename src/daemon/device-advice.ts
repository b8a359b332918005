import type { HeldDevice } from '#cloud/sync/index.ts';
import type { StatusDocument } from '#lan/http/index.ts';
import { isoTime } from '#site/model/index.ts';
import type { House } from './house.ts';

/** What to do about a device that is held. */
export const heldAdvice: Readonly<Record<HeldDevice['reason'], string>> = {
  refused:
    'Change what it names, in the configuration or in the cloud; a change here is tried by itself, otherwise: siteward device sync --again',
  conflict:
    'Several devices of the cloud could be it. Delete or change the wrong one there ("siteward device list"), then: siteward device sync --again',
  waiting: 'Nothing to do: it is tried again by itself.',
  unknown:
    'Look for the recorder in the console of the service. Where it is there, write its id as cloud_nvr_id of the recorder into the configuration; where it is not: siteward nvr sync --register-lost',
};

/**
 * Held devices need somebody, except those that are tried again by themselves. A site that is gone in the cloud is a trouble of its own.
 */
export function deviceHints({ devices }: Pick<House, 'devices'>, now: number): StatusDocument['hints'] {
  const held = devices?.shown().held.filter(({ reason }) => reason !== 'waiting') ?? [];
  return held.slice(0, shownHeld).map(({ external_id, kind, reason, status, message }) => ({
    device: `${kind} ${external_id}`,
    about: `cloud ${reason}`,
    text: `the cloud does not know it as it is: ${message}. ${heldAdvice[reason]}`,
    values: status === undefined ? [] : [String(status)],
    count: 1,
    last: isoTime(now),
  }));
}

/** A cloud that refuses everything must not push all else off the page; "siteward device plan" lists them. */
const shownHeld = 8;
