import type { TLSSocket } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import { SitewardError } from '#errors.ts';
import { lanOperations } from '#lan/http/index.ts';
import { bindClient } from '#lib/contract/client.ts';
import { type Control, sendOn } from '../control.ts';

/**
 * The LAN API of this box as a program on the network asks it, for what takes an account. The certificate has to be the one that the
 * control socket named: whoever else listens there gets no password. `headers` go with every request.
 */
export function openListener(
  { listen, fingerprint }: { readonly listen: string; readonly fingerprint: string },
  headers: Readonly<Record<string, string>>,
): Control {
  const colon = listen.lastIndexOf(':');
  const host = listen.slice(0, colon);
  const own = ['0.0.0.0', ''].includes(host) ? '127.0.0.1' : ['[::]', '::'].includes(host) ? '[::1]' : host;
  const origin = `https://${own}:${listen.slice(colon + 1)}`;
  const plain = buildConnector({ rejectUnauthorized: false, timeout: connectMs });
  const agent = new Agent({
    connections: 1,
    connect: (options, done) =>
      plain(options, (...[error, socket]) => {
        if (error !== null) return done(error, null);
        if ((socket as TLSSocket).getPeerCertificate().fingerprint256 === fingerprint) return done(null, socket);
        socket.destroy();
        done(new SitewardError('control_unreachable', notOurs(origin)), null);
      }),
  });
  return {
    client: bindClient(lanOperations, (wire) =>
      sendOn(
        { dispatcher: agent, origin, place: origin },
        { ...wire, headers: { ...wire.headers, ...headers, origin } },
      ),
    ),
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

const connectMs = 10_000;
const notOurs = (origin: string) => `what listens at ${origin} does not have the certificate of this siteward`;
