import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A certificate for this machine in a folder, valid from now on, that is its own authority (`NODE_EXTRA_CA_CERTS`: `file`). */
export function certificate(folder: string): { cert: string; key: string; file: string } {
  const [key, file] = [join(folder, 'tls.key'), join(folder, 'tls.crt')];
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '30', ...name, '-keyout', key, '-out', file];
  execFileSync('openssl', made, { stdio: 'ignore' });
  return { cert: readFileSync(file, 'utf8'), key: readFileSync(key, 'utf8'), file };
}
