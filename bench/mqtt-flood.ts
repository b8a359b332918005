import { connectAsync } from 'mqtt';
import { sendAtOnce } from '#lib/mqtt.ts';
import { sleep } from '#lib/wait.ts';

/**
 * The house beside the keypads, as a process: a panel bridge in PAI's words that confirms each arming at once and disarms by itself a little
 * later, and so many zone changes a second, evenly. Prints `{"flood":"runs"}` when it runs; ends with SIGTERM.
 */
const [url = '', perSecond = '1000', zones = '100', partitions = '1'] = process.argv.slice(2);
const disarmAfterMs = 500;
const stepMs = 10;
const never = new AbortController().signal;

const client = await connectAsync(url, { clientId: 'panel', protocolVersion: 4 });
sendAtOnce(client);
const say = (topic: string, payload: string) => client.publish(`paradox/${topic}`, payload, { qos: 0 });
client.on('message', (topic) => {
  const partition = topic.split('/').at(-1);
  const state = `states/partitions/${partition}/current_state`;
  say(state, 'armed_away');
  setTimeout(() => say(state, 'disarmed'), disarmAfterMs).unref();
});
await client.subscribeAsync('paradox/control/partitions/+');
say('interface/availability', 'online');
say('interface/pai_status', 'online');
for (let n = 1; n <= Number(partitions); n += 1) say(`states/partitions/area_${n}/current_state`, 'disarmed');
process.stdout.write('{"flood":"runs"}\n');

const began = performance.now();
for (let sent = 0; ; await sleep(stepMs, never)) {
  for (; sent < ((performance.now() - began) / 1000) * Number(perSecond); sent += 1) {
    const turn = Math.floor(sent / Number(zones));
    say(`states/zones/zone_${(sent % Number(zones)) + 1}/open`, turn % 2 === 0 ? 'True' : 'False');
  }
}
