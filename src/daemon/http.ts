import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import { type Certify, ownCertificate, siteAuthority } from '#box/certificates.ts';
import { fileDigests } from '#box/folders.ts';
import { given } from '#box/given-certificate.ts';
import { defaultDialect } from '#cloud/contract/index.ts';
import type { Settings } from '#config/index.ts';
import { describe, SitewardError } from '#errors.ts';
import { createHttpListener, type LanPort, type ShownCertificate } from '#lan/http/index.ts';
import { isHostName } from '#lib/certificates.ts';
import type { Part } from '#lib/health.ts';
import { hostAndPort } from '#lib/host.ts';
import type { Surroundings } from './house.ts';
import { pageFiles } from './page-files.ts';

/** What the HTTPS listener is made of; undefined: these settings have none. */
export const httpWants = ({ http, cloud, store, site }: Settings): unknown =>
  http.listen && [
    ...[http, fileDigests([http.certificate?.cert]), store.dir, site.external_id],
    // One of the cloud's own paths is in the dialect.
    (cloud?.dialect ?? defaultDialect()).ref_path,
  ];

/** The LAN API on `http.listen`. */
export function siteHttp(
  settings: Settings,
  metrics: Registry,
  { log, lan, certify }: { log: Surroundings['log']; lan: LanPort; certify: Certify },
): Part | undefined {
  const { listen, names } = settings.http;
  if (listen === undefined) return undefined;
  return createHttpListener({
    listen: hostAndPort(listen),
    names: new Set(names.map((name) => name.toLowerCase())),
    certificate: (signal) =>
      settings.http.certificate === undefined ? made(settings, certify, signal) : given(settings.http.certificate),
    port: lan,
    page: pageFiles,
    log: log('http'),
    metrics,
  });
}

/** By the authority of the site. One that cannot be renewed is shown as long as there is one: the API does not go with it. */
async function made(settings: Settings, certify: Certify, signal: AbortSignal): Promise<ShownCertificate> {
  const { names } = settings.http;
  try {
    return await certify('http', settings, [...localNames(), ...names], signal);
  } catch (error) {
    signal.throwIfAborted();
    const old = await ownCertificate('http', settings).catch(() => undefined);
    if (old === undefined) throw error;
    return { ...old, note: `the certificate is an old one: ${describe(error)}` };
  }
}

/** What the bridge is called where names are asked for in the network itself (mDNS). */
function localNames(): readonly string[] {
  const [label = ''] = hostname().toLowerCase().split('.');
  return isHostName(label) && label !== 'localhost' ? [`${label}.local`] : [];
}

/** The authority behind what the bridge shows. Rejects with `authority_unknown` where that is a certificate of the site's own. */
export async function shownAuthority(settings: Settings): Promise<string> {
  if (settings.http.certificate === undefined) return siteAuthority(settings);
  throw new SitewardError('authority_unknown', 'this bridge shows a certificate of your own (http.certificate)');
}
