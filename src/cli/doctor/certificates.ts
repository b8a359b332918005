import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { tlsFolder } from '#box/certificates.ts';
import type { Settings } from '#config/index.ts';
import { describe } from '#errors.ts';
import { authorityFiles, serverFiles } from '#lib/certificates.ts';
import { isMissing, systemCode } from '#lib/system-code.ts';
import { type Check, type Finding, failed, good, skipped, warning } from './finding.ts';

const dayMs = 86_400_000;
/** Own ones are made anew 60 days before; who sees less has one that could not be. */
const warnDays = 30;

interface Shown {
  readonly name: string;
  readonly path: string;
  /** What ends with it. */
  readonly means: string;
  readonly advice: string;
  /** Made when it is first needed. */
  readonly isOwn: boolean;
}

/** Every certificate of the site, and how long it is good for. */
export const certificatesCheck: Check = {
  id: 'certificates',
  title: 'certificates',
  async look({ settings }): Promise<readonly Finding[]> {
    if (settings === undefined) return [skipped('the configuration has errors')];
    const shown = certificatesOf(settings);
    return shown.length === 0 ? [skipped('this site uses none')] : Promise.all(shown.map(finding));
  },
};

function certificatesOf({ mqtt, http, store }: Settings): readonly Shown[] {
  const dir = tlsFolder(store.dir);
  const renew = 'siteward makes it anew by itself at its next start; it takes openssl and a clock that is right';
  const own = (name: string, path: string, means: string): Shown => ({ name, path, means, advice: renew, isOwn: true });
  const usesOwn = (http.listen !== undefined && http.certificate === undefined) || mqtt.broker === 'embedded';
  return [
    ...(usesOwn
      ? [own('authority of the site', authorityFiles(dir).cert, 'phones and clients trust nothing here')]
      : []),
    ...(http.listen !== undefined && http.certificate === undefined
      ? [own('page and LAN API', serverFiles(dir, 'http').cert, 'the page cannot be opened')]
      : []),
    ...(http.certificate === undefined
      ? []
      : [
          {
            name: 'page and LAN API',
            path: http.certificate.cert,
            means: 'the page cannot be opened',
            advice: 'put a new one there, then "systemctl reload siteward"',
            isOwn: false,
          },
        ]),
    ...(mqtt.broker === 'embedded' ? [own('broker', serverFiles(dir).cert, 'no client over TLS comes in')] : []),
    ...(mqtt.ca === undefined
      ? []
      : [
          {
            name: 'authority of the broker',
            path: mqtt.ca,
            means: 'siteward does not trust the broker any more',
            advice: 'put the new authority there (mqtt.ca), then "systemctl reload siteward"',
            isOwn: false,
          },
        ]),
  ];
}

async function finding({ name, path, means, advice, isOwn }: Shown): Promise<Finding> {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(await readFile(path));
  } catch (error) {
    if (isMissing(error) && isOwn) return skipped('none was needed yet', name);
    if (systemCode(error) === 'EACCES') return skipped(`this user may not read ${path}; run this as root`, name);
    return failed({ subject: name, seen: `${path} cannot be read: ${describe(error)}`, means, advice });
  }
  const left = Math.floor((certificate.validToDate.getTime() - Date.now()) / dayMs);
  const until = certificate.validToDate.toISOString().slice(0, 10);
  if (certificate.validFromDate.getTime() > Date.now())
    return failed({
      subject: name,
      seen: `good from ${certificate.validFromDate.toISOString()} on, which is still to come`,
      means,
      advice: 'set the clock of this box',
    });
  if (left < 0) return failed({ subject: name, seen: `${path} ended on ${until}`, means, advice });
  if (left < warnDays)
    return warning({ subject: name, seen: `${path} ends on ${until}, in ${left} days`, means, advice });
  return good(`good until ${until}`, name);
}
