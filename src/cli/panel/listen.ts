import { randomBytes } from 'node:crypto';
import type { IPublishPacket, MqttClient } from 'mqtt';
import { keepLine, type Message } from '#devices/panels/index.ts';
import { SitewardError } from '#errors.ts';
import { systemClock } from '#lib/clock.ts';
import type { Connect } from '#lib/mqtt.ts';

export interface ListenOptions {
  readonly connect: Connect;
  /** Called for each connection: subscribes. */
  readonly subscribe: (client: MqttClient) => Promise<void>;
  readonly take: (message: Message) => void;
  /** Told on standard error unless given: the broker was lost, or is back. */
  readonly tell?: (line: string) => void;
  readonly signal: AbortSignal;
  /** Called once, when the broker has granted the first subscription. */
  readonly listening?: () => void;
}

/**
 * Listens on the broker until `signal` aborts; a lost connection is told and taken up again. Throws `mqtt_unreachable` when
 * the first connection fails, `mqtt_unauthorized` when the broker refused the credentials. Sees messages as any
 * client does: nothing is acknowledged in the name of the daemon.
 */
export async function listen(options: ListenOptions): Promise<void> {
  const tell = options.tell ?? ((line) => console.error(`siteward: ${line}`));
  const failed = new AbortController();
  let connections = 0;
  let lost = false;
  let first: string | undefined;
  await keepLine(
    {
      connect: { ...options.connect, protocolVersion: 4 },
      // Not siteward-...: the embedded broker keeps those names for the daemon.
      clientId: `panel-listen-${randomBytes(6).toString('hex')}`,
      clean: true,
      clock: systemClock(),
      async up(client) {
        await options.subscribe(client);
        connections += 1;
        if (connections === 1) options.listening?.();
        if (lost) tell('the broker is back');
        lost = false;
      },
      down(reason) {
        if (connections === 0) {
          first = reason;
          failed.abort(new Error(reason));
        } else if (!lost) {
          lost = true;
          tell(`the broker is lost (${reason}); trying again`);
        }
      },
      message(packet) {
        options.take(messageOf(packet));
        return undefined;
      },
    },
    AbortSignal.any([options.signal, failed.signal]),
  );
  if (first !== undefined) throw unreachable(options.connect, first);
}

const messageOf = (packet: IPublishPacket): Message => ({
  topic: packet.topic,
  payload: typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload,
  retain: packet.retain === true,
});

function unreachable({ url, username }: Connect, reason: string): SitewardError {
  const login = /not authorized|bad user|username or password/i.test(reason);
  const advice = login
    ? username === undefined
      ? 'it wants a user name and password: set mqtt.username and mqtt.password, or SITEWARD_MQTT_USERNAME and SITEWARD_MQTT_PASSWORD'
      : `it does not accept the user "${username}" with this password`
    : 'check address and port, and that the broker runs (the embedded one is part of the daemon: "systemctl status siteward")';
  return new SitewardError(
    login ? 'mqtt_unauthorized' : 'mqtt_unreachable',
    `the broker ${url} cannot be used: ${reason}; ${advice}`,
    { facts: { url } },
  );
}
