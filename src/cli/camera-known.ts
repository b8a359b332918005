import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { loadConfig, type Settings } from '#config/index.ts';
import type { FoundDevice } from '#devices/onvif/index.ts';
import { SitewardError } from '#errors.ts';
import { never, withDeadline } from '#lib/wait.ts';

/** Under which id a device that was found stands in the configuration. */
export interface ConfiguredAs {
  of(device: FoundDevice): string | undefined;
}

interface Configured {
  readonly id: string;
  readonly host: string;
  readonly port: string;
}

/**
 * By address and port; by address alone where only one device was found at it. A box without a configuration has none
 * of them.
 */
export async function configuredAs(file: string, found: readonly FoundDevice[]): Promise<ConfiguredAs> {
  const known = (await Promise.all(sources(settingsOf(file)).map(configuredAt))).flat();
  const alone = (host: string) => found.filter(({ addresses }) => addresses.includes(host)).length === 1;
  return {
    of({ url, addresses }) {
      const [port] = url === undefined ? [''] : [portOf(new URL(url))];
      const here = known.filter(({ host }) => addresses.includes(host) || (url !== undefined && hostOf(url) === host));
      return (here.find((one) => one.port === port) ?? here.find(({ host }) => alone(host)))?.id;
    },
  };
}

function settingsOf(file: string): Settings | undefined {
  try {
    return loadConfig(file, { unreadableSecrets: 'degrade' }).settings;
  } catch (error) {
    if (error instanceof SitewardError) return undefined;
    throw error;
  }
}

const sources = (settings: Settings | undefined): readonly { readonly id: string; readonly url: string }[] =>
  settings === undefined ? [] : [...settings.cameras, ...settings.nvrs];

async function configuredAt({ id, url: text }: { id: string; url: string }): Promise<readonly Configured[]> {
  const url = new URL(text);
  const port = portOf(url);
  const host = hostOf(text);
  if (isIP(host) !== 0) return [{ id, host, port }];
  const address = await withDeadline(2000, never(), () => lookup(host)).then(
    (one) => one.address,
    () => host,
  );
  return [host, address].map((at) => ({ id, host: at, port }));
}

const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '');
const portOf = ({ port, protocol }: URL): string => (port !== '' ? port : protocol === 'https:' ? '443' : '80');
