import type { MqttClient, Packet } from 'mqtt';

/**
 * Whether the broker answers now, within `withinMs`. One that hangs, on a card that stalls, keeps its connections: what is written then
 * it carries out later, when siteward has long said that nobody did.
 */
export function answers(client: MqttClient, withinMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const done = (is: boolean) => {
      clearTimeout(timer);
      client.off('packetreceive', heard);
      client.off('close', gone);
      resolve(is);
    };
    const heard = ({ cmd }: Packet) => {
      if (cmd === 'pingresp') done(true);
    };
    const gone = () => done(false);
    const timer = setTimeout(gone, withinMs);
    timer.unref();
    client.on('packetreceive', heard);
    client.once('close', gone);
    client.sendPing();
  });
}
