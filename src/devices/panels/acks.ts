import type { IPublishPacket } from 'mqtt';

/**
 * PUBACK after the work, without holding up the messages behind it.
 *
 * mqtt.js hands each message to `handleMessage(packet, callback)`. `callback()` sends the PUBACK and asks for the next
 * packet; `callback(error)` asks for the next packet and sends nothing. So a message is taken with an error first and
 * acknowledged by a second, plain call once its work is done. (`customHandleAcks` is MQTT 5 only and would stop the
 * reading meanwhile.) `test/devices/panels/acks.test.ts` holds mqtt.js to this.
 */
export interface Acks {
  readonly handleMessage: (packet: IPublishPacket, callback: (error?: Error) => void) => void;
  /** After this nothing is acknowledged any more; the broker delivers the rest again. */
  close(): void;
  readonly unacknowledged: number;
}

const later = new Error('acknowledged later');

/**
 * `work` is called for each message at once, in order of arrival. PUBACKs leave in the same order (MQTT-4.6.0-2). At
 * `limit` unfinished messages no further packet is read. A rejection ends all acknowledging and calls `failed`.
 */
export function createAcks(options: {
  limit: number;
  work: (packet: IPublishPacket) => Promise<void> | undefined;
  failed: (error: unknown) => void;
}): Acks {
  let open = true;
  let unfinished = 0;
  let tail: Promise<void> = Promise.resolve();
  return {
    handleMessage(packet, callback) {
      const work = options.work(packet);
      if (work === undefined && unfinished === 0) {
        callback();
        return;
      }
      unfinished += 1;
      // At the limit the packet asks for no other until it is done. Each PUBACK of an earlier one asks for one, so that
      // reading goes on at the pace of the store.
      const held = unfinished >= options.limit;
      tail = tail
        .then(() => work)
        .then(
          () => {
            unfinished -= 1;
            if (open && (packet.qos > 0 || held)) callback();
          },
          (error: unknown) => {
            if (open) options.failed(error);
            open = false;
          },
        );
      // The tail hears of a rejection in its turn; until then it is not unhandled.
      work?.catch(() => {});
      if (!held) callback(later);
    },
    close() {
      open = false;
    },
    get unacknowledged() {
      return unfinished;
    },
  };
}
