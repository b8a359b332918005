import { bundleContents, supportBundle } from '#lan/http/index.ts';
import { answered, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { intoFile, refuseTaken } from './named-file.ts';
import { formatBytes, table } from './table.ts';

interface Options {
  /** `-`: standard output. */
  readonly file?: string | undefined;
  readonly contents: boolean;
  readonly socket: string;
}

/** `siteward support-bundle`: one file for whoever helps from afar; one that is there is not touched. */
export async function supportBundleVerb({ file, contents, socket }: Options): Promise<ExitCode> {
  await using control = openControl(socket);
  const signal = patience();
  if (contents) {
    const { items } = bundleContents.parse(answered(await control.client.listBundleContents({ signal })).json);
    console.log(table(items.map(({ name, about }) => [name, about])));
    return exitCodes.ok;
  }
  // Before one is made: the audit log has what was made.
  if (file !== undefined && file !== '-') await refuseTaken(file, 'never');
  const answer = answered(await control.client.makeSupportBundle({ signal }));
  if (file === '-') {
    console.log(answer.text);
    return exitCodes.ok;
  }
  const { contents: parts, missing, made_at: madeAt } = supportBundle.parse(answer.json);
  const path = file ?? `siteward-support-${madeAt.slice(0, 19).replaceAll(/[-:]/g, '')}Z.json`;
  const bytes = await intoFile(path, 'never', async (out) => {
    const text = Buffer.from(answer.text);
    await out.writeFile(text);
    return text.length;
  });
  console.log(`${path}, ${formatBytes(bytes)}. Read it before you send it; it holds:`);
  console.log(
    table(
      parts.map(({ name, about }) => [name, missing[name] ?? about]),
      '  ',
    ),
  );
  return exitCodes.ok;
}
