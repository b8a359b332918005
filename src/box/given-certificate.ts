import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { OtherProblem, Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import type { ShownCertificate } from '#lan/http/index.ts';

const warnBeforeMs = 30 * 86_400_000;

type Given = NonNullable<Settings['http']['certificate']>;

/** A certificate of the site's own. Its key is read with the configuration: a new pair counts from the next reload on. */
export async function given(certificate: Given): Promise<ShownCertificate> {
  const cert = await readFile(certificate.cert, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === 'ENOENT' ? 'there is no such file' : (cause.code ?? cause.message);
    throw failed(`cert ${certificate.cert} cannot be read by siteward: ${why}`, { cause });
  });
  const wrong = unfit(cert, certificate);
  if (wrong !== undefined) throw failed(`${wrong.at} ${wrong.message}`);
  const end = new X509Certificate(cert).validToDate;
  const note = `the certificate ${certificate.cert} ends at ${end.toISOString()}; put another one there and reload`;
  const isNear = end.getTime() - Date.now() < warnBeforeMs;
  return { cert, key: certificate.key.reveal(), ...(isNear && { note }) };
}

const failed = (what: string, more?: { cause: unknown }): SitewardError =>
  new SitewardError('certificate_failed', `http.certificate.${what}`, more);

/** A pair that can be read and does not fit together, at its place in the configuration. */
export function certificateProblems({ http: { certificate } }: Settings): readonly OtherProblem[] {
  // A file or key that cannot be read here may be there on the bridge.
  if (certificate === undefined || keyOf(certificate) === undefined) return [];
  const cert = orNone(() => readFileSync(certificate.cert, 'utf8'));
  const wrong = cert === undefined ? undefined : unfit(cert, certificate);
  return wrong === undefined ? [] : [{ path: ['http', 'certificate', wrong.at], message: wrong.message }];
}

function unfit(cert: string, given: Given): { at: 'cert' | 'key'; message: string } | undefined {
  const certificate = orNone(() => new X509Certificate(cert));
  if (certificate === undefined) return { at: 'cert', message: 'is no certificate in PEM' };
  const key = keyOf(given);
  if (key === undefined) return { at: 'key', message: 'is no private key in PEM without a password' };
  if (!certificate.checkPrivateKey(key)) return { at: 'key', message: 'is not the key of this certificate' };
  return undefined;
}

const keyOf = ({ key }: Given) => orNone(() => createPrivateKey(key.reveal()));

function orNone<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
