import { SitewardError } from '#errors.ts';
import { type LogLine, type LogPage, logLevelsShown, logPage } from '#lan/http/index.ts';
import type { LogLevel } from '#lib/log.ts';
import { sleep } from '#lib/wait.ts';
import { answered, type Control, openControl } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { printable } from './table.ts';
import { untilStopped } from './until-stopped.ts';

interface Options {
  readonly follow: boolean;
  readonly limit: number;
  readonly level?: LogLevel;
  readonly part?: string;
  readonly json: boolean;
  readonly socket: string;
}

const pollMs = 1000;

/** `siteward log`: the newest lines; with `--follow` the new ones too, until the command is stopped. */
export async function showLog(options: Options): Promise<ExitCode> {
  using stopped = untilStopped();
  await using control = openControl(options.socket);
  await mustBePart(control, options.part, stopped.signal);
  let page = await read(control, options, stopped.signal);
  print(page, options);
  while (options.follow && !stopped.signal.aborted) {
    await sleep(pollMs, stopped.signal).catch(() => undefined);
    if (stopped.signal.aborted) break;
    page = await read(control, { ...options, limit: 1000, after: page.next_after }, stopped.signal);
    if (page.missed > 0 && !options.json) console.log(`(${page.missed} lines are not kept any more)`);
    print(page, options);
  }
  return exitCodes.ok;
}

/** Of a part that there is not nothing would ever come. Throws `log_part_unknown` with those there are. */
async function mustBePart(control: Control, part: string | undefined, signal: AbortSignal): Promise<void> {
  if (part === undefined) return;
  const { parts } = logLevelsShown.parse(answered(await control.client.getLogLevels({ signal })).json);
  const names = parts.map(({ name }) => name);
  if (!names.includes(part))
    throw new SitewardError(
      'log_part_unknown',
      `no part ${printable(part)} writes to the log; there is ${names.join(', ')}`,
    );
}

async function read(control: Control, options: Options & { after?: number }, signal: AbortSignal): Promise<LogPage> {
  const { limit, level, part, after } = options;
  return logPage.parse(answered(await control.client.getLog({ query: { limit, level, part, after }, signal })).json);
}

function print({ items }: LogPage, { json }: Options): void {
  for (const line of items) console.log(json ? JSON.stringify(line) : lineText(line));
}

function lineText({ time = '', level, part = '', msg, more }: LogLine): string {
  const rest = Object.keys(more).length === 0 ? '' : ` ${JSON.stringify(more)}`;
  return printable(`${time} ${level.padEnd(5)} ${part}${part === '' ? '' : ': '}${msg}${rest}`);
}
