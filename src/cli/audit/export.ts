import { type FileHandle, lstat, open } from 'node:fs/promises';
import { SitewardError } from '#errors.ts';
import { type AuditExportPage, auditExportPage } from '#lan/http/index.ts';
import { sha256 } from '#lib/digest.ts';
import { answered, type Control, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { unusable, withFile } from '../named-file.ts';
import { auditorSession } from './auditor.ts';
import { type Exported, headerLine, headLine, type Link, readExport } from './file.ts';

export interface ExportOptions {
  readonly file: string;
  readonly after?: string;
  readonly codeStdin: boolean;
  readonly json: boolean;
  readonly socket: string;
}

/**
 * `siteward audit export`: the entries as they lie in the log, one a line; a file that is there is checked and continued.
 * When all of it is on disk the daemon is told, so that old entries may give way.
 */
export async function exportAudit(options: ExportOptions): Promise<ExitCode> {
  const { file, after } = options;
  const there = (await exists(file)) ? await readExport(file) : undefined;
  if (there !== undefined && there.bytes > 0 && after !== undefined)
    throw unusable(`${file} is there already and goes on by itself; leave --after away`);
  const earlier = after === undefined ? undefined : (await readExport(after)).last;
  const known = there?.last ?? earlier;
  await using control = openControl(options.socket);
  const session = await auditorSession(control, { auditor: true, codeStdin: options.codeStdin });
  if (session === undefined) throw new TypeError('an export without an auditor');
  // Before the file is touched: a log that does not continue it writes nothing.
  const first = await pageAfter(control, session, known);
  const { entries, last } = await write(file, there, async function* () {
    if (there === undefined || there.bytes === 0) yield { line: headerLine(known ?? first.base ?? undefined) };
    for (let page = first; page.items.length > 0; ) {
      for (const { n, hash, record } of page.items) {
        if (sha256(record) !== hash)
          throw new SitewardError(
            'audit_discontinued',
            `entry ${n} of the log was changed; "siteward audit verify" says more`,
          );
        yield { line: `${record}\n`, link: { n, hash } };
      }
      const { n, hash } = page.items.at(-1) ?? { n: 0, hash: '' };
      page = await pageAfter(control, session, { n, hash });
    }
  });
  const end = last ?? known;
  if (end !== undefined) {
    const body = { session, last: end };
    answered(await control.client.exportedAudit({ body, signal: patience() }));
  }
  if (options.json) console.log(JSON.stringify({ entries, last: end ?? null }));
  else
    console.log(
      end === undefined
        ? 'the log is empty'
        : `${entries} new entries in ${file}; the last is ${end.n}, hash ${end.hash}`,
    );
  return exitCodes.ok;
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

async function pageAfter(control: Control, session: string, after: Link | undefined): Promise<AuditExportPage> {
  const body = { session, ...(after !== undefined && { after }) };
  return auditExportPage.parse(answered(await control.client.exportAudit({ body, signal: patience() })).json);
}

type Lines = () => AsyncGenerator<{ line: string; link?: Link }>;

/** Appends and syncs. What fails half-way stays: the next export goes on behind it. */
async function write(
  path: string,
  there: Exported | undefined,
  lines: Lines,
): Promise<{ entries: number; last: Link | undefined }> {
  const file = await withFile(path, () => (there === undefined ? open(path, 'wx', 0o600) : open(path, 'r+')));
  try {
    await file.chmod(0o600);
    if (there !== undefined) await file.truncate(there.bytes);
    return await append(file, there?.bytes ?? 0, lines);
  } finally {
    await file.sync().catch(() => undefined);
    await file.close();
  }
}

async function append(
  file: FileHandle,
  from: number,
  lines: Lines,
): Promise<{ entries: number; last: Link | undefined }> {
  let position = from;
  let entries = 0;
  let last: Link | undefined;
  const put = async (line: string) => {
    const bytes = Buffer.from(line);
    await file.write(bytes, 0, bytes.length, position);
    position += bytes.length;
  };
  for await (const { line, link } of lines()) {
    await put(line);
    if (link === undefined) continue;
    entries += 1;
    last = link;
  }
  if (last !== undefined) await put(headLine(last, new Date().toISOString()));
  await file.sync();
  return { entries, last };
}
