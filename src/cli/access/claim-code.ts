import { networkInterfaces } from 'node:os';
import { claimCodeAnswer, statusDocument } from '#lan/http/index.ts';
import { answered, type Control, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { table } from '../table.ts';

/** Where a browser finds the bridge, and by what it is told that it is this one. */
export interface WayIn {
  /** Empty where the LAN API is not served over the network. */
  readonly urls: readonly string[];
  /** SHA-256 of the certificate. */
  readonly fingerprint?: string;
}

/** `siteward claim-code`. The code is shown here and nowhere else (safety 10). */
export async function claimCode(options: { json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const { json } = answered(await control.client.showClaimCode({ signal: patience() }));
  const shown = claimCodeAnswer.parse(json);
  const way = await wayIn(control);
  if (options.json) console.log(JSON.stringify({ ...shown, ...way }));
  else if (shown.claim_code !== undefined) console.log(invitation(shown.claim_code, way));
  if (shown.claim_code !== undefined) return exitCodes.ok;
  console.error(
    `siteward: the bridge is claimed: log in with an account${way.urls[0] === undefined ? '' : ` at ${way.urls[0]}`}. ` +
      '"siteward access list" shows the accounts; if nobody can log in any more, "siteward reset-access"',
  );
  return exitCodes.refused;
}

/** What somebody needs who claims the bridge. */
export function invitation(code: string, { urls, fingerprint }: WayIn): string {
  const rows = [
    ['claim code', `${code.slice(0, 4)}-${code.slice(4)}`],
    ...(urls.length === 0
      ? [['open', 'nothing yet: http.listen is not set, or does not listen; "siteward status" says more']]
      : urls.map((url, index) => [index === 0 ? 'open' : 'or', url])),
    ...(fingerprint === undefined ? [] : [['SHA-256', fingerprint]]),
  ];
  return table(rows);
}

export async function wayIn(control: Control): Promise<WayIn> {
  const { listen, fingerprint } = await listenerOf(control);
  return { urls: listen === undefined ? [] : urlsOf(listen), ...(fingerprint !== undefined && { fingerprint }) };
}

/** HOST:PORT where the LAN API is served over the network, and the SHA-256 fingerprint of its certificate. */
export async function listenerOf(
  control: Control,
): Promise<{ readonly listen?: string; readonly fingerprint?: string }> {
  const { json } = answered(await control.client.getStatus({ signal: patience() }));
  const { facts = {} } = statusDocument.parse(json).parts.find(({ name }) => name === 'http') ?? {};
  const { listen, fingerprint } = facts;
  return {
    ...(typeof listen === 'string' && listen !== '' && { listen }),
    ...(typeof fingerprint === 'string' && { fingerprint }),
  };
}

/** Links that are shown, of a machine that may have many. */
const shownUrls = 4;

/** Of "HOST:PORT"; of every address of this machine where it listens on all. */
export function urlsOf(listen: string, addresses: () => readonly string[] = ownAddresses): readonly string[] {
  const colon = listen.lastIndexOf(':');
  const [host, port] = [listen.slice(0, colon), listen.slice(colon + 1)];
  const hosts = ['0.0.0.0', '[::]', '::', ''].includes(host) ? addresses() : [host];
  return hosts.slice(0, shownUrls).map((one) => `https://${one}:${port}/`);
}

/** IPv4 first in everybody's head, and no browser takes an address with a zone. */
const ownAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((links = []) =>
    links.flatMap(({ internal, family, address }) => (internal || family !== 'IPv4' ? [] : [address])),
  );
