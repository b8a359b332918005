/** Exit codes of every verb, described in `docs/cli.md`; the high ones are those of sysexits.h. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** No daemon answers on the control socket. */
  unreachable: 69,
  /** The configuration cannot be used. */
  configuration: 78,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
