import { rowFor } from './status-table.ts';

/** What a row of the status table means to a technician. */
export interface StatusHelp {
  readonly means: string;
  readonly remedy: string;
}

const nothing = 'Nothing: siteward tries again by itself.';
const portal =
  'Take away what answers in place of the cloud: a captive portal, a proxy or a router that asks for a login.';
const ours =
  'Note status and reason and ask the makers of siteward; the cloud would refuse this event again. Retry it after an update.';

/** By the name of the row. A test holds it against the table. */
export const statusHelp: Readonly<Record<string, StatusHelp>> = {
  'accepted, but for another event': {
    means: 'The cloud answered with success and named another event than the one sent.',
    remedy: 'Tell the operator of the cloud both event ids, then retry: a repeat does no harm.',
  },
  accepted: { means: 'The cloud has the event.', remedy: 'Nothing.' },
  'success with a page: intercepted line': {
    means: 'The answer says success and is a web page: it does not come from the cloud.',
    remedy: portal,
  },
  'redirect: never followed': {
    means: 'The answer points to another address, to which siteward would have to send its token.',
    remedy: `${portal} If the cloud has moved, correct cloud.base_url.`,
  },
  'proxy or portal wants a login': { means: 'Something on the line wants a login first.', remedy: portal },
  'known under another id': {
    means: 'The cloud says that it has the event, under another id.',
    remedy: 'Tell the operator of the cloud both ids. Drop it once they say that the event is there.',
  },
  'known already': { means: 'The cloud has the event from an earlier try whose answer was lost.', remedy: 'Nothing.' },
  'refused as invalid': {
    means:
      'The cloud understood the request and does not take this event: a member is wrong, or names what it does not know.',
    remedy:
      'Read what the cloud said. If it does not know an id, let the operator add it and retry. Correcting the configuration helps later events only: this one is sent as it was written.',
  },
  'too large for the cloud': {
    means: 'The event has more bytes than the cloud, or a proxy before it, takes.',
    remedy: 'Ask the operator for the limit, then retry. Pictures are not part of the event and are not the cause.',
  },
  'refused with a fresh token': {
    means: 'The cloud does not accept the token, although it was just issued.',
    remedy: 'Check client id, key and audience; the operator must allow this client. Then "systemctl reload siteward".',
  },
  'not permitted, or the address is wrong': {
    means: 'The cloud knows who asks and does not allow it, or knows no such address. No event is lost; all wait.',
    remedy:
      'Check cloud.base_url, and that the operator lets this client send events. Then "systemctl reload siteward".',
  },
  'our request is malformed': {
    means: 'The cloud cannot read the form of the request. It would refuse any event.',
    remedy: 'Note status and reason and ask the makers of siteward. Events wait.',
  },
  'wrong connection': { means: 'The request came over a connection for another server.', remedy: nothing },
  'too many requests': { means: 'The cloud asks for fewer requests.', remedy: nothing },
  'asks for a pause': { means: 'The cloud asks to be left alone for the time it names.', remedy: nothing },
  'not now': { means: 'The cloud, or what stands before it, cannot answer at the moment.', remedy: nothing },
  'server error': {
    means:
      'The cloud failed. An event on which it fails again and again while others pass is the likely cause, and is parked.',
    remedy: 'Tell the operator the event id and the time; retry when they have found the fault.',
  },
  'another refusal': { means: 'The cloud refuses this event with a status siteward has no rule for.', remedy: ours },
  'certificate not valid at this time': {
    means:
      'The certificate of the cloud is not valid yet, or no longer; more often the clock of this machine is wrong.',
    remedy: 'Set the clock. If it is right, tell the operator. The certificate is never ignored.',
  },
  'somebody else answers': { means: "The certificate is not the cloud's, or the answer is not HTTP.", remedy: portal },
  'line down': { means: 'No connection: no name, no route, nobody listening, or no answer in time.', remedy: nothing },
  'answer too large': { means: 'The answer is far larger than any the cloud gives.', remedy: portal },
  'token server away': { means: 'No access token can be had: the token server does not answer.', remedy: nothing },
  'token server refuses': {
    means: 'The token server does not take the credentials.',
    remedy:
      'The reason names key, clock, audience and client id with their values; correct the wrong one. Then "systemctl reload siteward".',
  },
  'address not allowed': {
    means: 'The configured address must not be dialled, such as http: to another machine.',
    remedy: 'Correct the address the reason names.',
  },
  'anything else': { means: 'The try failed in a way the table has no row for.', remedy: nothing },
};

const damaged: StatusHelp = {
  means: 'What the disk gave back is not what was written: the event does not fit its checksum and is not sent.',
  remedy: 'It cannot be repaired. Export it for the record, drop it, and replace the disk or card.',
};

/** What a parked event's status and reason (as `judge` wrote it) mean. */
export function helpFor(status: number | undefined, reason: string): StatusHelp {
  const said = reason.replace(/^\d+ /, '');
  const name = Object.keys(statusHelp).find((row) => said === row || said.startsWith(`${row}: `));
  if (name === undefined && status === undefined) return damaged;
  const help = statusHelp[name ?? rowFor({ ...(status !== undefined && { status }), body: 'json' }).name];
  return help ?? { means: 'The cloud refused this event.', remedy: ours };
}
