import { type AuditVerdictBody, auditVerdict } from '#lan/http/index.ts';
import { answered, type Control, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { type AuditorOptions, auditorSession } from './auditor.ts';
import { readExport } from './file.ts';

export interface VerifyOptions extends AuditorOptions {
  readonly against?: string;
  readonly json: boolean;
  readonly socket: string;
}

const saysBroken = {
  changed: 'the next entry is not as it was written',
  missing: 'entries are missing before the next one',
  cut: 'the newest entries are missing',
} as const;

/** `siteward audit verify`: 0 when the log is whole, 1 when it is not. */
export async function verify(options: VerifyOptions): Promise<ExitCode> {
  const { against } = options;
  const known = against === undefined ? undefined : await readExport(against);
  await using control = openControl(options.socket);
  const session = await auditorSession(control, { ...options, auditor: options.auditor || known !== undefined });
  const marks = known?.last === undefined ? {} : { marks: [known.last] };
  const verdict = await walked(control, { ...(session !== undefined && { session }), ...marks });
  const { broken, entries, at } = verdict;
  if (options.json) {
    const { walk: _, done: __, ...told } = verdict;
    console.log(JSON.stringify({ ok: broken === null, ...told }));
  } else {
    for (const time of verdict.anew) console.log(`a chain begins anew at ${time}, as after a damaged disk`);
    console.log(broken === null ? whole(verdict, against) : `BROKEN: ${where(entries, at)}${saysBroken[broken]}`);
    if (verdict.broken_n !== undefined) console.log(`it is entry ${verdict.broken_n}`);
  }
  return broken === null ? exitCodes.ok : exitCodes.failure;
}

const where = (entries: number, at: string | null): string =>
  at === null ? '' : `after ${count(entries)}, the last of ${at}, `;

const whole = ({ entries, at }: AuditVerdictBody, against: string | undefined): string =>
  `the log is whole: ${count(entries)}${at === null ? '' : `, the newest of ${at}`}${against === undefined ? '' : `; it continues ${against}`}`;

const count = (entries: number): string => `${entries} ${entries === 1 ? 'entry' : 'entries'}`;

async function walked(
  control: Control,
  how: { session?: string; marks?: { n: number; hash: string }[] },
): Promise<AuditVerdictBody> {
  const { marks, ...rest } = how;
  const isSeen = process.stderr.isTTY;
  for (let walk: string | undefined; ; ) {
    const body = { ...rest, ...(walk === undefined ? marks !== undefined && { marks } : { walk }) };
    const { json } = answered(await control.client.verifyAudit({ body, signal: patience() }));
    const verdict = auditVerdict.parse(json);
    if (isSeen) process.stderr.write(`\r${count(verdict.entries)} verified${verdict.walk === null ? '\n' : ''}`);
    if (verdict.walk === null) return verdict;
    walk = verdict.walk;
  }
}
