import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { connect as secureConnect } from 'node:tls';
import { SitewardError } from '#errors.ts';
import { statusDocument } from '#lan/http/index.ts';
import { answered, openControl } from '../control.ts';
import { withFile } from '../named-file.ts';

const deadlineMs = 5000;

/**
 * A connection to the embedded broker for who brings a password: the daemon is asked first, on its control socket, whether its
 * own broker listens there. Any program may have the port, and would be handed the password. Rejects with
 * `mqtt_unreachable` where the broker does not, and `control_*` where the daemon does not say so.
 *
 * @param listen `mqtt.listen` of the configuration
 */
export async function dialDaemonsBroker(at: {
  readonly socket: string;
  readonly listen: string;
  readonly host: string;
  readonly port: number;
  /** File with the authority of its certificate, where it speaks TLS. */
  readonly ca: string | undefined;
}): Promise<Socket> {
  await using control = openControl(at.socket);
  const answer = answered(await control.client.getStatus({ signal: AbortSignal.timeout(deadlineMs) }));
  const broker = statusDocument.safeParse(answer.json).data?.parts.find(({ name }) => name === 'broker');
  if (broker?.state !== 'ok' || broker.facts?.listen !== at.listen) {
    const why = broker?.reason ?? `the running daemon has no broker on ${at.listen}; reload it`;
    throw new SitewardError('mqtt_unreachable', `name and password were not sent: ${why}`);
  }
  const to = { host: at.host, port: at.port, noDelay: true };
  const { ca } = at;
  if (ca === undefined) return connect(to);
  const authority = await withFile(ca, () => readFile(ca, 'utf8'));
  const socket = secureConnect({ ...to, ca: authority, minVersion: 'TLSv1.2' });
  await once(socket, 'secureConnect', { signal: AbortSignal.timeout(deadlineMs) });
  return socket;
}
