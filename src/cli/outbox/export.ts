import { parkedDetail } from '#lan/http/index.ts';
import { answered, type Control, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { intoFile } from '../named-file.ts';
import { type Chosen, chosen, events, mustBeParked } from './changes.ts';

/**
 * `siteward outbox export`: parked events as they would be sent now, one JSON object per line, to standard output or a
 * file of mode 0600. Nothing changes in the outbox.
 */
export async function exportParked(options: Chosen & { out?: string; force: boolean }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const { out, force } = options;
  const count =
    out === undefined
      ? await each(control, options, async (line) => void process.stdout.write(line))
      : await intoFile(out, force, (file) => each(control, options, async (line) => void (await file.write(line))));
  console.error(`${events(count)} exported${out === undefined ? '' : ` to ${out}`}`);
  return exitCodes.ok;
}

async function each(control: Control, options: Chosen, write: (line: string) => Promise<void>): Promise<number> {
  const seqs = await chosen(control, options);
  // What was printed cannot be taken back: before the first line all that were named must be there.
  if (!options.all) await mustBeParked(control, seqs);
  for (const seq of seqs) {
    const params = { seq: String(seq) };
    const { json } = answered(await control.client.getParked({ params, signal: patience() }));
    // A damaged event has no body any more; what the LAN was shown of it is left.
    const { cloud_event, event } = parkedDetail.parse(json);
    await write(`${JSON.stringify(cloud_event ?? { damaged: true, payload: event })}\n`);
  }
  return seqs.length;
}
