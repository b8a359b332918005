import { pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto';
import { hostAndPort } from '#lib/host.ts';

/** The files of mosquitto 2 that siteward writes, as text. Its access rules are in `acl.ts`. */

/**
 * mosquitto computes it in its one thread at each connection. The passwords siteward makes are beyond guessing at any count; one of
 * a person's own is worth a few milliseconds.
 */
const iterations = 5000;
const saltBytes = 12;
const hashBytes = 64;

/** A password as mosquitto keeps it: `$7$`, the count, salt and PBKDF2-SHA512 in base64. */
export function passwordHash(password: string): string {
  const salt = randomBytes(saltBytes);
  const hash = pbkdf2Sync(password, salt, iterations, hashBytes, 'sha512');
  return `$7$${iterations}$${salt.toString('base64')}$${hash.toString('base64')}`;
}

/** Whether a hash of this kind, by siteward or `mosquitto_passwd`, is that of the password. */
export function isPasswordOf(hash: string, password: string): boolean {
  const [, count, salt, wanted] = /^\$7\$(\d{1,7})\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)$/.exec(hash) ?? [];
  if (count === undefined || salt === undefined || wanted === undefined) return false;
  const expected = Buffer.from(wanted, 'base64');
  if (expected.length !== hashBytes || Number(count) < 1) return false;
  const given = pbkdf2Sync(password, Buffer.from(salt, 'base64'), Number(count), hashBytes, 'sha512');
  return timingSafeEqual(given, expected);
}

/** The hashes of a `password_file` by user name; lines that are none are left out. */
export function passwordsIn(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split('\n').flatMap((line) => {
      const [, id, hash] = /^([^:\s]+):(\$\S+)$/.exec(line.trim()) ?? [];
      return id === undefined || hash === undefined ? [] : [[id, hash] as const];
    }),
  );
}

export interface Listeners {
  /** TLS, for every client on the LAN. */
  readonly lan: string;
  /** TLS on loopback, for siteward's own connections. */
  readonly own: string;
  /** Without TLS: loopback, or a network of its own for panel bridges. */
  readonly plain?: string | undefined;
}

/** What goes into `/etc/mosquitto/conf.d`. Addresses are `HOST:PORT`. */
export function mosquittoConf(dir: string, { lan, own, plain }: Listeners): string {
  const tls = [`certfile ${dir}/server.crt`, `keyfile ${dir}/server.key`, 'tls_version tlsv1.2'];
  // A client's id is its user name: nobody can take the place of another, least of all of siteward.
  const named = 'use_username_as_clientid true';
  return [
    '# Made by "siteward mqtt provision", which writes it anew: change nothing here.',
    'allow_anonymous false',
    `password_file ${dir}/passwd`,
    `acl_file ${dir}/acl`,
    'max_packet_size 1048576',
    'max_queued_messages 1000',
    'persistent_client_expiration 7d',
    '',
    '# Clients on the LAN.',
    listener(lan),
    ...tls,
    'max_connections 128',
    named,
    '',
    '# siteward itself, which has several connections.',
    listener(own),
    ...tls,
    'max_connections 16',
    ...(plain === undefined
      ? []
      : ['', '# Panel bridges that know no TLS.', listener(plain), 'max_connections 32', named]),
    '',
  ].join('\n');
}

/** The listeners of such a text; undefined where it is none. */
export function listenersIn(text: string): Listeners | undefined {
  const [lan, own, plain] = [...text.matchAll(/^listener (\d+) (\S+)$/gm)].map(([, port, host = '']) =>
    host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`,
  );
  return lan === undefined || own === undefined ? undefined : { lan, own, plain };
}

function listener(address: string): string {
  const { host, port } = hostAndPort(address);
  return `listener ${port} ${host}`;
}
