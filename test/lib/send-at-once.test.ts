import { once } from 'node:events';
import { type AddressInfo, createServer, Socket } from 'node:net';
import mqtt from 'mqtt';
import { expect, it, onTestFinished, vi } from 'vitest';
import { sendAtOnce } from '#lib/send-at-once.ts';

it('an MQTT client asks the kernel to send small messages at once', async () => {
  const asked = vi.spyOn(Socket.prototype, 'setNoDelay');
  onTestFinished(() => asked.mockRestore());
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0 });
  onTestFinished(() => void client.end(true));
  sendAtOnce(client);
  expect(asked.mock.contexts).toContain(client.stream);
  expect(asked).toHaveBeenCalledWith(true);
});
