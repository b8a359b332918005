import { type LogLevelsShown, logLevelsShown } from '#lan/http/index.ts';
import type { LogLevel } from '#lib/log.ts';
import { answered, type Control, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { formatSpan, table } from './table.ts';

interface Options {
  readonly level?: LogLevel | 'configured' | undefined;
  /** Minutes. */
  readonly for: number;
  readonly part?: readonly string[];
  readonly json: boolean;
  readonly socket: string;
}

/** `siteward log level`. */
export async function logLevel(options: Options): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const shown = logLevelsShown.parse(await asked(control, options));
  console.log(options.json ? JSON.stringify(shown) : text(shown));
  return exitCodes.ok;
}

async function asked(control: Control, { level, part, for: minutes }: Options): Promise<unknown> {
  const signal = patience();
  if (level === undefined) return answered(await control.client.getLogLevels({ signal })).json;
  if (level === 'configured') return answered(await control.client.setLogLevels({ body: { minutes }, signal })).json;
  const wish = part === undefined ? { level } : { parts: Object.fromEntries(part.map((name) => [name, level])) };
  return answered(await control.client.setLogLevels({ body: { ...wish, minutes }, signal })).json;
}

function text({ configured, parts, left_s: left }: LogLevelsShown): string {
  const head =
    left === null ? `all parts log at ${configured}` : `configured ${configured}; more for another ${formatSpan(left)}`;
  return `${head}\n${table(
    parts.map(({ name, level }) => [name, level]),
    '  ',
  )}`;
}
