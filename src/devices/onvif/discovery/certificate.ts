import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { SitewardError } from '#errors.ts';
import { bareHost } from '#lib/host.ts';
import { withDeadline } from '#lib/wait.ts';

export interface SeenCertificate {
  /** SHA-256, as for `tls_fingerprint`. */
  readonly fingerprint: string;
  /** An authority this system trusts vouches for it, under this name. */
  readonly trusted: boolean;
  readonly subject: string;
  /** As the certificate writes it. */
  readonly validTo: string;
}

/** Looks at the certificate and sends nothing. Throws `camera_unreachable`, `deadline` or the signal's reason. */
export function seeCertificate(url: URL, timeoutMs: number, signal: AbortSignal): Promise<SeenCertificate> {
  const host = bareHost(url.hostname);
  const port = url.port === '' ? 443 : Number(url.port);
  return withDeadline(timeoutMs, signal, (own) => handshake(host, port, own), `the certificate of ${url.host}`);
}

function handshake(host: string, port: number, signal: AbortSignal): Promise<SeenCertificate> {
  return new Promise((resolve, reject) => {
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket = connect({ host, port, ...name, rejectUnauthorized: false });
    const aborted = () => socket.destroy();
    signal.addEventListener('abort', aborted, { once: true });
    const end = () => {
      signal.removeEventListener('abort', aborted);
      socket.destroy();
    };
    socket.on('error', (cause) => {
      end();
      reject(new SitewardError('camera_unreachable', `No TLS connection to ${host} at port ${port}`, { cause }));
    });
    socket.once('secureConnect', () => {
      const { fingerprint256, subject, valid_to: validTo } = socket.getPeerCertificate();
      const trusted = socket.authorized;
      end();
      const { CN: names } = subject ?? {};
      resolve({
        fingerprint: fingerprint256 ?? '',
        trusted,
        subject: String((Array.isArray(names) ? names[0] : names) ?? ''),
        validTo: validTo ?? '',
      });
    });
  });
}
