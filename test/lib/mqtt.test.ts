import { once } from 'node:events';
import { type AddressInfo, createServer, Socket } from 'node:net';
import { Aedes } from 'aedes';
import mqtt from 'mqtt';
import { expect, it, onTestFinished, vi } from 'vitest';
import { sendAtOnce, subscribe } from '#lib/mqtt.ts';

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

it('a refused subscription names its filter and says what to check', async () => {
  const broker = await Aedes.createBroker({
    authorizeSubscribe: (_client, subscription, done) =>
      done(null, subscription.topic === 'secret/#' ? null : subscription),
  });
  const server = createServer(broker.handle).listen(0, '127.0.0.1');
  onTestFinished(async () => {
    await new Promise<void>((resolve) => broker.close(() => resolve()));
    server.close();
  });
  await once(server, 'listening');
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => void client.end(true));
  await expect(subscribe(client, ['open/#'])).resolves.toBeUndefined();
  await expect(subscribe(client, ['open/+', 'secret/#'])).rejects.toMatchObject({
    code: 'mqtt_unreachable',
    message: expect.stringMatching(/secret\/#.*access rules/),
  });
});
