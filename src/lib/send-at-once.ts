import { Socket } from 'node:net';

/**
 * Lets small messages of an MQTT client leave at once. The library leaves Nagle's algorithm on, so that a message
 * behind one the other side has not acknowledged yet waits about 40 ms.
 */
export function sendAtOnce(client: { readonly stream: unknown }): void {
  if (client.stream instanceof Socket) client.stream.setNoDelay(true);
}
