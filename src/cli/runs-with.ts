import { realpathSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { SitewardError } from '#errors.ts';
import { type StatusDocument, statusDocument } from '#lan/http/index.ts';
import { answered, openControl, patience } from './control.ts';

/** The file of a daemon where it is another one than `file`; undefined where it is the same, by whatever name. */
export function otherFile({ config }: Pick<StatusDocument, 'config'>, file: string): string | undefined {
  const [theirs, ours] = [config.path, resolve(file)];
  // One of before told the path as it was typed, which says nothing here.
  if (theirs === ours || !isAbsolute(theirs)) return undefined;
  return realOf(theirs) === realOf(ours) ? undefined : theirs;
}

const realOf = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};

interface Met {
  readonly socket: string;
  readonly file: string;
  /** As `otherFile` tells it. */
  readonly other: string;
}

export const otherText = ({ socket, file, other }: Met): string =>
  `the siteward that answers on ${socket} runs with ${other}, not with ${resolve(file)}`;

/** How to speak of one and the same siteward. */
export function otherAdvice({ socket, file, other }: Met): readonly [string, string] {
  const isSet = process.env.SITEWARD_SOCKET === socket;
  return [
    `for the siteward that answers there: --config ${other}`,
    `for ${resolve(file)}: --socket with the control socket of its own siteward${isSet ? `; the variable SITEWARD_SOCKET says ${socket} now` : ''}`,
  ];
}

/** In words, where the daemon on the socket runs with another file. Throws `control_unreachable` where none answers. */
export async function otherOn(socket: string, file: string): Promise<string | undefined> {
  await using control = openControl(socket);
  const status = statusDocument.parse(answered(await control.client.getStatus({ signal: patience() })).json);
  const other = otherFile(status, file);
  if (other === undefined) return undefined;
  const met = { socket, file, other };
  return `${otherText(met)}. ${otherAdvice(met).join('; ')}`;
}

/** Throws `request_invalid` where it runs with another file, and as `otherOn`. */
export async function mustRunWith(file: string, socket: string, begin = 'nothing was done: '): Promise<void> {
  const other = await otherOn(socket, file);
  if (other !== undefined) throw new SitewardError('request_invalid', `${begin}${other}`);
}
