import mqtt from 'mqtt';

/**
 * A client in a process of its own that publishes as fast as its connection takes it, until its standard input ends. Arguments: address,
 * its options and the flood as JSON. Says `begun` after the first thousand.
 */
const [url = '', options = '{}', what = '{}'] = process.argv.slice(2);
const { topic, payload, fill, qos } = JSON.parse(what) as {
  topic: string;
  payload: string;
  fill: number;
  qos: 0 | 1;
};
const client = await mqtt.connectAsync(url, { ...JSON.parse(options), reconnectPeriod: 0 });
let isOver = false;
client.on('close', () => {
  isOver = true;
});
client.on('error', () => undefined);
process.stdin.resume();
process.stdin.on('end', () => {
  isOver = true;
});
const rest = 'x'.repeat(fill);
const atOnce = fill > 1000 ? 20 : 1000;
let sent = 0;
while (!isOver) {
  let last: Promise<unknown> = Promise.resolve();
  for (let n = 0; n < atOnce; n += 1, sent += 1) {
    const fresh = (text: string) => text.replaceAll('%n', String(sent)).replaceAll('%t', new Date().toISOString());
    last = client.publishAsync(fresh(topic), fresh(payload) + rest, { qos }).catch(() => undefined);
  }
  await last;
  if (sent === atOnce) process.stdout.write('begun\n');
}
process.stdout.write(JSON.stringify({ sent }));
await client.endAsync(true);
process.stdin.destroy();
