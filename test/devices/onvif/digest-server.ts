import { createHash } from 'node:crypto';
import type { Reply, Seen } from './scripted-camera.ts';

/**
 * The server's side of HTTP digest as the RFC has it, with all that cameras vary: hash, session key, `qop` list, and whether
 * each use of a nonce must carry the next count. Own work, so that the client is not measured by itself.
 */
export function digestServer(options: {
  /** The whole header; NONCE stands for the nonce. */
  challenge: string | readonly string[];
  hash?: string;
  session?: boolean;
  qop?: boolean;
  /** Uses of one nonce until a new one is wanted. */
  uses?: number;
}) {
  const { hash = 'md5', session = false, qop = true, uses = Number.POSITIVE_INFINITY } = options;
  const h = (text: string) => createHash(hash).update(text, 'utf8').digest('hex');
  let number = 1;
  let used = 0;
  const refusals: string[] = [];

  function judge(request: Seen): string | undefined {
    const header = String(request.headers.authorization ?? '');
    if (!header.startsWith('Digest ')) return 'none';
    const part = (name: string) => new RegExp(`[ ,]${name}="?([^",]*)"?`).exec(header)?.[1] ?? '';
    const nonce = part('nonce');
    if (nonce !== `nonce${number}` || used >= uses) return 'stale';
    if (qop && Number.parseInt(part('nc'), 16) !== used + 1) return 'wrong count';
    const secret = h('u:cam:pass');
    const key = session ? h(`${secret}:${nonce}:${part('cnonce')}`) : secret;
    const target = h(`${request.method}:${part('uri')}`);
    const middle = qop ? `${nonce}:${part('nc')}:${part('cnonce')}:auth` : nonce;
    if (part('uri') !== request.path || part('response') !== h(`${key}:${middle}:${target}`)) return 'wrong password';
    used += 1;
    return undefined;
  }

  return {
    /** Why requests were refused, those without any answer to a challenge left out. */
    refusals,
    answer(request: Seen): Reply | undefined {
      const wrong = judge(request);
      if (wrong === undefined) return undefined;
      if (wrong !== 'none') refusals.push(wrong);
      if (used >= uses) {
        number += 1;
        used = 0;
      }
      const all = typeof options.challenge === 'string' ? [options.challenge] : options.challenge;
      const headers = { 'www-authenticate': all.map((text) => text.replaceAll('NONCE', `nonce${number}`)) };
      return { status: 401, headers, body: '<html>401</html>' };
    },
  };
}
