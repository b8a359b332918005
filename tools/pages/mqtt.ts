import { type Role, roles, type TopicSpec, topicTable } from '#lan/mqtt/index.ts';
import { limits } from '#lan/mqtt/state.ts';
import { type ReplyCode, replyCodes } from '#site/model/index.ts';
import { snake } from './mqtt-schemas.ts';
import { pageOf } from './template.ts';

/** `docs/mqtt.md`: the topic table and the reply codes put into the hand-written template. */
export function mqttPage(): string {
  return pageOf('mqtt', {
    topics: topics(),
    rights: rights(),
    codes: codes(),
    limits: limitsList(),
  });
}

const table = topicTable as Readonly<Record<string, TopicSpec>>;

function topics(): string {
  const rows = Object.entries(table).map(([name, { topic, payload, qos, retain }]) => {
    return `| \`${topic}\` | ${payloadOf(name, payload)} | ${qos} | ${retain ? 'yes' : 'no'} |`;
  });
  return ['| topic | payload | QoS | retained |', '|---|---|---|---|', ...rows].join('\n');
}

function payloadOf(name: string, payload: TopicSpec['payload']): string {
  const json = `JSON \`${snake(name)}\``;
  if ('json' in payload) return json;
  if ('text' in payload) return payload.text;
  const words = payload.words.map((word) => `\`${word}\``).join(', ');
  return payload.or === undefined ? words : `${words}, or ${json}`;
}

/** Rows of equal rights together. */
function rights(): string {
  const mine = roles.filter((role) => role !== 'siteward');
  const groups = Map.groupBy(Object.values(table), ({ read, write }) =>
    mine.map((role) => right(role, read, write)).join(),
  );
  const rows = [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const cells = mine.map((role) => right(role, first.read, first.write));
    return [`| ${group.map(({ topic }) => `\`${topic}\``).join(', ')} | ${cells.join(' | ')} |`];
  });
  return [`| topics | ${mine.join(' | ')} |`, `|---|${mine.map(() => '---|').join('')}`, ...rows].join('\n');
}

const right = (role: Role, read: readonly Role[], write: readonly Role[]): string =>
  `${read.includes(role) ? 'r' : ''}${write.includes(role) ? 'w' : ''}`;

/** Codes kept for verbs of later versions. */
const later: readonly ReplyCode[] = ['NOT_ACTIVATED'];

const meanings: Readonly<Partial<Record<ReplyCode, string>>> = {
  ALREADY_ANSWERED: 'Somebody has answered `dispatch`; nothing takes that back.',
  AUDIO_UNAVAILABLE:
    'There is nothing that could play it: no speakers, none that did, or a message that only the service holds and may not play.',
  BAD_CODE:
    'Nobody has this code, or the panel refused it. Three within a minute lock the client for 90 s; a good code between them does not clear the count.',
  BAD_JSON: 'The payload is not a JSON object.',
  BAD_REPLY_TOPIC:
    'The reply topic is not below `reply/<client>/`, or the client is another. The reply comes to the default topic.',
  BUSY: 'Of `panic`: it is not on disk yet; send it again under the same `id`. Otherwise: another command for this partition waits for the panel, or too many of this client, or too many codes, wait. Try again.',
  CAMERA_UNAVAILABLE: 'The camera gave no picture. `siteward camera list` says why.',
  CLOUD_OFFLINE: 'It did not leave this site, and is not kept for later.',
  CLOCK_DOUBTFUL: 'The clock of the bridge cannot be trusted, and this command depends on it.',
  CODE_REQUIRED:
    'Disarming, ending the sound of an alarm, arming in a mode that protects less or with `bypass` or `force`, and arming while the state is `unknown`, needs a code.',
  CONFLICT:
    'The partition is not in the state or sequence that `expected` names, or the schedule does not arm soon (`field: schedule`).',
  EXPIRED: 'The command came too late, or is so old that it may be a repeat of one whose answer is no longer kept.',
  FORBIDDEN:
    'No contact of the service is bound to who answers a verification, or the command names another one (`verification.contacts`). Of `query`: the role of the client reads none of the topics that say this.',
  FUTURE: '`issued_at` lies more than 30 s in the future. Set the clock of the client.',
  ID_CONFLICT: 'This `id` was used for another command. Make a new one.',
  INTERNAL: 'siteward made a mistake; its log says more.',
  LOCKED: 'Too many wrong codes, here or at the panel. `retry_after_s` says how long.',
  NEWER_LOCAL_CHANGE: 'Somebody on the site was quicker, or a command with more weight took its place.',
  NOT_ALLOWED:
    'Not now or not this way: arming during an alarm, a zone that must not be bypassed (`field`, `zones`), a code whose role does not allow it (`field: code`), a panel whose profile has no such command (`field: profile`), an alarm that nobody may silence (`field: alarm`), a bypass while an alarm runs or while the panel or the code takes none (`field: state`), or for a time its panel does not keep (`field: minutes`, `until`), a panel that takes no other mode while it is armed (`field: mode`), a panel that did not take it (`field: panel`), an alarm that has sounded for its longest time (`field: audio_message_id`), or a playback of the service, which knows no way to end it (`field: playback_id`).',
  NOT_CONFIGURED: 'The site has nothing of this kind.',
  NOT_CONTROLLED: 'siteward only watches this partition or site.',
  NOT_READY:
    'The zones in `zones` are open or not heard. Close them, name them in `bypass`, or use `force`; with `field: bypass` at least one of them is never left out.',
  NOT_UTF8: 'The payload is not UTF-8.',
  PANEL_OFFLINE: 'The panel cannot be heard. Commands do not wait for it.',
  RATE_LIMITED:
    'Too many commands: at the door (figures under [limits](#limits)), more messages to be played than are allowed, or more than five without a code to one partition within a minute, which lock the client for 90 s (C8). Wait `retry_after_s`; a command with a good code is done in spite of the latter.',
  RETAINED: 'The command was retained. It was not carried out, and was cleared.',
  SCHEMA: 'The member `field` is missing, wrong or unknown.',
  TOO_LARGE: 'A limit below is exceeded; `field` names the member where one is.',
  UNCONFIRMED: 'The panel did not show the state in time. It may still do so; the state topics tell.',
  UNKNOWN_TARGET:
    'There is no such partition, no such zone in it, no such schedule, message, speaker or playback; `field` says which.',
  UNKNOWN_VERB: 'There is no such command.',
  VERIFICATION_GONE: 'Too late: the service knows the request to verify no more.',
};

function codes(): string {
  const rows = replyCodes
    .filter((code) => !later.includes(code))
    .map((code) => {
      const meaning = meanings[code];
      if (meaning === undefined) throw new TypeError(`the reply code ${code} has no meaning in tools/pages/mqtt.ts`);
      return `| \`${code}\` | ${meaning} |`;
    });
  const rest = later.map((code) => `\`${code}\``).join(', ');
  return `| code | meaning |\n|---|---|\n${rows.join('\n')}\n\nKept for later versions: ${rest}.`;
}

function limitsList(): string {
  const kib = (bytes: number) => `${bytes / 1024} KiB`;
  return [
    `- A command is at most ${kib(limits.command_bytes)}, nested at most ${limits.json_depth} deep, with texts of at most ${limits.string_bytes} bytes.`,
    `- A client may send ${limits.commands_per_s} commands a second, all clients together 100.`,
    `- A client may have ${limits.plays_per_minute} messages played, and one more each ${60 / limits.plays_per_minute} s; with a good code as many as it asks for.`,
    '- More than five commands without a good code from one client to one partition within a minute lock that client for 90 s (`RATE_LIMITED`, rule C8). Everything that reaches the site counts, whatever came of it: `done`, `already`, refused as `NOT_READY` or `CODE_REQUIRED`, a partition that does not exist. `all` counts for each partition, a command about a zone for the first partition of the zone. Not counted are: a good code, which this lock never refuses; a wrong one, which has a lock of its own (`BAD_CODE`); a repeat under the same `id`; what is too old or refused at the door; queries; and what comes during the lock, which does not last longer for it.',
    `- A reply is at most ${kib(limits.reply_bytes)}. A query that has more says \`"truncated": true\` and \`total\`.`,
    '- The embedded broker takes 128 clients, 16 of one account, and packets of 256 KiB. Of connections that do not say who they are it keeps 64, 16 of one address, for 10 s; the one that has waited longest is cut. A client has at most 256 subscriptions, and is cut when 1 MiB waits for it unread. `siteward_mqtt_broker_refused_total` and `siteward_mqtt_broker_dropped_total` count each by its reason.',
    '- A zone publishes at most five times a second. A short opening in between is still shown as `ON`, `OFF`.',
  ].join('\n');
}
