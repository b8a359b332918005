import type { MqttClient, Packet } from 'mqtt';

/** Between two looks, milliseconds. */
const lookMs = 250;
/** So many looks in a row find nothing before the queue counts as empty; a broker may answer a ping out of turn once. */
const looks = 2;

export interface QueueWatch {
  /** Whether the message at hand may have waited in the broker while nobody listened. */
  waits(): boolean;
  /** A message has come. */
  came(): void;
  /** The subscriptions stand: from now on the end of the queue is looked for. */
  subscribed(): void;
  close(): void;
}

/**
 * Tells what waited in a persistent session from what happens now. MQTT 3.1.1 marks neither, but a session is one ordered
 * stream: CONNACK says whether there was a session, and a broker that has every acknowledgement has sent all there was
 * before it answers the next ping. So the queue is empty when a ping comes back with no message before it while
 * nothing was unacknowledged, however long it took until then.
 */
export function watchQueue(client: MqttClient, unacknowledged: () => number): QueueWatch {
  let waiting = true;
  let messages = 0;
  let empty = 0;
  /** How many messages had come when the ping left. */
  let asked: number | undefined;
  let timer: NodeJS.Timeout | undefined;

  const look = () => {
    if (unacknowledged() === 0) {
      asked = messages;
      client.sendPing();
    } else again();
  };
  const again = () => {
    timer = setTimeout(look, lookMs);
    timer.unref();
  };
  const close = () => {
    clearTimeout(timer);
    client.off('packetreceive', received);
  };
  const received = (packet: Packet) => {
    if (packet.cmd === 'connack' && !packet.sessionPresent) {
      waiting = false;
      close();
    }
    if (packet.cmd !== 'pingresp' || asked === undefined) return;
    empty = asked === messages ? empty + 1 : 0;
    asked = undefined;
    if (empty < looks) return again();
    waiting = false;
    close();
  };
  client.on('packetreceive', received);

  return {
    waits: () => waiting,
    came() {
      messages += 1;
    },
    subscribed() {
      if (waiting) look();
    },
    close,
  };
}
