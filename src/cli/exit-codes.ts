import { type ErrorCode, SitewardError } from '#errors.ts';
import type { ReplyCode } from '#site/model/index.ts';

/** Exit codes of every verb, described in `docs/cli.md`; the high ones are those of sysexits.h. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** The site or the cloud refused what was asked. */
  refused: 65,
  /** There is nothing under this id. */
  notFound: 66,
  /** No daemon answers on the control socket, or the broker or the cloud cannot be reached. */
  unreachable: 69,
  /** The cloud or the broker does not accept the credentials. */
  unauthorized: 77,
  /** The configuration, or a profile of a panel, cannot be used. */
  configuration: 78,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

const { usage, refused, notFound, unreachable, unauthorized, configuration } = exitCodes;

/** What an error means for whoever runs a verb, whichever verb it is; all others are failures. */
const ofErrors: Readonly<Partial<Record<ErrorCode, ExitCode>>> = {
  access_denied: refused,
  access_needed: refused,
  access_refused: refused,
  access_unknown: notFound,
  access_wait: refused,
  audio_gone: notFound,
  audio_invalid: refused,
  audio_refused: refused,
  audio_unavailable: refused,
  audio_unknown: notFound,
  audit_discontinued: refused,
  auditor_needed: refused,
  authority_unknown: notFound,
  backup_passphrase: unauthorized,
  backup_refused: refused,
  camera_auth: unauthorized,
  camera_certificate: refused,
  camera_refused: refused,
  camera_unknown: notFound,
  camera_unreachable: unreachable,
  cloud_forbidden: refused,
  cloud_not_found: notFound,
  cloud_refused: refused,
  cloud_unauthorized: unauthorized,
  cloud_unreachable: unreachable,
  code_refused: refused,
  config_fixed: refused,
  config_invalid: configuration,
  config_unreadable: configuration,
  control_unreachable: unreachable,
  last_owner: refused,
  log_part_unknown: notFound,
  media_gone: notFound,
  media_unknown: notFound,
  mqtt_client_unknown: notFound,
  mqtt_refused: refused,
  mqtt_unauthorized: unauthorized,
  mqtt_unreachable: unreachable,
  no_terminal: usage,
  not_parked: notFound,
  partition_unknown: notFound,
  postpone_refused: refused,
  profile_invalid: configuration,
  request_invalid: usage,
  schedule_unknown: notFound,
  site_gone: notFound,
  user_refused: refused,
  user_unknown: notFound,
  verification_refused: refused,
  verification_unknown: notFound,
};

export const exitOfCode = (code: ErrorCode): ExitCode => ofErrors[code] ?? exitCodes.failure;

/** With which code a verb ends that failed so. */
export function exitOfError(error: unknown): ExitCode {
  if (!(error instanceof SitewardError)) return exitCodes.failure;
  // The cloud is there, and has had enough of it for now.
  return error.code === 'cloud_unreachable' && error.facts.status === 429 ? refused : exitOfCode(error.code);
}

/** Answers of the site that are no refusals: nothing is under this name, it does not fit, or nobody knows what came of it. */
const ofReplies: Readonly<Partial<Record<ReplyCode, ExitCode>>> = {
  INTERNAL: exitCodes.failure,
  SCHEMA: usage,
  UNCONFIRMED: exitCodes.failure,
  UNKNOWN_TARGET: notFound,
  VERIFICATION_GONE: notFound,
};

/** With which code a verb ends that the site refused so. */
export const exitOfReply = (code: ReplyCode): ExitCode => ofReplies[code] ?? refused;
