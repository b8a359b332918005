/**
 * Every failure siteward raises on purpose, with the sentence that goes into `docs/errors.md`.
 * Callers switch on `code`, never on message text. Keep the list sorted.
 */
export const errorCodes = {
  access_busy: 'Too many passwords wait to be checked. Nothing was tried; ask again in a moment.',
  access_denied: 'Whoever asks is known, but may not do this; the message says why.',
  access_needed: 'This takes an account or an API key, or the one that was given does not count.',
  access_refused: 'A change of accounts or API keys is not taken; the message says why.',
  access_unknown: 'There is no account, session or API key of this id.',
  access_unusable:
    'The file of accounts and API keys cannot be used, so that nobody comes in over the network. The message says what is wrong and what to do.',
  access_wait:
    'Too many wrong passwords or claim codes. `Retry-After` says how long to wait; nobody is locked out for good.',
  audio_gone: 'The sound of a message is gone from the disk, or damaged. Import it again.',
  audio_invalid:
    'The sound file, or what is said of it, is not taken; the field is in the facts, the message says what is wrong and what to do.',
  audio_refused: 'This is not done with the messages as things are; the message says why and what to do.',
  audio_tool_missing: 'To import a message takes ffmpeg, which is not installed: apt-get install ffmpeg.',
  audio_unavailable:
    'Only the service holds this message, and it was not played through it; the message says why. Import it to play it here.',
  audio_unknown:
    'There is no such message, speaker or playback; "siteward audio list" and "siteward audio status" list them.',
  audit_discontinued:
    'The audit log does not hold the entry an export shall go on from: it was changed or replaced. Verify it, and begin a new export.',
  auditor_needed: 'This takes the code of an auditor, or the session of one has ended. Ask again with the code.',
  authority_unknown:
    'The bridge shows a certificate of the site, or has made none yet: it has no authority to hand out.',
  backup_passphrase: 'The passphrase of a backup is not taken; the message says why.',
  backup_refused: 'No backup is made, or none put in place, as things are; the message says why and what to do.',
  backup_unreadable: 'A file is no backup of siteward, or is damaged. Nothing was changed; take another copy of it.',
  camera_auth:
    'The camera refused the user name or password. Correct them; siteward stops trying so that the account is not locked.',
  camera_bad_answer: 'The camera answered with something that is not ONVIF. Check the address and path.',
  camera_certificate:
    'The camera shows another TLS certificate than before. If it was changed on purpose, accept it with `siteward camera trust ID`.',
  camera_fault: 'The camera answered a request with a SOAP fault; the fault text is in the facts.',
  camera_refused: 'This is not done with the camera as things are; the message says why and what to do.',
  camera_unknown: 'The configuration has no camera or recorder of this id.',
  camera_unreachable: 'No connection to the camera. Check power, cable and address.',
  certificate_failed:
    'No certificate could be made; the message says why. It takes the command openssl (apt-get install openssl) and a clock that is set.',
  cloud_bad_answer:
    'The cloud answered with something siteward cannot read; often a captive portal or proxy on the line.',
  cloud_forbidden:
    'The cloud knows who asks but does not allow it: the dealer is not connected, or this kind of integration may not.',
  cloud_not_found: 'The cloud has nothing under this id; it may have been deleted.',
  cloud_outcome_unknown:
    'The reply was lost: the cloud may have done what was asked, or not. Look before asking again; siteward did not repeat it.',
  cloud_refused: 'The cloud refused the request for good; the status and reason are in the facts.',
  cloud_unauthorized:
    'The cloud did not accept the credentials, even with a fresh token. Check key, client id and clock.',
  cloud_unreachable: 'No connection to the cloud. Events wait in the outbox.',
  code_refused: 'The code of a user is not taken; the message says why. It is never told whose code it is.',
  config_changed:
    'The configuration file was changed by somebody else meanwhile; nothing was written. Look at it again.',
  config_fixed: 'The configuration file decides this; change it there and reload.',
  config_invalid: 'The configuration file has errors; each is listed with its line.',
  config_needs_restart:
    'What was changed in the configuration is taken at a start only. Set it back, or restart siteward.',
  config_readonly: 'siteward may not write the configuration file; the message says what to do. Nothing was written.',
  config_refused: 'The configuration is not changed as things are; the message says why.',
  config_unreadable: 'The configuration file cannot be read. Check path and permissions.',
  control_refused:
    'The daemon answered, but refused what was asked, or in a way this version does not know; the message says why.',
  control_unreachable:
    'No daemon answers on the control socket. Is siteward running, and may this user open the socket?',
  danger_refused: 'This is not done as things are; the message says why and what to do.',
  deadline: 'The work did not finish within its time.',
  file_unusable:
    'A file that was named cannot be read or written, or is not what the verb takes; the message says why.',
  host_refused:
    'The request names another host than this bridge. Use its address, its name ending in .local, or a name of `http.names`.',
  idempotency_conflict: 'An Idempotency-Key was used for another request before. Make a new one for each request.',
  idempotency_pending: 'The first request of this Idempotency-Key is still under way. Ask again in a moment.',
  internal: 'siteward made a mistake; the log of the daemon says more.',
  last_owner: 'The user is the last owner of the site and is removed only when that is said in so many words.',
  log_part_unknown: 'No part of this name writes to the log; "siteward log level" lists them.',
  media_gone: 'A picture or clip is not on this box any more, or an export has ended; the message says which.',
  media_refused: 'The body of the request is of another type than the operation takes; the message says which.',
  media_tool_missing: 'Clips, and pictures from streams, need ffmpeg, which is not installed: apt-get install ffmpeg.',
  media_unknown: 'No event of this number announced pictures or clips.',
  mqtt_client_unknown: 'There is no MQTT client of this id; "siteward mqtt show" lists them.',
  mqtt_refused: 'This is not done with the MQTT broker as things are; the message says why and what to do.',
  mqtt_unauthorized: 'The MQTT broker does not accept the user name and password. Correct them in the configuration.',
  mqtt_unreachable: 'No connection to the MQTT broker. Check address, port and credentials.',
  no_terminal: 'There is no terminal to ask for a code on. Say --code-stdin.',
  node_too_old: 'siteward needs Node 24 or newer. Run it with "npm run", which brings its own.',
  not_parked: 'None of the named events was touched, because some are not parked; the message names them.',
  origin_refused: 'Another page asked for this, or a program without an API key. The message says what to send.',
  partition_unknown: 'The configuration has no partition of this id.',
  picture_invalid: 'What the camera sent is not a usable JPEG picture.',
  postpone_refused: 'The arming of a schedule is not put off; the message says why.',
  profile_invalid: 'A panel profile is not valid; the place is in the facts.',
  queue_full: 'A bounded queue is full; the work was refused, nothing was lost.',
  request_invalid: 'What was asked does not fit the operation; the message names what is wrong.',
  schedule_unknown: 'There is no schedule of this id.',
  secret_unreadable: 'A secret named in the configuration cannot be read. Check the file, credential or variable.',
  site_gone:
    'The site is deleted in the cloud, or access to it was withdrawn. Nothing is asked of it until it is back; it is protected here as before.',
  state_dir_unusable: 'The state directory cannot be used. Check that it exists and belongs to the siteward user.',
  stopped: 'The part was stopped while the work was under way.',
  store_failed: 'The database did not confirm a write. It is sent again under the same number.',
  store_unavailable: 'The database cannot be opened or written.',
  stream_failed: 'The video stream of the camera gave no picture or clip; the message says what ffmpeg said.',
  token_in_query:
    'A secret stands in the address of the request, which is written into logs. Change it, and send keys as "Authorization: Bearer".',
  too_many_streams: 'So many streams of the LAN API are open as may be. End one, or ask again in a moment.',
  unclaimed: 'Nobody has claimed this bridge yet: until then it answers in its own network alone.',
  user_refused: 'The change of a user is not taken; the message says why.',
  user_unknown: 'There is no user of this id.',
  users_unusable:
    'The list of users or its key cannot be used, so no code of it counts. Mend what the message names; nothing was written over.',
  verification_refused: 'The request to verify an alarm is not taken; the message says why.',
  verification_unknown: 'There is no alarm verification of this id; "siteward verification list" lists them.',
  xml_invalid: 'A text that should be XML is cut, malformed, too large or a web page; the reason is in the facts.',
} as const;

export type ErrorCode = keyof typeof errorCodes;
export type Facts = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** One of several things that are wrong with what was asked. */
export interface Issue {
  /** Such as `cameras[0].url`. */
  readonly field: string;
  readonly message: string;
}

/** The one error class. `message` says what happened and what to do; `facts` carry field, path, line, device. */
export class SitewardError extends Error {
  readonly code: ErrorCode;
  readonly facts: Facts;
  /** All that is wrong, where it is more than one thing. */
  readonly issues: readonly Issue[];

  constructor(
    code: ErrorCode,
    message: string,
    options: { facts?: Facts; issues?: readonly Issue[]; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SitewardError';
    this.code = code;
    this.facts = options.facts ?? {};
    this.issues = options.issues ?? [];
  }
}

/** Whether a text, such as what a daemon of another version says, is one of these codes. */
export const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(errorCodes, text);

export function isCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof SitewardError && error.code === code;
}

/** One line for people: the message and the messages of its causes, at most five deep. */
export function describe(error: unknown): string {
  const parts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < 5 && current !== undefined && current !== null; depth += 1) {
    const text = current instanceof Error ? current.message : String(current);
    if (!parts.some((part) => part.includes(text))) parts.push(text);
    current = current instanceof Error ? current.cause : undefined;
  }
  return parts.join(': ');
}
