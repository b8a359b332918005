import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { SitewardError } from '#errors.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { intoFile } from '../named-file.ts';
import { openSiteFile } from '../site-file.ts';
import { printable } from '../table.ts';
import { applicationOf, applicationText } from './application.ts';
import { type FoundKey, registrationKey, writtenKey } from './keys.ts';

export interface RegistrationOptions {
  readonly config: string;
  readonly name?: string;
  readonly eventsPerDay?: number;
  readonly out?: string;
  readonly force: boolean;
  /** The key of `siteward cloud rotate-key` that is not in use yet. */
  readonly next: boolean;
  readonly json: boolean;
}

/**
 * `siteward cloud registration`: the public half of the key that signs for events, with all that an operator asks for. Makes the pair
 * where there is none yet, and never shows its private half. The configuration need not be there.
 */
export async function registration(options: RegistrationOptions): Promise<ExitCode> {
  const config = resolve(options.config);
  const found = options.next ? nextKey(config) : await registrationKey(config);
  console.error(
    found.made
      ? `a key was made; its private half lies in ${printable(found.path ?? '')} and stays there`
      : `the key is that of ${printable(found.place)}`,
  );
  const settings = existsSync(config) ? openSiteFile(config).settings : undefined;
  const application = await applicationOf({ key: found.key, settings, ...options });
  const text = options.json ? `${JSON.stringify(application)}\n` : applicationText(application);
  if (options.out === undefined) process.stdout.write(text);
  else {
    const out = resolve(options.out);
    await intoFile(out, options.force, async (file) => (await file.write(text)).bytesWritten);
    console.error(`written to ${printable(out)}: give it to the operator of the service`);
  }
  return exitCodes.ok;
}

function nextKey(config: string): FoundKey {
  const found = writtenKey(openSiteFile(config), 'next');
  if (found !== undefined) return found;
  throw new SitewardError(
    'config_invalid',
    `${config} has no cloud.events.next_private_key: "siteward cloud rotate-key" makes one`,
  );
}
