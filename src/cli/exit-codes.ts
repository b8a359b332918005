/** Exit codes of every verb, described in `docs/cli.md`; the high ones are those of sysexits.h. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** The cloud refused the request (4xx). */
  refused: 65,
  /** The cloud has nothing under this id. */
  notFound: 66,
  /** No daemon answers on the control socket, or the cloud cannot be reached. */
  unreachable: 69,
  /** The cloud does not accept the credentials. */
  unauthorized: 77,
  /** The configuration cannot be used. */
  configuration: 78,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
