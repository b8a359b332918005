import { explainFrame } from '#devices/panels/index.ts';
import { SitewardError } from '#errors.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { printable, table } from '../table.ts';

/** `siteward panel try sia-dc09 --frame`: what siteward reads in a frame, without panel, key and daemon. */
export function tryFrame({ frame, json }: { readonly frame: string; readonly json: boolean }): ExitCode {
  const found = explainFrame(frame);
  if (typeof found === 'string') throw new SitewardError('profile_invalid', `the frame ${found}`);
  if (json) for (const one of found) console.log(JSON.stringify(one));
  else if (found.length === 0) console.log('a link test: the panel is there');
  else
    console.log(
      table(
        found.map(({ code, term = '', area = '', number = '', meaning }) =>
          [code, term, area && `area ${area}`, number && `number ${number}`, meaning].map(printable),
        ),
      ),
    );
  return exitCodes.ok;
}
