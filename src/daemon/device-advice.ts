import { heldAdvice } from '#box/held-advice.ts';
import type { StatusDocument } from '#lan/http/index.ts';
import { isoTime } from '#site/model/index.ts';
import type { House } from './house.ts';

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
