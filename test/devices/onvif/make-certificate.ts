import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly fingerprint: string;
}

/** A real certificate, made by openssl: signed by itself, or by `issuer`; for these subject names (`IP:…`, `DNS:…`). */
export function makeCertificate(options: { names?: string; issuer?: Certificate; ca?: boolean } = {}): Certificate {
  const { names = 'DNS:camera', issuer, ca = false } = options;
  const folder = mkdtempSync(join(tmpdir(), 'siteward-tls-'));
  const at = (name: string) => join(folder, name);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', at('key.pem')];
  const subject = ['-subj', `/CN=camera ${Math.random()}`, '-days', '2'];
  const extensions = ['-addext', `subjectAltName=${names}`, '-addext', `basicConstraints=critical,CA:${ca}`];
  const signed = issuer === undefined ? [] : ['-CA', at('ca.pem'), '-CAkey', at('ca-key.pem')];
  if (issuer !== undefined) {
    writeFileSync(at('ca.pem'), issuer.cert);
    writeFileSync(at('ca-key.pem'), issuer.key);
  }
  const all = ['req', '-x509', ...key, ...subject, ...extensions, ...signed, '-out', at('cert.pem')];
  execFileSync('openssl', all, { stdio: 'ignore' });
  const cert = readFileSync(at('cert.pem'), 'utf8');
  const made = {
    cert,
    key: readFileSync(at('key.pem'), 'utf8'),
    fingerprint: new X509Certificate(cert).fingerprint256,
  };
  rmSync(folder, { recursive: true });
  return made;
}
