import type { CommandAnswer, CommandBody } from '#lan/http/index.ts';
import type { ReplyCode } from '#site/model/index.ts';
import { docPage } from './doc-page.ts';

/** A command without its id, its time and its code. */
export type Asked = CommandBody extends infer B
  ? B extends CommandBody
    ? Omit<B, 'id' | 'issued_at' | 'code'>
    : never
  : never;

type Told = NonNullable<CommandAnswer['error']>;

const seconds = ({ retry_after_s: left }: Told): string => (left === undefined ? 'in a moment' : `in ${left} s`);
/** "zone 2", "zones 2, 5". */
const zonesSaid = (zones: readonly string[]): string => `${zones.length === 1 ? 'zone' : 'zones'} ${zones.join(', ')}`;

const zonesOf = ({ zones = [] }: Told): string => zones.join(', ');
const somebody = 'somebody else\'s command came first; look with "siteward status" before trying again';

/** What happened and what to do, for every answer the gate can give to a command of this machine. */
const sentences: Readonly<Partial<Record<ReplyCode, (error: Told) => string>>> = {
  BAD_CODE: () => 'the code is not known, or does not count now; "siteward user list" shows limits in time',
  BUSY: () => 'another command is on its way to the panel; try again when it has answered',
  CLOCK_DOUBTFUL: () => 'the clock of this box cannot be trusted now; see that it gets the time',
  CODE_REQUIRED: () => 'this needs a code: run it on a terminal, or give the code with --code-stdin',
  CONFLICT: () => 'the partition is not as expected any more; look with "siteward status"',
  EXPIRED: () => 'it came too late to be carried out; give it again',
  FUTURE: () => 'the clock was set while it was on its way; give it again',
  ID_CONFLICT: () => 'its id was taken already; give it again',
  LOCKED: (error) =>
    // Only siteward's own lock tells its end.
    error.retry_after_s === undefined
      ? 'the panel takes no codes now, after wrong ones or at a locked keypad; see to it there'
      : `too many wrong codes on this box: try again ${seconds(error)}, or use a keypad, which is not locked`,
  NEWER_LOCAL_CHANGE: () => somebody,
  NOT_CONTROLLED: ({ field }) =>
    field === 'zone' ? 'its panel decides this zone; leave it out there' : 'another system decides this; use that one',
  PANEL_OFFLINE: () => 'the panel cannot be heard: see "siteward status" for why, or use its own keypad',
  UNCONFIRMED: () => 'the panel was told and did not show it in time; look with "siteward status" before trying again',
};

function notAllowed(asked: Asked, { field, zones }: Told): string {
  if (field === 'code')
    return `this code does not allow it; "siteward user list" shows roles, ${docPage('users.md')} what each may do`;
  if (field === 'profile')
    return `the profile of its panel has no command for this ("siteward panel list" shows which each has; sia-dc09 has none); ${asked.verb.replaceAll('_', ' ')} at the panel's own keypad`;
  if (field === 'mode') return 'its panel takes no other mode while it is armed; disarm first';
  if (field === 'panel') return 'the panel did not take it; the log of siteward says more. Use its own keypad';
  if (field === 'bypass' && zones === undefined)
    return 'a panel leaves out its zones itself: try "siteward bypass" for each first, or use its keypad';
  if (field === 'minutes' || field === 'until')
    return 'its panel leaves this zone out and decides for how long; say neither --minutes nor --until cleared';
  // What a walk test never holds is less than what is never left out (docs/alarms.md).
  if (zones !== undefined && asked.verb === 'test')
    return `a walk test is never about ${zonesSaid(zones)}: life safety, hold-up and key switches act as always; name others, or say no --zones`;
  if (zones !== undefined)
    return `${zonesSaid(zones)} always ${zones.length === 1 ? 'watches' : 'watch'}: life safety and hold-up for everybody, tamper and 24-hour zones but for an installer who leaves one out by "siteward bypass"`;
  if (asked.verb === 'bypass') return 'not while it is armed or an alarm runs; it takes a disarm first';
  if (asked.verb === 'test') return 'a walk test is for disarmed partitions without an alarm; disarm first';
  return "not while an alarm runs; disarm first, at the panel's own keypad where siteward may not. A fire and the like end with their cause alone";
}

function notReady(asked: Asked, error: Told): string {
  if (asked.verb !== 'arm') return `zone ${zonesOf(error)} is open or not well in an armed partition; close it first`;
  if (asked.force === true) return `not ready: ${zonesOf(error)}, which --force does not leave out; close or mend them`;
  if (error.field === 'bypass')
    return `not ready: ${zonesOf(error)}. Close or mend them; not all of them can be left out, and --force names those that cannot`;
  const list = (error.zones ?? []).join(',');
  return `not ready: ${zonesOf(error)}. Close them, leave them out with --bypass ${list}, or say --force`;
}

/** Only what has no code is counted, so whoever is told this gave none. */
function rateLimited({ verb }: Asked, error: Told): string {
  const option = verb === 'arm' ? '--ask-code or --code-stdin' : '--code-stdin';
  const isAsked = verb === 'disarm' || verb === 'bypass' || verb === 'test';
  return `more than five commands without a code to one partition within a minute, all programs of this box together: try again ${seconds(error)}, or give a code${isAsked ? '' : ` (${option})`}`;
}

function unknownTarget({ field, zones }: Told): string {
  if (zones !== undefined) return `there are no such zones in it: ${zones.join(', ')}; see zones in the configuration`;
  if (field === 'zone') return 'there is no such zone; the configuration lists them, under panels and cameras';
  return `there is no such ${field ?? 'partition'}; "siteward status" shows what there is`;
}

function saidOf(asked: Asked, error: Told): string | undefined {
  switch (error.code) {
    case 'NOT_ALLOWED':
      return notAllowed(asked, error);
    case 'NOT_READY':
      return notReady(asked, error);
    case 'RATE_LIMITED':
      return rateLimited(asked, error);
    case 'UNKNOWN_TARGET':
      return unknownTarget(error);
    default:
      return sentences[error.code]?.(error);
  }
}

/** One sentence for people about a command that did not do all it asked. */
export function advice(asked: Asked, { outcome, error, undone = [] }: CommandAnswer): string {
  const what = asked.verb.replaceAll('_', ' ');
  const head = outcome === 'failed' ? `${what}: done only in part` : `${what}: ${outcome}`;
  if (error === undefined) return head;
  // Of several partitions each has its own reason.
  if (undone.length > 0)
    return [`${head}; not done in:`, ...undone.map((one) => `  ${one.partition}: ${reasonOf(asked, one)}`)].join('\n');
  return `${head}${saidOf(asked, error) === undefined ? ` (${error.code})` : `: ${reasonOf(asked, error)}`}`;
}

/** The sentence with its code; the code alone where there is none. */
function reasonOf(asked: Asked, error: Told): string {
  const said = saidOf(asked, error);
  return said === undefined ? error.code : `${said} (${error.code})`;
}
